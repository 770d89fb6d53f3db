// The launcher is tried as a process of its own, in small trees of files, on the Node that runs
// these tests; a preloaded file makes that Node look old or foreign. Where no registry is part of
// the question, a stand-in for npm "installs" this Node and writes down what it was asked.
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { root } from "./repository-files.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
// Work that lasts holds on to the test's pipe, so that it also ends when the tests are killed.
const untilTheTestIsGone = `process.stdin.resume().on("end", () => process.exit(99));`;
const started = new Set<ChildProcess>();
const trees: string[] = [];

afterEach(() => {
  // The whole group: a launcher that failed its test may have left its work behind.
  for (const { pid } of started) if (pid) process.kill(-pid, "SIGKILL");
  started.clear();
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true, force: true });
});

describe("the work", () => {
  test("gets its arguments as they were given, the source condition and a compile cache", async () => {
    const tree = await installedTree(`
      const { PATH, NODE_COMPILE_CACHE } = process.env;
      console.log(JSON.stringify([process.argv.slice(2), process.execArgv, PATH, NODE_COMPILE_CACHE]));
    `);
    const { stdout } = await launch(tree, ["work.ts", "a b", "--c", "", "$d"]);
    const [args, execArgv, path, cache] = JSON.parse(stdout) as [
      string[],
      string[],
      string,
      string,
    ];
    expect(args).toEqual(["a b", "--c", "", "$d"]);
    expect(execArgv).toEqual(["--conditions=@deltawire/source"]);
    expect(path.startsWith(`${join(process.execPath, "..")}:`)).toBe(true);
    expect(cache).toBe(join(tree, ".runtime", "compile-cache"));
  });

  test("decides the exit code", async () => {
    const tree = await installedTree("process.exit(Number(process.argv[2]));");
    expect(await launch(tree, ["work.ts", "0"])).toMatchObject({ code: 0, stderr: "" });
    expect(await launch(tree, ["work.ts", "37"])).toMatchObject({ code: 37, stderr: "" });
  });

  test("may be an installed tool", async () => {
    const tree = await installedTree("");
    const tool = join(tree, "node_modules", "typescript");
    mkdirSync(tool, { recursive: true });
    writeFileSync(join(tool, "package.json"), `{ "bin": { "tsc": "./tsc.cjs" } }`);
    writeFileSync(join(tool, "tsc.cjs"), `console.log("tool", process.argv[2]);`);
    expect(await launch(tree, ["tsc", "-b"])).toMatchObject({ code: 0, stdout: "tool -b\n" });
    expect((await launch(tree, ["nothing"])).stderr).toContain("neither a .ts file nor a tool");
  });

  test("that does not exist is named", async () => {
    const { code, stderr } = await launch(await installedTree(""), ["none.ts"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "There is no none.ts.\n" });
  });

  test.each(signals)("receives %s, and is waited for", async (signal) => {
    const tree = await installedTree(`
      process.on("${signal}", () => setTimeout(() => { console.log("ended well"); process.exit(7); }, 50));
      ${untilTheTestIsGone}
      console.log(process.pid);
    `);
    const { child, ended } = start(tree, ["work.ts"]);
    const pid = await firstNumber(child);
    child.kill(signal);
    expect(await ended).toMatchObject({ code: 7, stdout: `${pid}\nended well\n` });
    expect(isRunning(pid)).toBe(false);
  });

  test.each(signals)(
    "ends by %s if it does nothing about it, and so does the launcher",
    async (signal) => {
      const tree = await installedTree(`${untilTheTestIsGone} console.log(process.pid);`);
      const { child, ended } = start(tree, ["work.ts"]);
      const pid = await firstNumber(child);
      child.kill(signal);
      expect(await ended).toMatchObject({ code: null, signal });
      expect(isRunning(pid)).toBe(false);
    },
  );
});

