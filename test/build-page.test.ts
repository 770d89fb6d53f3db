// These tests run the scripts in small source trees, with a page of two lines and the real bundler. A fake gateway prints
// its arguments.
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isBuildFresh, publishBuild, hashSources } from "../scripts/build-page.ts";
import { root } from "./repository-files.ts";

// Starting processes may be slow on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

const folders: string[] = [];
const runningChildren = new Set<ChildProcess>();

afterEach(() => {
  for (const child of runningChildren) child.kill("SIGKILL");
  runningChildren.clear();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe("the hash of the sources", () => {
  const files = { "src/a.ts": "a", "src/deep/b.ts": "b", "lock.json": "{}" };
  const paths = ["src", "lock.json", "not-there"];
  const hashWithChanges = (changed: Record<string, string>): string =>
    hashSources(createFolder({ ...files, ...changed }), paths);

  test("is the same for the same files in any folder at any time", () => {
    const folder = createFolder(files);
    const stamp = hashSources(folder, paths);
    utimesSync(join(folder, "src/a.ts"), 1, 1);
    writeFileSync(join(folder, "README.md"), "not a source");
    expect(hashSources(folder, paths)).toBe(stamp);
    expect(hashWithChanges({})).toBe(stamp);
  });

  test("changes with the content, name and number of files", () => {
    const stamps = [
      hashWithChanges({}),
      hashWithChanges({ "src/deep/b.ts": "B" }),
      hashWithChanges({ "lock.json": "{ }" }),
      hashWithChanges({ "src/c.ts": "" }),
      hashWithChanges({ "not-there": "" }),
      hashSources(createFolder({ "src/a.ts": "a", "lock.json": "{}" }), paths),
      hashSources(
        createFolder({ "src/a.ts": "a", "src/deep/c.ts": "b", "lock.json": "{}" }),
        paths,
      ),
      // A letter is moved from one file to another.
      hashSources(
        createFolder({ "src/a.ts": "", "src/deep/b.ts": "ab", "lock.json": "{}" }),
        paths,
      ),
    ];
    expect(new Set(stamps).size).toBe(stamps.length);
  });
});

describe("publishBuild", () => {
  const createBuild = (text: string, ...assets: string[]): string =>
    createFolder({
      "index.html": text,
      ...Object.fromEntries(assets.map((name) => [`assets/${name}`, name])),
    });

  test("makes the build up to date for its hash, as long as it is complete", () => {
    const page = join(createFolder({}), "page");
    expect(isBuildFresh(page, "one")).toBe(false);
    publishBuild(createBuild("1", "a-1.js"), page, "one");
    expect([isBuildFresh(page, "one"), isBuildFresh(page, "two")]).toEqual([true, false]);
    writeFileSync(join(page, "build.json"), "{");
    expect(isBuildFresh(page, "one")).toBe(false);
    publishBuild(createBuild("1", "a-1.js"), page, "one");
    rmSync(join(page, "index.html"));
    expect(isBuildFresh(page, "one")).toBe(false);
  });

  test("keeps the assets of the previous build for open tabs and removes older ones", () => {
    const page = join(createFolder({}), "page");
    for (const [text, ...assets] of [
      ["1", "a-1.js", "same.js"],
      ["2", "a-2.js", "same.js"],
      ["3", "a-3.js", "same.js"],
    ] as const) {
      publishBuild(createBuild(text, ...assets), page, text);
      for (const name of readdirSync(join(page, "assets")))
        utimesSync(join(page, "assets", name), 1, 1);
    }
    expect(readdirSync(join(page, "assets"))).toEqual(["a-2.js", "a-3.js", "same.js"]);
    expect(readFileSync(join(page, "index.html"), "utf8")).toBe("3");
  });

  test("keeps the files of a concurrent build and removes those of a killed one", () => {
    const page = join(createFolder({ "page/.building-a/x": "", "page/.building-b/x": "" }), "page");
    mkdirSync(join(page, "assets"));
    writeFileSync(join(page, "assets", "of-another.js"), "");
    utimesSync(join(page, ".building-a"), 1, 1);
    publishBuild(createBuild("1", "a-1.js"), page, "one");
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
  const success = { code: 0, signal: null, stdout: `["--port","99"]\n` };
  const buildingMessage = "Building the page ...\n";

  test("builds the page once, and again when its sources change", async () => {
    const tree = createTree();
    const page = join(tree, "packages/gateway/page");
    const run = () => start(tree, ["--port", "99"]).result;
    expect(await run()).toEqual({ ...success, stderr: buildingMessage });
    const firstPage = readFileSync(join(page, "index.html"), "utf8");
    expect(firstPage).toMatch(/src="\/assets\/[\w-]+\.js"/);
    expect(await run()).toEqual({ ...success, stderr: "" });
    writeFileSync(join(tree, "packages/web/src/main.ts"), `document.title = "two";\n`);
    expect(await run()).toEqual({ ...success, stderr: buildingMessage });
    expect(readFileSync(join(page, "index.html"), "utf8")).not.toBe(firstPage);
    expect(readdirSync(page).toSorted()).toEqual(["assets", "build.json", "index.html"]);
  });

  test("leaves one complete page if it runs twice at the same time", async () => {
    const tree = createTree();
    const results = await Promise.all([1, 2].map(() => start(tree, ["--port", "99"]).result));
    expect(results).toEqual([
      { ...success, stderr: buildingMessage },
      { ...success, stderr: buildingMessage },
    ]);
    const page = join(tree, "packages/gateway/page");
    const [, script = ""] =
      /src="\/(assets\/[\w-]+\.js)"/.exec(readFileSync(join(page, "index.html"), "utf8")) ?? [];
    expect(readFileSync(join(page, script), "utf8")).toContain("one");
    expect(readdirSync(page).toSorted()).toEqual(["assets", "build.json", "index.html"]);
  });

  test("prints one line if the build fails, and serves the previous page", async () => {
    const tree = createTree();
    const source = join(tree, "packages/web/src/main.ts");
    const index = join(tree, "packages/gateway/page/index.html");
    writeFileSync(source, "this is no script\n");
    expect(await start(tree, ["--port", "99"]).result).toEqual({
      ...success,
      stderr: `${buildingMessage}Could not build the page, serving a plain page. Run npm run build:page to see the error.\n`,
    });
    writeFileSync(source, `document.title = "one";\n`);
    await start(tree, []).result;
    const previousPage = readFileSync(index, "utf8");
    writeFileSync(source, `import "./not-there.ts";\n`);
    expect(await start(tree, ["--port", "99"]).result).toEqual({
      ...success,
      stderr: `${buildingMessage}Could not build the page, serving the previous build. Run npm run build:page to see the error.\n`,
    });
    expect(readFileSync(index, "utf8")).toBe(previousPage);
    const { code, stderr } = await start(tree, [], "build-page.ts").result;
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
  ])("does not build for %s and passes on the arguments", async (...argv) => {
    const tree = createTree();
    const args = argv.filter((word) => word !== undefined);
    const stdout = `${JSON.stringify(args)}\n`;
    expect(await start(tree, args).result).toEqual({ code: 0, signal: null, stdout, stderr: "" });
    expect(existsSync(join(tree, "packages/gateway/page"))).toBe(false);
  });

  test("exits with the exit code of the gateway, or with the signal that it receives during the build", async () => {
    const tree = createTree(`process.exitCode = 37;`);
    expect((await start(tree, ["--help"]).result).code).toBe(37);
    const { child, result } = start(tree, []);
    await new Promise((resolve) => child.stderr?.once("data", resolve));
    child.kill("SIGTERM");
    expect(await result).toEqual({
      code: null,
      signal: "SIGTERM",
      stdout: "",
      stderr: buildingMessage,
    });
  });
});

interface ProcessResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

function createFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-page-"));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function createTree(main = "console.log(JSON.stringify(process.argv.slice(2)));"): string {
  const tree = createFolder({
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
  runningChildren.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const result = new Promise<ProcessResult>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      runningChildren.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });
  return { child, result };
}
