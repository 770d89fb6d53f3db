import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isAllowedCommand } from "../src/groups/allowed-command.ts";
import { HeadAndTail } from "../src/groups/head-and-tail.ts";
import { shellGroup } from "../src/groups/shell.ts";
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

describe("the allow-list", () => {
  const patterns = ["git status*", "ls", "npm run test:*", "git * --version", "cat ./notes/*"];

  test.each([
    "git status",
    "git status -s",
    "git status --porcelain=v2 src/a.ts",
    "ls",
    "npm run test:unit",
    "npm run test:unit -- a",
    "git diff --version",
    "cat ./notes/a.md",
  ])("%j is allowed", (command) => {
    expect(isAllowedCommand(command, patterns)).toBe(true);
    const tool = toolOf(shellGroup({ folder, allow: patterns }), "run_command");
    expect(tool.allows?.({ command })).toBe(true);
    expect(toolOf(shellGroup({ folder }), "run_command").allows?.({ command })).toBe(false);
  });

  test.each([
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
    "git a b --version",
    "git status " + "a".repeat(2000),
  ])("%j is asked about", (command) => {
    expect(isAllowedCommand(command, patterns)).toBe(false);
  });

  test("even a list that allows everything allows simple commands only", () => {
    const words = fc.stringMatching(/^[a-z]{1,5}( [a-z./=-]{1,5}){0,3}$/);
    const sign = fc.constantFrom(...Array.from("|&;<>()$`\\\"'*?[]#~!{}^\n\r\t\0"));
    fc.assert(
      fc.property(words, words, sign, (before, after, one) => {
        expect(isAllowedCommand(before, ["*"])).toBe(true);
        expect(isAllowedCommand(before + one + after, ["*"])).toBe(false);
        expect(isAllowedCommand(`a=${before}`, ["*"])).toBe(false);
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