describe("Node", () => {
  test("that is new enough is used as it is", async () => {
    const tree = await installedTree("console.log(process.execPath);");
    expect(await launch(tree, ["work.ts"])).toMatchObject({
      stdout: `${process.execPath}\n`,
      stderr: "",
    });
    expect(existsSync(join(tree, ".runtime", "node_modules"))).toBe(false);
  });

  test("that is too old is replaced once; the second run is quick and says nothing", async () => {
    const tree = freshTree("console.log(process.env.PATH.split(':')[0]);");
    const first = await launch(tree, ["work.ts"], { old: true });
    expect(first).toMatchObject({
      code: 0,
      stdout: `${join(tree, ".runtime/node_modules/.bin")}\n`,
    });
    expect(first.stderr).toMatch(
      /^Fetching Node \d+\.\d+\.\d+ \(this machine has 20\.0\.0\), once, into \.runtime \.\.\.\nInstalling the packages of package-lock\.json \.\.\.\n$/,
    );
    const began = performance.now();
    expect(await launch(tree, ["work.ts"], { old: true })).toMatchObject({ code: 0, stderr: "" });
    // Measured 0.1 s alone; the rest is for a machine that runs other tests beside this one.
    expect(performance.now() - began).toBeLessThan(5000);
    expect(npmCalls(tree)).toEqual(["install", "ci"]);
  });

  test("that does not run is fetched again", async () => {
    const tree = freshTree("");
    mkdirSync(join(tree, ".runtime/node_modules/.bin"), { recursive: true });
    writeFileSync(join(tree, ".runtime/node_modules/.bin/node"), "half a file", { mode: 0o755 });
    expect(await launch(tree, ["work.ts"], { old: true })).toMatchObject({ code: 0 });
    expect(npmCalls(tree)).toEqual(["install", "ci"]);
  });

  test("is left to the user on a platform for which npm has none", async () => {
    const tree = freshTree("");
    const { code, stderr } = await launch(tree, ["work.ts"], { old: true, platform: "sunos" });
    expect(code).toBe(1);
    expect(stderr).toContain("npm offers no Node for sunos-");
    expect(stderr).toContain("Install Node 24 or newer yourself");
  });
});

describe("the packages", () => {
  test("are installed again when the lock file changed or node_modules is gone", async () => {
    const tree = await installedTree("");
    await launch(tree, ["work.ts"]);
    expect(npmCalls(tree)).toEqual([]);
    writeFileSync(join(tree, "package-lock.json"), `{ "changed": true }`);
    await launch(tree, ["work.ts"]);
    await launch(tree, ["work.ts"]);
    expect(npmCalls(tree)).toEqual(["ci"]);
    rmSync(join(tree, "node_modules"), { recursive: true });
    await launch(tree, ["work.ts"]);
    expect(npmCalls(tree)).toEqual(["ci", "ci"]);
  });

  test("are installed again after an interrupted install, which leaves nothing running", async () => {
    const tree = freshTree("console.log('worked');");
    const { child, ended } = start(tree, ["work.ts"], { npmTakes: 4000 });
    const npm = await until(() => npmPids(tree)[0]);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ signal: "SIGINT", stdout: "" });
    expect(isRunning(npm)).toBe(false);
    expect(existsSync(join(tree, ".runtime/install.lock"))).toBe(false);
    expect(await launch(tree, ["work.ts"])).toMatchObject({ code: 0, stdout: "worked\n" });
    expect(npmCalls(tree)).toEqual(["ci", "ci"]);
  });

  test("are installed once when several launchers start on a fresh tree", async () => {
    const tree = freshTree("console.log('worked');");
    const options = { old: true, npmTakes: 200 };
    const all = await Promise.all([1, 2, 3].map(() => launch(tree, ["work.ts"], options)));
    expect(all.map(({ code, stdout }) => `${code} ${stdout}`)).toEqual([
      "0 worked\n",
      "0 worked\n",
      "0 worked\n",
    ]);
    expect(npmCalls(tree)).toEqual(["install", "ci"]);
    expect(all.filter(({ stderr }) => stderr.startsWith("Waiting for another run"))).toHaveLength(
      2,
    );
  });

  test("are installed although a launcher that is gone holds the lock", async () => {
    const tree = await installedTree("");
    const gone = start(tree, ["work.ts"]);
    await gone.ended;
    rmSync(join(tree, "node_modules"), { recursive: true });
    const lock = { host: hostname(), pids: [gone.child.pid], since: 0 };
    writeFileSync(join(tree, ".runtime/install.lock"), JSON.stringify(lock));
    expect(await launch(tree, ["work.ts"])).toMatchObject({ code: 0 });
  });
});

describe("a message says what is missing:", () => {
  test("npm", async () => {
    const tree = freshTree("");
    const none = { PATH: join(tree, "scripts"), npm_execpath: undefined };
    const { code, stderr } = await launch(tree, ["work.ts"], { old: true, env: none });
    expect(code).toBe(1);
    expect(stderr).toContain("npm was not found");
    expect(stderr).toContain("Install npm");
  });

  test("an npm that knows workspaces", async () => {
    const tree = freshTree("");
    writeFileSync(join(tree, "package.json"), `{ "version": "6.14.18" }`);
    const { code, stderr } = await launch(tree, ["work.ts"], { old: true });
    expect(code).toBe(1);
    expect(stderr).toContain("npm 6.14.18 cannot read the lock file: npm 7 or newer is needed");
  });

  test.each([
    ["Node", true],
    ["the packages", false],
  ])("the registry, for %s", async (_what, old) => {
    const tree = freshTree("");
    const lock = {
      name: "tree",
      lockfileVersion: 3,
      requires: true,
      packages: {
        "": { name: "tree", dependencies: { zod: "4.0.0" } },
        "node_modules/zod": { version: "4.0.0" },
      },
    };
    writeFileSync(join(tree, "package.json"), JSON.stringify(lock.packages[""]));
    writeFileSync(join(tree, "package-lock.json"), JSON.stringify(lock));
    const { code, stderr } = await launch(tree, ["work.ts"], {
      old,
      env: unreachableRegistry(tree),
    });
    expect(code).toBe(1);
    expect(stderr).toContain("The npm registry cannot be reached. The first run needs it");
    expect(existsSync(join(tree, ".runtime/install.lock"))).toBe(false);
  });

  test("whatever npm said, if it failed for another reason", async () => {
    const tree = freshTree("");
    const { code, stderr } = await launch(tree, ["work.ts"], { npmFails: true });
    expect(code).toBe(1);
    expect(stderr).toContain("npm ci failed with exit code 3.\n\nnpm error code EUSAGE");
  });
});

