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
import { isAllowedCommand } from "../src/groups/allowed-command.ts";
import { HeadAndTail } from "../src/groups/head-and-tail.ts";
import { runTool, toolContext, toolOf } from "./tool-context.ts";

let folder: string;

beforeEach(async () => {
  folder = realpathSync(await mkdtemp(join(tmpdir(), "deltawire-shell-")));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const run = (
  command: string,
  more: { seconds?: number; context?: ReturnType<typeof toolContext> } = {},
): Promise<unknown> => {
  const input =
    more.seconds === undefined ? { command } : { command, timeout_seconds: more.seconds };
  return runTool(shellGroup({ folder }), "run_command", input, more.context);
};

/** Processes, beside those that ended and wait for their parent, that have this in their command line. */
function processesWith(text: string): string[] {
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

/** A number of seconds that only this test sleeps for. */
const naps = (): string => `${1000 + Math.floor(Math.random() * 1e6)}.${process.pid}`;

async function started(nap: string): Promise<void> {
  for (let tries = 0; tries < 1000 && processesWith(nap).length === 0; tries += 1)
    await setTimeout(10);
  expect(processesWith(nap)).not.toEqual([]);
}

describe("a command", () => {
  test("is always asked about, is never run again by itself, and cannot be allowed with any arguments", () => {
    expect(toolOf(shellGroup({ folder }), "run_command")).toMatchObject({
      effect: "once",
      approval: { call: "ask always" },
      anyArguments: false,
      parallel: false,
    });
  });

  test("runs in the folder, and its exit code and both outputs come back", async () => {
    expect(await run("pwd; echo oops >&2; exit 3")).toBe(`exit code 3\n${folder}\noops\n`);
    expect(await run("kill -9 $$")).toBe("ended by SIGKILL\n");
    expect(await run("cat")).toBe("exit code 0\n");
  });

  test("sees no secrets of the process that runs it", async () => {
    process.env["DELTAWIRE_TEST_SECRET"] = "hush";
    process.env["DELTAWIRE_TEST_NAMED"] = "told";
    try {
      const group = shellGroup({ folder, environment: ["DELTAWIRE_TEST_NAMED"] });
      const text = (await runTool(group, "run_command", { command: "env" })) as string;
      expect(text).not.toContain("hush");
      expect(text).toContain("DELTAWIRE_TEST_NAMED=told");
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

  test("finds no programs by a relative entry of PATH", async () => {
    const path = process.env["PATH"];
    process.env["PATH"] = `.::bin:${path}`;
    try {
      expect(await run("echo $PATH")).toBe(`exit code 0\n${path}\n`);
    } finally {
      process.env["PATH"] = path;
    }
  });

  test("that writes much keeps its beginning and its end", async () => {
    const text = (await run("seq 1 200000")) as string;
    expect(text.length).toBeLessThan(33_000);
    expect(text).toMatch(/^exit code 0\n1\n2\n3\n/);
    expect(text).toMatch(/\d+ characters left out/);
    expect(text).toMatch(/\n199999\n200000\n$/);
  });

  test("tells what it writes while it runs", async () => {
    const context = toolContext();
    await run("echo first; sleep 0.6; echo second; sleep 0.6; echo third", { context });
    expect(context.told).toEqual(["first\n", "second\n"]);
  });

  test("that cannot be started says so", async () => {
    const group = shellGroup({ folder: join(folder, "none") });
    await expect(runTool(group, "run_command", { command: "true" })).rejects.toThrow("ENOENT");
    await expect(run("echo a\0b")).rejects.toThrow("null bytes");
  });
});

describe("what is started is stopped", () => {
  const startings: [string, (nap: string) => string][] = [
    ["a grandchild", (nap) => `sh -c 'sleep ${nap} & wait'; echo never`],
    [
      "one that is deaf to SIGTERM",
      (nap) => `trap '' TERM; sh -c "trap '' TERM; sleep ${nap}"; sleep 9`,
    ],
    ["one in a session of its own", (nap) => `setsid sleep ${nap} & wait`],
    ["a daemon", (nap) => `(setsid sleep ${nap} >/dev/null 2>&1 &); sleep 9`],
    [
      "a daemon without its environment",
      (nap) => `(env -i setsid sleep ${nap} >/dev/null 2>&1 &); sleep 9`,
    ],
    [
      "one in a session of its own without its environment and its files",
      (nap) => `env -i setsid -w sleep ${nap} >/dev/null 2>&1 9<&- & wait`,
    ],
  ];

  test.each(startings)(
    "at a cancel %s is gone within a second",
    { retry: 2 },
    async (_, command) => {
      const nap = naps();
      const abort = new AbortController();
      const running = run(command(nap), { context: toolContext({ signal: abort.signal }) });
      running.catch(() => {});
      await started(nap);
      const at = performance.now();
      abort.abort(new Error("cancelled"));
      await expect(running).rejects.toThrow("cancelled");
      expect(performance.now() - at).toBeLessThan(1_000);
      expect(processesWith(nap)).toEqual([]);
    },
  );

  test("at its time limit a command is ended, and what it had written is told", async () => {
    const nap = naps();
    await expect(run(`echo begun; sleep ${nap}`, { seconds: 2 })).rejects.toThrow(
      "stopped after 2 s\nbegun\n",
    );
    expect(processesWith(nap)).toEqual([]);
  });

  test("a process may end itself in good order when it is asked to", async () => {
    const command = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    await expect(run(command, { seconds: 2 })).rejects.toThrow(
      /^stopped after 2 s\nup\n(Terminated\n)?bye\n$/,
    );
  });

  test.each([
    ["", (nap: string) => `sleep ${nap} & echo done`],
    [" that has left no pipe open", (nap: string) => `sleep ${nap} >/dev/null 2>&1 & echo done`],
    [
      " in a session of its own and without its environment",
      (nap: string) => `env -i setsid sleep ${nap} >/dev/null 2>&1 & sleep 0.1; echo done`,
    ],
  ])("a process in the background%s ends with its command", async (_, command) => {
    const nap = naps();
    const at = performance.now();
    expect(await run(command(nap))).toBe(
      "exit code 0\n(what it left in the background was ended)\ndone\n",
    );
    expect(performance.now() - at).toBeLessThan(5_000);
    expect(processesWith(nap)).toEqual([]);
  });

  test("closing the group ends what runs", async () => {
    const nap = naps();
    const group = shellGroup({ folder });
    const running = runTool(group, "run_command", { command: `sleep ${nap}` });
    await started(nap);
    await group.close?.();
    expect(await running).toBe("ended by SIGTERM\n");
    expect(processesWith(nap)).toEqual([]);
  });

  test("what still runs when the process itself ends is killed with it", async () => {
    const nap = naps();
    const source = new URL("../src/groups/shell.ts", import.meta.url);
    const script = `import { shellGroup } from ${JSON.stringify(source.href)};
      const [tool] = shellGroup({ folder: "." }).tools;
      const signal = new AbortController().signal;
      tool.run({ command: "sleep ${nap} & echo up; wait" }, { signal, progress: () => process.exit(0) });`;
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--conditions=@deltawire/source", "--input-type=module", "-e", script],
      { encoding: "utf8", timeout: 20_000 },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    await expect.poll(() => processesWith(nap), { timeout: 5000 }).toEqual([]);
  });

  test("a call that was cancelled before it began starts nothing", async () => {
    const context = toolContext({ signal: AbortSignal.abort(new Error("cancelled")) });
    await expect(run("touch ran", { context })).rejects.toThrow("cancelled");
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** Of what a shell would make something else than a simple command. */
const asked = [
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
    toolOf(shellGroup({ folder, allow, exclude }), "run_command").allows?.({ command });

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
    ...asked,
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
  ])("%j is asked about", (command) => {
    expect(isAllowedCommand(command, patterns)).toBe(false);
  });

  test("what a diff could read or write elsewhere is asked about", async () => {
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

  test("a * is the value of an option that the entry names, if it leads nowhere else", async () => {
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

  test("a word that leads out of the folder by a link, or to a protected file, is asked about", async () => {
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
  ])("@read-only has %j", async (command) => {
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
  ])("@read-only has not %j", async (command) => {
    expect(await allows(command, ["@read-only"])).toBe(false);
  });

  test.each([
    ["*", "any command"],
    ["* status", "any command"],
    ["git*", "any command of git"],
    ["git *", "any command of git"],
    ["g*t status", "any command"],
    ["sh -c *", "whatever sh is given"],
    ["/usr/bin/python3.12 x*", "whatever /usr/bin/python3.12 is given"],
    ["find . -name *", "whatever find is given"],
    ["git diff -*", "any option"],
    ["git diff --*", "any option"],
    ["git diff --out* x", "any option"],
    ["git -C*", "any command of git"],
    ["git -C sub *", "any command of git"],
    ["command git*", "whatever command is given"],
    ["ls | sh", "never matches"],
    ["@everything", 'the only one is "@read-only"'],
  ])("an entry %j is refused at the start", (entry, problem) => {
    expect(() => shellGroup({ folder, allow: [entry] })).toThrow(problem);
  });

  test("whatever the entry, only simple commands are allowed", () => {
    const words = fc.stringMatching(/^[a-z]{1,5}( [a-z][a-z]{0,4}){0,3}$/);
    const sign = fc.constantFrom(...Array.from("|&;<>()$`\\\"'*?[]#~!{}^\n\r\t\0"));
    fc.assert(
      fc.property(words, words, sign, (before, after, one) => {
        expect(isAllowedCommand(`cat ${before}`, ["cat*"])).toBe(true);
        expect(isAllowedCommand(`cat ${before}${one}${after}`, ["cat*"])).toBe(false);
        expect(isAllowedCommand(`a=${before} cat`, ["cat*"])).toBe(false);
      }),
    );
  });

  test("a pattern is no regular expression", () => {
    expect(isAllowedCommand("axb", ["a.b"])).toBe(false);
    expect(isAllowedCommand("aab", ["a+b"])).toBe(false);
    expect(isAllowedCommand("a.b", ["a.b"])).toBe(true);
    expect(isAllowedCommand("rm", ["ls|rm"])).toBe(false);
  });
});

describe("git on an allow-list", () => {
  /** A program that leaves a file behind when it is run. */
  const trap = (name: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\ntouch "${folder}/ran"\ncat\n`, { mode: 0o755 });
    return path;
  };

  const git = (...words: string[]): void => {
    const { status, stderr } = spawnSync("git", words, { cwd: folder, encoding: "utf8" });
    expect([words, status, stderr]).toEqual([words, 0, ""]);
  };

  const repository = (): void => {
    git("init", "-q", "-b", "main");
    writeFileSync(join(folder, "a.txt"), "one\n");
    git("add", "a.txt");
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first");
    writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
    writeFileSync(join(folder, ".gitattributes"), "*.txt filter=own diff=own\n");
  };

  /** Runs a command as an agent does: not at all if somebody would be asked. */
  const attempt = async (command: string): Promise<"asked" | "ran a program" | "clean"> => {
    rmSync(join(folder, "ran"), { force: true });
    const group = shellGroup({ folder, allow: ["@read-only", "git status*"] });
    if ((await toolOf(group, "run_command").allows?.({ command })) !== true) return "asked";
    await runTool(group, "run_command", { command });
    return existsSync(join(folder, "ran")) ? "ran a program" : "clean";
  };

  const commands = ["git status", "git diff", "git show", "git log -p", "git blame a.txt"];

  test("runs in a repository with an ordinary configuration", async () => {
    repository();
    git("config", "core.autocrlf", "false");
    git("config", "remote.origin.url", "https://example.org/a.git");
    for (const command of commands)
      expect([command, await attempt(command)]).toEqual([command, "clean"]);
  });

  test("runs neither the repository's file system monitor nor its hooks", async () => {
    repository();
    git("config", "core.fsmonitor", trap("monitor"));
    git("config", "core.hooksPath", folder);
    trap("post-index-change");
    for (const command of commands)
      expect([command, await attempt(command)]).toEqual([command, "clean"]);
  });

  test.each([
    "filter.own.clean",
    "diff.own.textconv",
    "diff.own.command",
    "diff.external",
    "gpg.program",
  ])(
    "is asked about where the repository configures %s, also in an included file",
    async (setting) => {
      repository();
      git("config", "--file", join(folder, "included"), setting, trap("program"));
      git("config", "include.path", join(folder, "included"));
      for (const command of commands)
        expect([command, await attempt(command)]).toEqual([command, "asked"]);
      git("config", "--unset", "include.path");
      git("config", setting, join(folder, "program"));
      for (const command of commands)
        expect([command, await attempt(command)]).toEqual([command, "asked"]);
    },
  );

  /** A repository within the repository, which is no submodule of its configuration. */
  const embedded = (): void => {
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
    git("-C", inner, "config", "filter.own.clean", trap("program"));
    writeFileSync(join(inner, ".gitattributes"), "*.txt filter=own\n");
    // Of the same size, so that git has to read it.
    writeFileSync(join(inner, "b.txt"), "two\n");
  };

  test("runs no filter of a repository within the repository", async () => {
    repository();
    embedded();
    git("config", "diff.submodule", "diff");
    git("config", "status.submoduleSummary", "true");
    for (const command of commands)
      expect([command, await attempt(command)]).toEqual([command, "clean"]);
    spawnSync("git", ["status"], { cwd: folder });
    expect(existsSync(join(folder, "ran"))).toBe(true);
  });

  test("is asked about where .gitmodules may have git look into submodules", async () => {
    repository();
    embedded();
    const modules = '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n';
    writeFileSync(join(folder, ".gitmodules"), modules);
    expect(await attempt("git status")).toBe("asked");
    git("add", ".gitmodules");
    rmSync(join(folder, ".gitmodules"));
    expect(await attempt("git status")).toBe("asked");
  });

  test.each(["blame.ignoreRevsFile", "mailmap.file"])(
    "is asked about where %s names a file, which would be shown",
    async (setting) => {
      repository();
      git("config", setting, "/etc/passwd");
      for (const command of commands)
        expect([command, await attempt(command)]).toEqual([command, "asked"]);
    },
  );

  test("uses no bare repository that somebody has written into the folder", async () => {
    for (const name of ["objects", "refs"]) mkdirSync(join(folder, name));
    writeFileSync(join(folder, "HEAD"), "ref: refs/heads/main\n");
    const config = ["[core]", "repositoryformatversion = 0", "bare = false", "worktree = ."];
    writeFileSync(join(folder, "config"), [...config, `fsmonitor = ${trap("monitor")}`].join("\n"));
    expect(spawnSync("git", ["status"], { cwd: folder }).status).toBe(0);
    expect(existsSync(join(folder, "ran"))).toBe(true);
    expect(await attempt("git status")).not.toBe("ran a program");
  });
});

test("a text that has room is kept whole", () => {
  const text = new HeadAndTail(3, 4);
  for (const piece of ["ab", "cd", "efg"]) text.add(piece);
  expect(text.toString()).toBe("abcdefg");
  text.add("h😀");
  expect(text.toString()).toBe("abc\n… (3 characters left out) …\ngh😀");
  text.add("ij");
  expect(text.toString()).toBe("abc\n… (5 characters left out) …\n😀ij");
  text.add("k");
  expect(text.toString()).toBe("abc\n… (6 characters left out) …\nijk");
});

test("head and tail of a text do not depend on how it was cut", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 30 })), (pieces) => {
      const whole = new HeadAndTail(10, 20);
      const cut = new HeadAndTail(10, 20);
      whole.add(pieces.join(""));
      for (const piece of pieces) cut.add(piece);
      expect(cut.toString()).toBe(whole.toString());
    }),
  );
});
