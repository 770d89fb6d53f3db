import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { shellGroup } from "@deltawire/agent";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isAllowedCommand } from "../src/tool-groups/command-allowlist.ts";
import { HeadTailBuffer } from "../src/tool-groups/head-tail-buffer.ts";
import { runTool, toolContext, getTool } from "./tool-context.ts";

let folder: string;

beforeEach(async () => {
  folder = realpathSync(await mkdtemp(join(tmpdir(), "deltawire-shell-")));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const run = (
  command: string,
  overrides: { seconds?: number; context?: ReturnType<typeof toolContext> } = {},
): Promise<unknown> => {
  const input =
    overrides.seconds === undefined ? { command } : { command, timeout_seconds: overrides.seconds };
  return runTool(shellGroup({ folder }), "run_command", input, overrides.context);
};

/** Returns the ids of the processes with this word in their command line, without zombies. */
function findProcesses(text: string): string[] {
  return readdirSync("/proc").filter((id) => {
    if (!/^\d+$/.test(id)) return false;
    try {
      if (/\) [ZX] /.test(readFileSync(`/proc/${id}/stat`, "latin1"))) return false;
      return readFileSync(`/proc/${id}/cmdline`, "latin1").split("\0").includes(text);
    } catch {
      return false;
    }
  });
}

/** Returns a number of seconds that identifies the sleep of this test. */
const uniqueSleepSeconds = (): string => `${1000 + Math.floor(Math.random() * 1e6)}.${process.pid}`;

async function waitForProcess(sleepSeconds: string): Promise<void> {
  for (let attempts = 0; attempts < 1000 && findProcesses(sleepSeconds).length === 0; attempts += 1)
    await setTimeout(10);
  expect(findProcesses(sleepSeconds)).not.toEqual([]);
}

describe("a command", () => {
  test("needs approval by default, is never repeated automatically, and cannot be allowed with any arguments", () => {
    expect(getTool(shellGroup({ folder }), "run_command")).toMatchObject({
      effect: "once",
      approval: { call: "ask_always" },
      allowsAnyArguments: false,
      parallel: false,
    });
  });

  test("runs in the folder and returns its exit code, stdout and stderr", async () => {
    expect(await run("pwd; echo oops >&2; exit 3")).toBe(`exit code 3\n${folder}\noops\n`);
    expect(await run("kill -9 $$")).toBe("killed by SIGKILL\n");
    expect(await run("cat")).toBe("exit code 0\n");
  });

  test("does not inherit secrets from the environment", async () => {
    process.env["DELTAWIRE_TEST_SECRET"] = "hush";
    process.env["DELTAWIRE_TEST_NAMED"] = "visible";
    try {
      const group = shellGroup({ folder, environment: ["DELTAWIRE_TEST_NAMED"] });
      const text = (await runTool(group, "run_command", { command: "env" })) as string;
      expect(text).not.toContain("hush");
      expect(text).toContain("DELTAWIRE_TEST_NAMED=visible");
      const names = text
        .split("\n")
        .slice(1, -1)
        .map((line) => line.split("=")[0] ?? "");
      const known = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "PWD", "SHLVL", "_", "OLDPWD"];
      expect(names.filter((name) => !known.includes(name)).toSorted()).toEqual([
        "DELTAWIRE_COMMAND",
        "DELTAWIRE_TEST_NAMED",
      ]);
    } finally {
      delete process.env["DELTAWIRE_TEST_SECRET"];
      delete process.env["DELTAWIRE_TEST_NAMED"];
    }
  });

  test("does not use relative entries of PATH", async () => {
    const path = process.env["PATH"];
    process.env["PATH"] = `.::bin:${path}`;
    try {
      expect(await run("echo $PATH")).toBe(`exit code 0\n${path}\n`);
    } finally {
      process.env["PATH"] = path;
    }
  });

  test("with much output returns its beginning and its end", async () => {
    const text = (await run("seq 1 200000")) as string;
    expect(text.length).toBeLessThan(33_000);
    expect(text).toMatch(/^exit code 0\n1\n2\n3\n/);
    expect(text).toMatch(/\d+ characters omitted/);
    expect(text).toMatch(/\n199999\n200000\n$/);
  });

  test("reports its output as progress while it runs", async () => {
    const context = toolContext();
    await run("echo first; sleep 0.6; echo second; sleep 0.6; echo third", { context });
    expect(context.progressMessages).toEqual(["first\n", "second\n"]);
  });

  test("that cannot be started fails with the reason", async () => {
    const group = shellGroup({ folder: join(folder, "none") });
    await expect(runTool(group, "run_command", { command: "true" })).rejects.toThrow("ENOENT");
    await expect(run("echo a\0b")).rejects.toThrow("null bytes");
  });
});

