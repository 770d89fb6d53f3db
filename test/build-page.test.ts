// The scripts are tried in small trees of files with a page of two lines, by the real bundler; what stands for the
// gateway prints its arguments.
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isFresh, publish, stampOf } from "../scripts/build-page.ts";
import { root } from "./repository-files.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 90_000 });

const folders: string[] = [];
const started = new Set<ChildProcess>();

afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  started.clear();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe("the stamp of sources", () => {
  const files = { "src/a.ts": "a", "src/deep/b.ts": "b", "lock.json": "{}" };
  const paths = ["src", "lock.json", "not-there"];
  const stampWith = (changed: Record<string, string>): string =>
    stampOf(folderWith({ ...files, ...changed }), paths);

  test("is the same for the same files, wherever and whenever they were written", () => {
    const folder = folderWith(files);
    const stamp = stampOf(folder, paths);
    utimesSync(join(folder, "src/a.ts"), 1, 1);
    writeFileSync(join(folder, "README.md"), "not a source");
    expect(stampOf(folder, paths)).toBe(stamp);
    expect(stampWith({})).toBe(stamp);
  });

  test("changes with a text, a name, a file more and a file less", () => {
    const stamps = [
      stampWith({}),
      stampWith({ "src/deep/b.ts": "B" }),
      stampWith({ "lock.json": "{ }" }),
      stampWith({ "src/c.ts": "" }),
      stampWith({ "not-there": "" }),
      stampOf(folderWith({ "src/a.ts": "a", "lock.json": "{}" }), paths),
      stampOf(folderWith({ "src/a.ts": "a", "src/deep/c.ts": "b", "lock.json": "{}" }), paths),
      // What one file loses another one gains.
      stampOf(folderWith({ "src/a.ts": "", "src/deep/b.ts": "ab", "lock.json": "{}" }), paths),
    ];
    expect(new Set(stamps).size).toBe(stamps.length);
  });
});

describe("a build that is moved into place", () => {
  const build = (text: string, ...assets: string[]): string =>
    folderWith({
      "index.html": text,
      ...Object.fromEntries(assets.map((name) => [`assets/${name}`, name])),
    });

  test("is fresh for its own stamp, as long as it is whole", () => {
    const page = join(folderWith({}), "page");
    expect(isFresh(page, "one")).toBe(false);
    publish(build("1", "a-1.js"), page, "one");
    expect([isFresh(page, "one"), isFresh(page, "two")]).toEqual([true, false]);
    writeFileSync(join(page, "build.json"), "{");
    expect(isFresh(page, "one")).toBe(false);
    publish(build("1", "a-1.js"), page, "one");
    rmSync(join(page, "index.html"));
    expect(isFresh(page, "one")).toBe(false);
  });

  test("leaves the assets of the one before it for open tabs, and removes older ones", () => {
    const page = join(folderWith({}), "page");
    for (const [text, ...assets] of [
      ["1", "a-1.js", "same.js"],
      ["2", "a-2.js", "same.js"],
      ["3", "a-3.js", "same.js"],
    ] as const) {
      publish(build(text, ...assets), page, text);
      for (const name of readdirSync(join(page, "assets")))
        utimesSync(join(page, "assets", name), 1, 1);
    }
    expect(readdirSync(join(page, "assets"))).toEqual(["a-2.js", "a-3.js", "same.js"]);
    expect(readFileSync(join(page, "index.html"), "utf8")).toBe("3");
  });

  test("touches nothing of a build that runs beside it, and clears up what a killed one left", () => {
    const page = join(folderWith({ "page/.building-a/x": "", "page/.building-b/x": "" }), "page");
    mkdirSync(join(page, "assets"));
    writeFileSync(join(page, "assets", "of-another.js"), "");
    utimesSync(join(page, ".building-a"), 1, 1);
    publish(build("1", "a-1.js"), page, "one");
    expect(readdirSync(page).toSorted()).toEqual([
      ".building-b",
      "assets",
      "build.json",
      "index.html",
    ]);
    expect(readdirSync(join(page, "assets"))).toEqual(["a-1.js", "of-another.js"]);
  });
});

