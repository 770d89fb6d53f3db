// These tests run the launcher as a process in small source trees with the current Node. A preloaded file makes Node
// report an old version or another platform. Most tests use a fake npm that "installs" this Node and records its arguments.
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { root } from "./repository-files.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
// Code for long-running work: it exits when its standard input closes, which is when the tests are killed.
const exitWithTest = `process.stdin.resume().on("end", () => process.exit(99));`;
const runningChildren = new Set<ChildProcess>();
const trees: string[] = [];

afterEach(() => {
  // The process group is killed, because a failing launcher may have left a child process behind.
  for (const { pid } of runningChildren) if (pid) process.kill(-pid, "SIGKILL");
  runningChildren.clear();
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true, force: true });
});

describe("the program that the launcher runs", () => {
  test("gets its arguments unchanged, the source condition, Node first in PATH, and a compile cache", async () => {
    const tree = await createInstalledTree(`
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

  test("determines the exit code", async () => {
    const tree = await createInstalledTree("process.exit(Number(process.argv[2]));");
    expect(await launch(tree, ["work.ts", "0"])).toMatchObject({ code: 0, stderr: "" });
    expect(await launch(tree, ["work.ts", "37"])).toMatchObject({ code: 37, stderr: "" });
  });

  test("can be an installed tool", async () => {
    const tree = await createInstalledTree("");
    const tool = join(tree, "node_modules", "typescript");
    mkdirSync(tool, { recursive: true });
    writeFileSync(join(tool, "package.json"), `{ "bin": { "tsc": "./tsc.cjs" } }`);
    writeFileSync(join(tool, "tsc.cjs"), `console.log("tool", process.argv[2]);`);
    expect(await launch(tree, ["tsc", "-b"])).toMatchObject({ code: 0, stdout: "tool -b\n" });
    expect((await launch(tree, ["nothing"])).stderr).toContain("neither a .ts file nor a tool");
  });

  test("is reported if it does not exist", async () => {
    const { code, stderr } = await launch(await createInstalledTree(""), ["none.ts"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "none.ts does not exist.\n" });
  });

  test.each(signals)("receives %s, and the launcher waits for it", async (signal) => {
    const tree = await createInstalledTree(`
      process.on("${signal}", () => setTimeout(() => { console.log("ended well"); process.exit(7); }, 50));
      ${exitWithTest}
      console.log(process.pid);
    `);
    const { child, result } = start(tree, ["work.ts"]);
    const pid = await readFirstNumber(child);
    child.kill(signal);
    expect(await result).toMatchObject({ code: 7, stdout: `${pid}\nended well\n` });
    expect(isRunning(pid)).toBe(false);
  });

  test.each(signals)(
    "ends on %s if it has no handler, and so does the launcher",
    async (signal) => {
      const tree = await createInstalledTree(`${exitWithTest} console.log(process.pid);`);
      const { child, result } = start(tree, ["work.ts"]);
      const pid = await readFirstNumber(child);
      child.kill(signal);
      expect(await result).toMatchObject({ code: null, signal });
      expect(isRunning(pid)).toBe(false);
    },
  );
});

describe("an installed Node", () => {
  test("that is recent enough is used", async () => {
    const tree = await createInstalledTree("console.log(process.execPath);");
    expect(await launch(tree, ["work.ts"])).toMatchObject({
      stdout: `${process.execPath}\n`,
      stderr: "",
    });
    expect(existsSync(join(tree, ".runtime", "node_modules"))).toBe(false);
  });

  test("that is too old is replaced once, after which the next run is fast and prints nothing", async () => {
    const tree = createFreshTree("console.log(process.env.PATH.split(':')[0]);");
    const first = await launch(tree, ["work.ts"], { old: true });
    expect(first).toMatchObject({
      code: 0,
      stdout: `${join(tree, ".runtime/node_modules/.bin")}\n`,
    });
    expect(first.stderr).toMatch(
      /^Downloading Node \d+\.\d+\.\d+ to \.runtime \(found 20\.0\.0\) \.\.\.\nInstalling the packages of package-lock\.json \.\.\.\n$/,
    );
    const startTime = performance.now();
    expect(await launch(tree, ["work.ts"], { old: true })).toMatchObject({ code: 0, stderr: "" });
    // It takes 0.1 s alone. The limit allows for other tests that run at the same time.
    expect(performance.now() - startTime).toBeLessThan(5000);
    expect(readNpmCommands(tree)).toEqual(["install", "ci"]);
  });

  test("that does not run is installed again", async () => {
    const tree = createFreshTree("");
    mkdirSync(join(tree, ".runtime/node_modules/.bin"), { recursive: true });
    writeFileSync(join(tree, ".runtime/node_modules/.bin/node"), "half a file", { mode: 0o755 });
    expect(await launch(tree, ["work.ts"], { old: true })).toMatchObject({ code: 0 });
    expect(readNpmCommands(tree)).toEqual(["install", "ci"]);
  });

  test("that is too old must be replaced by the user on a platform without an npm package", async () => {
    const tree = createFreshTree("");
    const { code, stderr } = await launch(tree, ["work.ts"], { old: true, platform: "sunos" });
    expect(code).toBe(1);
    expect(stderr).toContain("npm has no Node package for sunos-");
    expect(stderr).toContain("Install Node 24 or newer, then try again");
  });
});

describe("the packages", () => {
  test("are installed again if the lock file changed or node_modules is missing", async () => {
    const tree = await createInstalledTree("");
    await launch(tree, ["work.ts"]);
    expect(readNpmCommands(tree)).toEqual([]);
    writeFileSync(join(tree, "package-lock.json"), `{ "changed": true }`);
    await launch(tree, ["work.ts"]);
    await launch(tree, ["work.ts"]);
    expect(readNpmCommands(tree)).toEqual(["ci"]);
    rmSync(join(tree, "node_modules"), { recursive: true });
    await launch(tree, ["work.ts"]);
    expect(readNpmCommands(tree)).toEqual(["ci", "ci"]);
  });

  test("are installed again after an interrupted installation, which leaves no process running", async () => {
    const tree = createFreshTree("console.log('worked');");
    const { child, result } = start(tree, ["work.ts"], { npmDurationMs: 4000 });
    const npm = await waitFor(() => readNpmPids(tree)[0]);
    child.kill("SIGINT");
    expect(await result).toMatchObject({ signal: "SIGINT", stdout: "" });
    expect(isRunning(npm)).toBe(false);
    expect(existsSync(join(tree, ".runtime/install.lock"))).toBe(false);
    expect(await launch(tree, ["work.ts"])).toMatchObject({ code: 0, stdout: "worked\n" });
    expect(readNpmCommands(tree)).toEqual(["ci", "ci"]);
  });

  test("are installed once if several launchers start in a fresh tree", async () => {
    const tree = createFreshTree("console.log('worked');");
    const options = { old: true, npmDurationMs: 200 };
    const results = await Promise.all([1, 2, 3].map(() => launch(tree, ["work.ts"], options)));
    expect(results.map(({ code, stdout }) => `${code} ${stdout}`)).toEqual([
      "0 worked\n",
      "0 worked\n",
      "0 worked\n",
    ]);
    expect(readNpmCommands(tree)).toEqual(["install", "ci"]);
    expect(
      results.filter(({ stderr }) => stderr.startsWith("Waiting for another installation")),
    ).toHaveLength(2);
  });

  test("are installed even if a killed launcher left a lock", async () => {
    const tree = await createInstalledTree("");
    const killedLauncher = start(tree, ["work.ts"]);
    await killedLauncher.result;
    rmSync(join(tree, "node_modules"), { recursive: true });
    const lock = { host: hostname(), pids: [killedLauncher.child.pid], since: 0 };
    writeFileSync(join(tree, ".runtime/install.lock"), JSON.stringify(lock));
    expect(await launch(tree, ["work.ts"])).toMatchObject({ code: 0 });
  });
});

describe("an error message names the cause:", () => {
  test("a missing npm", async () => {
    const tree = createFreshTree("");
    const emptyEnv = { PATH: join(tree, "scripts"), npm_execpath: undefined };
    const { code, stderr } = await launch(tree, ["work.ts"], { old: true, env: emptyEnv });
    expect(code).toBe(1);
    expect(stderr).toContain("npm not found in npm_execpath or PATH");
    expect(stderr).toContain("Install npm");
  });

  test("an npm that is too old for workspaces", async () => {
    const tree = createFreshTree("");
    writeFileSync(join(tree, "package.json"), `{ "version": "6.14.18" }`);
    const { code, stderr } = await launch(tree, ["work.ts"], { old: true });
    expect(code).toBe(1);
    expect(stderr).toContain("npm 6.14.18 cannot read the lock file: npm 7 or newer is needed");
  });

  test.each([
    ["Node", true],
    ["the packages", false],
  ])("an unreachable registry, for %s", async (_, old) => {
    const tree = createFreshTree("");
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
      env: createUnreachableRegistryEnv(tree),
    });
    expect(code).toBe(1);
    expect(stderr).toContain("The npm registry cannot be reached. The first run needs it");
    expect(existsSync(join(tree, ".runtime/install.lock"))).toBe(false);
  });

  test("the output of npm for another failure", async () => {
    const tree = createFreshTree("");
    const { code, stderr } = await launch(tree, ["work.ts"], { npmFails: true });
    expect(code).toBe(1);
    expect(stderr).toContain("npm ci failed with exit code 3.\n\nnpm error code EUSAGE");
  });
});

type Options = {
  old?: boolean;
  platform?: string;
  npmDurationMs?: number;
  npmFails?: boolean;
  env?: Record<string, string | undefined>;
};
type ProcessResult = { code: number | null; signal: string | null; stdout: string; stderr: string };

/** Creates a tree without installed packages. */
function createFreshTree(work: string): string {
  const tree = mkdtempSync(join(tmpdir(), "deltawire-launcher-"));
  trees.push(tree);
  mkdirSync(join(tree, "scripts"));
  copyFileSync(join(root, "scripts/launch.cjs"), join(tree, "scripts/launch.cjs"));
  writeFileSync(join(tree, "package.json"), `{ "type": "module" }`);
  writeFileSync(join(tree, "package-lock.json"), "{}");
  writeFileSync(join(tree, "work.ts"), work);
  mkdirSync(join(tree, "npm"));
  writeFileSync(join(tree, "npm/package.json"), "{}");
  writeFileSync(join(tree, "npm/npm-cli.js"), fakeNpm);
  return tree;
}

async function createInstalledTree(work: string): Promise<string> {
  const tree = createFreshTree(work);
  await launch(tree, ["none.ts"]);
  rmSync(join(tree, "npm/calls"));
  return tree;
}

const fakeNpm = `
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
  }, Number(process.env.NPM_DURATION_MS));
`;

function readNpmCommands(tree: string): string[] {
  return readNpmLog(tree).map((line) => line.split(" ")[0] ?? "");
}

function readNpmPids(tree: string): number[] {
  return readNpmLog(tree).map((line) => Number(line.split(" ")[1]));
}

function readNpmLog(tree: string): string[] {
  const file = join(tree, "npm/calls");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

/** Returns the environment for the real npm with an empty cache and an unreachable registry. */
function createUnreachableRegistryEnv(tree: string): Record<string, string | undefined> {
  return {
    npm_execpath: process.env["npm_execpath"],
    npm_config_registry: "http://127.0.0.1:9",
    npm_config_fetch_retries: "0",
    npm_config_cache: join(tree, "cache"),
  };
}

function launch(tree: string, args: string[], options: Options = {}): Promise<ProcessResult> {
  return start(tree, args, options).result;
}

let preloadCount = 0;

function start(tree: string, args: string[], options: Options = {}) {
  // Each launcher has its own file, because another one must not read it while it is written.
  const preload = join(tree, `preload-${(preloadCount += 1)}.cjs`);
  const overrides = {
    ...(options.old && { version: "v20.0.0" }),
    ...(options.platform && { platform: options.platform }),
  };
  writeFileSync(
    preload,
    `for (const [name, value] of Object.entries(${JSON.stringify(overrides)})) Object.defineProperty(process, name, { value });`,
  );
  const child = spawn(process.execPath, ["-r", preload, "scripts/launch.cjs", ...args], {
    cwd: tree,
    detached: true,
    env: {
      ...process.env,
      FORCE_COLOR: undefined,
      npm_execpath: join(tree, "npm/npm-cli.js"),
      NPM_DURATION_MS: String(options.npmDurationMs ?? 0),
      NPM_FAILS: options.npmFails ? "yes" : "",
      ...options.env,
    },
  });
  runningChildren.add(child);
  const result = new Promise<ProcessResult>((resolve, reject) => {
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      runningChildren.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });
  return { child, result };
}

function readFirstNumber(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.stdout?.once("data", (text: string) => resolve(Number.parseInt(text, 10)));
  });
}

async function waitFor<T>(read: () => T | undefined): Promise<T> {
  for (;;) {
    const value = read();
    if (value !== undefined) return value;
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