type Options = {
  old?: boolean;
  platform?: string;
  npmTakes?: number;
  npmFails?: boolean;
  env?: Record<string, string | undefined>;
};
type Ended = { code: number | null; signal: string | null; stdout: string; stderr: string };

/** A tree in which nothing is installed yet. */
function freshTree(work: string): string {
  const tree = mkdtempSync(join(tmpdir(), "deltawire-launcher-"));
  trees.push(tree);
  mkdirSync(join(tree, "scripts"));
  copyFileSync(join(root, "scripts/launch.cjs"), join(tree, "scripts/launch.cjs"));
  writeFileSync(join(tree, "package.json"), `{ "type": "module" }`);
  writeFileSync(join(tree, "package-lock.json"), "{}");
  writeFileSync(join(tree, "work.ts"), work);
  mkdirSync(join(tree, "npm"));
  writeFileSync(join(tree, "npm/package.json"), "{}");
  writeFileSync(join(tree, "npm/npm-cli.js"), npmStandIn);
  return tree;
}

async function installedTree(work: string): Promise<string> {
  const tree = freshTree(work);
  await launch(tree, ["none.ts"]);
  rmSync(join(tree, "npm/calls"));
  return tree;
}

const npmStandIn = `
  const fs = require("fs");
  const [command, ...args] = process.argv.slice(2);
  fs.appendFileSync(__dirname + "/calls", command + " " + process.pid + "\\n");
  if (process.env.NPM_FAILS) {
    console.error("npm error code EUSAGE");
    process.exit(3);
  }
  setTimeout(() => {
    const modules = command === "install" ? args[args.indexOf("--prefix") + 1] + "/node_modules" : "node_modules";
    fs.mkdirSync(modules + "/.bin", { recursive: true });
    if (command === "install") fs.symlinkSync(process.execPath, modules + "/.bin/node");
  }, Number(process.env.NPM_TAKES));
`;

function npmCalls(tree: string): string[] {
  return npmLog(tree).map((line) => line.split(" ")[0] ?? "");
}

function npmPids(tree: string): number[] {
  return npmLog(tree).map((line) => Number(line.split(" ")[1]));
}

function npmLog(tree: string): string[] {
  const file = join(tree, "npm/calls");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

/** The real npm, with an empty cache and a registry that nobody answers for. */
function unreachableRegistry(tree: string): Record<string, string | undefined> {
  return {
    npm_execpath: process.env["npm_execpath"],
    npm_config_registry: "http://127.0.0.1:9",
    npm_config_fetch_retries: "0",
    npm_config_cache: join(tree, "cache"),
  };
}

function launch(tree: string, args: string[], options: Options = {}): Promise<Ended> {
  return start(tree, args, options).ended;
}

let disguises = 0;

function start(tree: string, args: string[], options: Options = {}) {
  // One file each: a launcher that starts at the same time must not read a half-written one.
  const disguise = join(tree, `disguise-${(disguises += 1)}.cjs`);
  const pretended = {
    ...(options.old && { version: "v20.0.0" }),
    ...(options.platform && { platform: options.platform }),
  };
  writeFileSync(
    disguise,
    `for (const [name, value] of Object.entries(${JSON.stringify(pretended)})) Object.defineProperty(process, name, { value });`,
  );
  const child = spawn(process.execPath, ["-r", disguise, "scripts/launch.cjs", ...args], {
    cwd: tree,
    detached: true,
    env: {
      ...process.env,
      FORCE_COLOR: undefined,
      npm_execpath: join(tree, "npm/npm-cli.js"),
      NPM_TAKES: String(options.npmTakes ?? 0),
      NPM_FAILS: options.npmFails ? "yes" : "",
      ...options.env,
    },
  });
  started.add(child);
  const ended = new Promise<Ended>((resolve, reject) => {
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      started.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });
  return { child, ended };
}

function firstNumber(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.stdout?.once("data", (text: string) => resolve(Number.parseInt(text, 10)));
  });
}

async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