describe("npm start", () => {
  const usual = { code: 0, signal: null, stdout: `["--port","99"]\n` };
  const built = "Building the page ...\n";

  test("builds the page once, and again when its sources change", async () => {
    const tree = smallTree();
    const page = join(tree, "packages/gateway/page");
    const go = () => start(tree, ["--port", "99"]).ended;
    expect(await go()).toEqual({ ...usual, stderr: built });
    const first = readFileSync(join(page, "index.html"), "utf8");
    expect(first).toMatch(/src="\/assets\/[\w-]+\.js"/);
    expect(await go()).toEqual({ ...usual, stderr: "" });
    writeFileSync(join(tree, "packages/web/src/main.ts"), `document.title = "two";\n`);
    expect(await go()).toEqual({ ...usual, stderr: built });
    expect(readFileSync(join(page, "index.html"), "utf8")).not.toBe(first);
    expect(readdirSync(page).toSorted()).toEqual(["assets", "build.json", "index.html"]);
  });

  test("twice at once leaves one whole page", async () => {
    const tree = smallTree();
    const both = await Promise.all([1, 2].map(() => start(tree, ["--port", "99"]).ended));
    expect(both).toEqual([
      { ...usual, stderr: built },
      { ...usual, stderr: built },
    ]);
    const page = join(tree, "packages/gateway/page");
    const [, script = ""] =
      /src="\/(assets\/[\w-]+\.js)"/.exec(readFileSync(join(page, "index.html"), "utf8")) ?? [];
    expect(readFileSync(join(page, script), "utf8")).toContain("one");
    expect(readdirSync(page).toSorted()).toEqual(["assets", "build.json", "index.html"]);
  });

  test("goes on with one line where the page cannot be built, and keeps the older one", async () => {
    const tree = smallTree();
    const source = join(tree, "packages/web/src/main.ts");
    const index = join(tree, "packages/gateway/page/index.html");
    writeFileSync(source, "this is no script\n");
    expect(await start(tree, ["--port", "99"]).ended).toEqual({
      ...usual,
      stderr: `${built}The page cannot be built, a plain one is served; npm run build:page shows why.\n`,
    });
    writeFileSync(source, `document.title = "one";\n`);
    await start(tree, []).ended;
    const older = readFileSync(index, "utf8");
    writeFileSync(source, `import "./not-there.ts";\n`);
    expect(await start(tree, ["--port", "99"]).ended).toEqual({
      ...usual,
      stderr: `${built}The page cannot be built, the one of an earlier build is served; npm run build:page shows why.\n`,
    });
    expect(readFileSync(index, "utf8")).toBe(older);
    const { code, stderr } = await start(tree, [], "build-page.ts").ended;
    expect(code).toBe(1);
    expect(stderr).toContain("not-there.ts");
  });

  test.each([
    ["codex", "exec", "--json", "a b"],
    ["migrate", "--write"],
    ["models"],
    ["lessons", "--reset"],
    ["--help"],
    ["--version"],
  ])("builds nothing for %s, and hands the words on", async (...given) => {
    const tree = smallTree();
    const args = given.filter((word) => word !== undefined);
    const stdout = `${JSON.stringify(args)}\n`;
    expect(await start(tree, args).ended).toEqual({ code: 0, signal: null, stdout, stderr: "" });
    expect(existsSync(join(tree, "packages/gateway/page"))).toBe(false);
  });

  test("ends with the gateway's exit code, and by the signal that comes while it builds", async () => {
    const tree = smallTree(`process.exitCode = 37;`);
    expect((await start(tree, ["--help"]).ended).code).toBe(37);
    const { child, ended } = start(tree, []);
    await new Promise((resolve) => child.stderr?.once("data", resolve));
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: null, signal: "SIGTERM", stdout: "", stderr: built });
  });
});

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-page-"));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function smallTree(main = "console.log(JSON.stringify(process.argv.slice(2)));"): string {
  const tree = folderWith({
    "package.json": `{ "type": "module" }`,
    "package-lock.json": "{}",
    "packages/gateway/src/main.ts": main,
    "packages/web/index.html": `<!doctype html><script type="module" src="./src/main.ts"></script>`,
    "packages/web/vite.config.ts": "export default { root: import.meta.dirname };",
    "packages/web/src/main.ts": `document.title = "one";\n`,
  });
  mkdirSync(join(tree, "scripts"));
  for (const file of ["scripts/start.ts", "scripts/build-page.ts"])
    copyFileSync(join(root, file), join(tree, file));
  symlinkSync(join(root, "node_modules"), join(tree, "node_modules"), "junction");
  return tree;
}

function start(tree: string, args: readonly string[], script = "start.ts") {
  const child = spawn(process.execPath, [join(tree, "scripts", script), ...args], {
    cwd: tree,
    env: { ...process.env, NODE_OPTIONS: "", VITEST: undefined, NODE_ENV: undefined },
  });
  started.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      started.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });
  return { child, ended };
}