describe("the processes of a command", () => {
  const longRunningCommands: [string, (sleepSeconds: string) => string][] = [
    ["a grandchild", (sleepSeconds) => `sh -c 'sleep ${sleepSeconds} & wait'; echo never`],
    [
      "a process that ignores SIGTERM",
      (sleepSeconds) => `trap '' TERM; sh -c "trap '' TERM; sleep ${sleepSeconds}"; sleep 9`,
    ],
    ["a process in its own session", (sleepSeconds) => `setsid sleep ${sleepSeconds} & wait`],
    ["a daemon", (sleepSeconds) => `(setsid sleep ${sleepSeconds} >/dev/null 2>&1 &); sleep 9`],
    [
      "a daemon with a cleared environment",
      (sleepSeconds) => `(env -i setsid sleep ${sleepSeconds} >/dev/null 2>&1 &); sleep 9`,
    ],
    [
      "a process in its own session with a cleared environment and closed files",
      (sleepSeconds) => `env -i setsid -w sleep ${sleepSeconds} >/dev/null 2>&1 9<&- & wait`,
    ],
  ];

  test.each(longRunningCommands)(
    "end within a second when the call is canceled: %s",
    { retry: 2 },
    async (_, command) => {
      const sleepSeconds = uniqueSleepSeconds();
      const abort = new AbortController();
      const running = run(command(sleepSeconds), {
        context: toolContext({ signal: abort.signal }),
      });
      running.catch(() => {});
      await waitForProcess(sleepSeconds);
      const startedAt = performance.now();
      abort.abort(new Error("cancelled"));
      await expect(running).rejects.toThrow("cancelled");
      expect(performance.now() - startedAt).toBeLessThan(1_000);
      expect(findProcesses(sleepSeconds)).toEqual([]);
    },
  );

  test("end at the timeout, and the error contains the output", async () => {
    const sleepSeconds = uniqueSleepSeconds();
    await expect(run(`echo begun; sleep ${sleepSeconds}`, { seconds: 2 })).rejects.toThrow(
      "timed out after 2 s\nbegun\n",
    );
    expect(findProcesses(sleepSeconds)).toEqual([]);
  });

  test("can handle SIGTERM before they are killed", async () => {
    const command = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    await expect(run(command, { seconds: 2 })).rejects.toThrow(
      /^timed out after 2 s\nup\n(Terminated\n)?bye\n$/,
    );
  });

  test.each([
    ["", (sleepSeconds: string) => `sleep ${sleepSeconds} & echo done`],
    [
      " without open pipes",
      (sleepSeconds: string) => `sleep ${sleepSeconds} >/dev/null 2>&1 & echo done`,
    ],
    [
      " in its own session with a cleared environment",
      (sleepSeconds: string) =>
        `env -i setsid sleep ${sleepSeconds} >/dev/null 2>&1 & sleep 0.1; echo done`,
    ],
  ])("end with the command, even those in the background%s", async (_, command) => {
    const sleepSeconds = uniqueSleepSeconds();
    const startedAt = performance.now();
    expect(await run(command(sleepSeconds))).toBe(
      "exit code 0\n(background processes of the command were terminated)\ndone\n",
    );
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(findProcesses(sleepSeconds)).toEqual([]);
  });

  test("end when the group is closed", async () => {
    const sleepSeconds = uniqueSleepSeconds();
    const group = shellGroup({ folder });
    const running = runTool(group, "run_command", { command: `sleep ${sleepSeconds}` });
    await waitForProcess(sleepSeconds);
    await group.close?.();
    expect(await running).toBe("killed by SIGTERM\n");
    expect(findProcesses(sleepSeconds)).toEqual([]);
  });

  test("are killed when the Node process exits", async () => {
    const sleepSeconds = uniqueSleepSeconds();
    const source = new URL("../src/tool-groups/shell.ts", import.meta.url);
    const script = `import { shellGroup } from ${JSON.stringify(source.href)};
      const [tool] = shellGroup({ folder: "." }).tools;
      const signal = new AbortController().signal;
      tool.run({ command: "sleep ${sleepSeconds} & echo up; wait" }, { signal, progress: () => process.exit(0) });`;
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--conditions=@deltawire/source", "--input-type=module", "-e", script],
      { encoding: "utf8", timeout: 20_000 },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    await expect.poll(() => findProcesses(sleepSeconds), { timeout: 5000 }).toEqual([]);
  });

  test("are not started if the call is canceled before", async () => {
    const context = toolContext({ signal: AbortSignal.abort(new Error("cancelled")) });
    await expect(run("touch ran", { context })).rejects.toThrow("cancelled");
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** Commands that are not simple commands to a shell. */
const unsafeCommands = [
  "git status; rm -rf x",
  "git status;rm",
  "git status && rm x",
  "git status || rm x",
  "git status & rm x",
  "git status | sh",
  "git status\nrm x",
  "git status\rrm x",
  "git status \\\nrm x",
  "git status $(rm x)",
  "git status `rm x`",
  "git status ${IFS}",
  "git status $HOME",
  "git status > x",
  "git status >> x",
  "git status < x",
  "git status <(rm x)",
  "git status 2>&1",
  'git status "a"',
  "git status 'a'",
  "git status *",
  "git status ?",
  "git status [a]",
  "git status {a,b}",
  "git status ~",
  "git status #",
  "git status !x",
  "git status \tx",
  "git status  -s",
  " git status",
  "git status ",
  "git status\0",
  "git status é",
  "git status \u00A0x",
  "git statusx",
  "git status-evil",
  "git statu",
  "xgit status",
  "GIT_DIR=x git status",
  "PATH=x ls",
  "ls -l",
  "lsof",
  "",
  "git status " + "a".repeat(2000),
];

describe("the allow-list", () => {
  const patterns = ["git status*", "ls", "npm run test:*", "npm view * version", "cat ./notes/*"];

  const allows = (command: string, allow: readonly string[], exclude: string[] = []) =>
    getTool(shellGroup({ folder, allow, exclude }), "run_command").allows?.({ command });

  test.each([
    "git status",
    "git status src/a.ts docs",
    "ls",
    "npm run test:unit",
    "npm run test:unit a",
    "npm view left-pad version",
    "cat ./notes/a.md",
  ])("%j is allowed", async (command) => {
    expect(isAllowedCommand(command, patterns)).toBe(true);
    expect(await allows(command, patterns)).toBe(true);
    expect(await allows(command, [])).toBe(false);
  });

  test.each([
    ...unsafeCommands,
    "git status -s",
    "git status --porcelain=v2 src/a.ts",
    "git status --output=x",
    "git status /etc",
    "git status ..",
    "git status a/../../b",
    "git status a=/etc/passwd",
    "git status a:../b",
    "npm run test:../x",
    "npm run test:unit -- a",
    "npm run test:unit --prefix=x",
    "cat ./notes/../../x",
    "cat ./notes/a /etc/passwd",
    "npm view --registry version",
  ])("%j needs approval", (command) => {
    expect(isAllowedCommand(command, patterns)).toBe(false);
  });

  test("diff options that read or write other files need approval", async () => {
    const options = [
      "--no-index a b",
      "--output=x",
      "--ext-diff",
      "-Ox",
      "--no-index /etc/passwd x",
    ];
    for (const list of [["git diff*"], ["git diff *"], ["@read-only"]]) {
      expect(await allows("git diff src/a.ts", list)).toBe(true);
      for (const option of options) expect(await allows(`git diff ${option}`, list)).toBe(false);
    }
    for (const command of ["git -c core.pager=x diff", "GIT_EXTERNAL_DIFF=x git diff"])
      expect(await allows(command, ["git diff*", "@read-only"])).toBe(false);
  });

  test("a * in an entry matches the value of an option, unless the value leads out of the folder", async () => {
    const list = ["git log --since=*", "git log --oneline*"];
    for (const command of ["git log --since=yesterday", "git log --oneline src"])
      expect([command, await allows(command, list)]).toEqual([command, true]);
    for (const value of [
      "--since=/etc",
      "--since=../x",
      "--sinc=x",
      "--since=a -p",
      "--oneline -p",
    ])
      expect([value, await allows(`git log ${value}`, list)]).toEqual([value, false]);
  });

  test("a word that leads out of the folder through a link, or to a protected file, needs approval", async () => {
    const secret = join(folder, "secret.db");
    writeFileSync(secret, "x");
    symlinkSync("/etc", join(folder, "etc"));
    symlinkSync("nowhere", join(folder, "dangling"));
    linkSync(secret, join(folder, "linked"));
    writeFileSync(join(folder, "notes"), "x");
    const list = ["@read-only", "touch new/*", "cat*"];
    for (const word of [
      "etc/passwd",
      "etc",
      "dangling",
      "secret.db",
      "linked",
      "etc/new",
      "a:secret.db",
    ])
      expect([word, await allows(`cat ${word}`, list, [secret])]).toEqual([word, false]);
    for (const word of ["notes", "missing", "new/file", "."])
      expect([word, await allows(`cat ${word}`, list, [secret])]).toEqual([word, true]);
  });

  test.each([
    "pwd",
    "ls -la src",
    "cat -n a.txt",
    "head -n 5 a.txt",
    "head -20 a.txt",
    "grep -in word a.txt",
    "grep -C3 word a.txt",
    "git status --short",
    "git diff --stat HEAD",
    "git diff --cached -- src/a.ts",
    "git log --oneline -5",
    "git show HEAD",
    "git branch -a",
  ])("@read-only allows %j", async (command) => {
    expect(await allows(command, ["@read-only"])).toBe(true);
  });

  test.each([
    "pwd x",
    "ls -L x",
    "tail -f a.txt",
    "grep -r word",
    "grep -f a.txt b.txt",
    "grep -R word .",
    "rg --pre x y",
    "sort -o x y",
    "sed -i x y",
    "find . -delete",
    "find . -exec rm x",
    "git branch new",
    "git branch -D main",
    "git log --output=x",
    "git log -p --ext-diff",
    "git push",
    "git",
    "git diff --textconv",
    "cat /etc/passwd",
    "cat -",
    "cat ~/x",
    "cat *",
  ])("@read-only does not allow %j", async (command) => {
    expect(await allows(command, ["@read-only"])).toBe(false);
  });

  test.each([
    ["*", "every command"],
    ["* status", "every command"],
    ["git*", "every git command"],
    ["git *", "every git command"],
    ["g*t status", "every command"],
    ["sh -c *", "let sh run anything"],
    ["/usr/bin/python3.12 x*", "let /usr/bin/python3.12 run anything"],
    ["find . -name *", "let find run anything"],
    ["git diff -*", "any option"],
    ["git diff --*", "any option"],
    ["git diff --out* x", "any option"],
    ["git -C*", "every git command"],
    ["git -C sub *", "every git command"],
    ["command git*", "let command run anything"],
    ["ls | sh", "never matches"],
    ["@everything", 'the only one is "@read-only"'],
  ])("the entry %j is rejected when the group is created", (entry, problem) => {
    expect(() => shellGroup({ folder, allow: [entry] })).toThrow(problem);
  });

  test("only simple commands are allowed, whatever the entry", () => {
    const words = fc.stringMatching(/^[a-z]{1,5}( [a-z][a-z]{0,4}){0,3}$/);
    const specialCharacter = fc.constantFrom(...Array.from("|&;<>()$`\\\"'*?[]#~!{}^\n\r\t\0"));
    fc.assert(
      fc.property(words, words, specialCharacter, (before, after, character) => {
        expect(isAllowedCommand(`cat ${before}`, ["cat*"])).toBe(true);
        expect(isAllowedCommand(`cat ${before}${character}${after}`, ["cat*"])).toBe(false);
        expect(isAllowedCommand(`a=${before} cat`, ["cat*"])).toBe(false);
      }),
    );
  });

  test("an entry is not a regular expression", () => {
    expect(isAllowedCommand("axb", ["a.b"])).toBe(false);
    expect(isAllowedCommand("aab", ["a+b"])).toBe(false);
    expect(isAllowedCommand("a.b", ["a.b"])).toBe(true);
    expect(isAllowedCommand("rm", ["ls|rm"])).toBe(false);
  });
});

describe("an allowed git command", () => {
  /** Creates a program that creates the file "ran" when it is run. */
  const createTrap = (name: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\ntouch "${folder}/ran"\ncat\n`, { mode: 0o755 });
    return path;
  };

  const git = (...words: string[]): void => {
    const { status, stderr } = spawnSync("git", words, { cwd: folder, encoding: "utf8" });
    expect([words, status, stderr]).toEqual([words, 0, ""]);
  };

  const createRepository = (): void => {
    git("init", "-q", "-b", "main");
    writeFileSync(join(folder, "a.txt"), "one\n");
    git("add", "a.txt");
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first");
    writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
    writeFileSync(join(folder, ".gitattributes"), "*.txt filter=own diff=own\n");
  };

  /** Runs a command unless it needs approval. */
  const runIfAllowed = async (
    command: string,
  ): Promise<"needs approval" | "ran a program" | "clean"> => {
    rmSync(join(folder, "ran"), { force: true });
    const group = shellGroup({ folder, allow: ["@read-only", "git status*"] });
    if ((await getTool(group, "run_command").allows?.({ command })) !== true)
      return "needs approval";
    await runTool(group, "run_command", { command });
    return existsSync(join(folder, "ran")) ? "ran a program" : "clean";
  };

  const commands = ["git status", "git diff", "git show", "git log -p", "git blame a.txt"];

  test("runs without approval in a repository with a normal configuration", async () => {
    createRepository();
    git("config", "core.autocrlf", "false");
    git("config", "remote.origin.url", "https://example.org/a.git");
    for (const command of commands)
      expect([command, await runIfAllowed(command)]).toEqual([command, "clean"]);
  });

  test("does not run the repository's file system monitor or hooks", async () => {
    createRepository();
    git("config", "core.fsmonitor", createTrap("monitor"));
    git("config", "core.hooksPath", folder);
    createTrap("post-index-change");
    for (const command of commands)
      expect([command, await runIfAllowed(command)]).toEqual([command, "clean"]);
  });

  test.each([
    "filter.own.clean",
    "diff.own.textconv",
    "diff.own.command",
    "diff.external",
    "gpg.program",
  ])(
    "needs approval if the repository configures %s, even in an included file",
    async (setting) => {
      createRepository();
      git("config", "--file", join(folder, "included"), setting, createTrap("program"));
      git("config", "include.path", join(folder, "included"));
      for (const command of commands)
        expect([command, await runIfAllowed(command)]).toEqual([command, "needs approval"]);
      git("config", "--unset", "include.path");
      git("config", setting, join(folder, "program"));
      for (const command of commands)
        expect([command, await runIfAllowed(command)]).toEqual([command, "needs approval"]);
    },
  );

  /** Creates a nested repository that is not registered as a submodule. */
  const createEmbeddedRepository = (): void => {
    const inner = join(folder, "inner");
    const commit = [
      "-c",
      "user.name=a",
      "-c",
      "user.email=a@example.org",
      "commit",
      "-q",
      "-m",
      "a",
    ];
    git("init", "-q", inner);
    writeFileSync(join(inner, "b.txt"), "one\n");
    git("-C", inner, "add", "b.txt");
    git("-C", inner, ...commit);
    git("add", "--no-warn-embedded-repo", "inner");
    git(...commit);
    git("-C", inner, "config", "filter.own.clean", createTrap("program"));
    writeFileSync(join(inner, ".gitattributes"), "*.txt filter=own\n");
    // The size stays the same, so git must read the file to notice the change.
    writeFileSync(join(inner, "b.txt"), "two\n");
  };

  test("runs no filter of a nested repository", async () => {
    createRepository();
    createEmbeddedRepository();
    git("config", "diff.submodule", "diff");
    git("config", "status.submoduleSummary", "true");
    for (const command of commands)
      expect([command, await runIfAllowed(command)]).toEqual([command, "clean"]);
    spawnSync("git", ["status"], { cwd: folder });
    expect(existsSync(join(folder, "ran"))).toBe(true);
  });

  test("needs approval if .gitmodules can make git read submodules", async () => {
    createRepository();
    createEmbeddedRepository();
    const modules = '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n';
    writeFileSync(join(folder, ".gitmodules"), modules);
    expect(await runIfAllowed("git status")).toBe("needs approval");
    git("add", ".gitmodules");
    rmSync(join(folder, ".gitmodules"));
    expect(await runIfAllowed("git status")).toBe("needs approval");
  });

  test.each(["blame.ignoreRevsFile", "mailmap.file"])(
    "needs approval if %s names a file, as git could show its content",
    async (setting) => {
      createRepository();
      git("config", setting, "/etc/passwd");
      for (const command of commands)
        expect([command, await runIfAllowed(command)]).toEqual([command, "needs approval"]);
    },
  );

  test("does not use a bare repository that was written into the folder", async () => {
    for (const name of ["objects", "refs"]) mkdirSync(join(folder, name));
    writeFileSync(join(folder, "HEAD"), "ref: refs/heads/main\n");
    const config = ["[core]", "repositoryformatversion = 0", "bare = false", "worktree = ."];
    writeFileSync(
      join(folder, "config"),
      [...config, `fsmonitor = ${createTrap("monitor")}`].join("\n"),
    );
    expect(spawnSync("git", ["status"], { cwd: folder }).status).toBe(0);
    expect(existsSync(join(folder, "ran"))).toBe(true);
    expect(await runIfAllowed("git status")).not.toBe("ran a program");
  });
});

test("HeadTailBuffer retains a short text completely and omits the middle of a long one", () => {
  const text = new HeadTailBuffer(3, 4);
  for (const piece of ["ab", "cd", "efg"]) text.append(piece);
  expect(text.toString()).toBe("abcdefg");
  text.append("h😀");
  expect(text.toString()).toBe("abc\n… (3 characters omitted) …\ngh😀");
  text.append("ij");
  expect(text.toString()).toBe("abc\n… (5 characters omitted) …\n😀ij");
  text.append("k");
  expect(text.toString()).toBe("abc\n… (6 characters omitted) …\nijk");
});

test("the result of HeadTailBuffer does not depend on how the text is split", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 30 })), (pieces) => {
      const expected = new HeadTailBuffer(10, 20);
      const actual = new HeadTailBuffer(10, 20);
      expected.append(pieces.join(""));
      for (const piece of pieces) actual.append(piece);
      expect(actual.toString()).toBe(expected.toString());
    }),
  );
});
