import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readmeGateway } from "./readme-gateway.ts";
import { readJson, repositoryFiles, root } from "./repository-files.ts";
import { runNode } from "./run-node.ts";

// Processes are started, and the machine may be busy.
vi.setConfig({ testTimeout: 90_000 });

type Block = { path: string; line: number; language: string; text: string; follows: string };

const pages = repositoryFiles(/^(?:[^/]+|docs\/.+)\.md$/);
const blocks = pages.flatMap(({ path, text }) => fencedBlocks(path, text));
const answered = blocks.map((block, at) => {
  const next = blocks[at + 1];
  const isAnswered = next?.language === "text" && next.path === block.path && next.follows === "";
  return { ...block, name: `${block.path}:${block.line}`, expected: isAnswered ? next.text : null };
});
const runnable = answered.filter(({ language }) => language === "ts");
const requests = answered.filter(
  ({ language, text }) => language === "sh" && /\bcurl\b/.test(text),
);
// Inside the repository, so that examples find the packages as a user's file would.
const folder = join(root, "artifacts", `docs-${process.pid}`);

let gateway: Awaited<ReturnType<typeof readmeGateway>>;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  gateway = await readmeGateway();
  vi.stubEnv("DELTAWIRE_URL", `${gateway.url}/v1`);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await gateway.close();
  rmSync(folder, { recursive: true });
});

describe("an example in the docs runs and prints what the docs say", () => {
  test("where a block and its output are found together", () => {
    const page = "# A\n\n```ts\n1;\n```\n\n```text\n2\n```\n\nProse.\n\n```text\n3\n```\n";
    expect(fencedBlocks("a.md", page)).toEqual([
      { path: "a.md", line: 3, language: "ts", text: "1;\n", follows: "# A" },
      { path: "a.md", line: 7, language: "text", text: "2\n", follows: "" },
      { path: "a.md", line: 13, language: "text", text: "3\n", follows: "Prose." },
    ]);
  });

  test.concurrent.each(runnable)("$name", async ({ path, line, text, expected }) => {
    const file = join(folder, `${path.replaceAll("/", "-")}-${line}.ts`);
    writeFileSync(file, text);
    const { code, stdout, stderr } = await runNode(file);
    expect(code, stderr).toBe(0);
    expect(stdout).toBe(expected ?? stdout);
  });
});

describe("the requests of a page, sent one after the other from one shell, are answered as the page says", () => {
  test("where … stands for anything", () => {
    const says = patternOf('{"id":"task_…","output":[]}\n');
    expect('{"id":"task_17","output":[]}\n').toMatch(says);
    expect('{"id":"task_17","output":[{}]}\n').not.toMatch(says);
  });

  const paths = [...new Set(requests.map(({ path }) => path))];
  test.concurrent.for(paths)("%s", async (path, { onTestFinished }) => {
    const own = requests.filter((request) => request.path === path);
    // A gateway of its own: `GET /api/approvals` lists what waits in all tasks, those of other pages too.
    const gateway = await readmeGateway();
    onTestFinished(() => gateway.close());
    const end = "--- the end of a block ---\n";
    const script = own.map(({ text }) => `${text}printf '%s' '${end}'\n`).join("");
    const { host } = new URL(gateway.url);
    const here = script.replaceAll("127.0.0.1:4141", host);
    const { stdout } = await promisify(execFile)("bash", ["-euc", here], {
      cwd: folder,
      timeout: 60_000,
    });
    const answers = stdout.split(end);
    expect(answers).toHaveLength(own.length + 1);
    const others = own.flatMap(({ expected, name }, at) => {
      const answer = `${answers[at]?.trimEnd()}\n`;
      return expected === null || patternOf(expected).test(answer) ? [] : [`${name}: ${answer}`];
    });
    expect(others).toEqual([]);
  });
});

test("every example in the docs is good strict TypeScript", () => {
  const files = runnable.map(({ path, line, text }) => {
    const file = `types-${path.replaceAll("/", "-")}-${line}.ts`;
    writeFileSync(join(folder, file), text);
    return file;
  });
  const settings = {
    extends: join(root, "tsconfig.check.json"),
    compilerOptions: { composite: false, tsBuildInfoFile: null },
    include: files,
    references: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const launcher = join(root, "scripts", "launch.cjs");
  const args = [launcher, "tsc", "-p", "tsconfig.json", "--pretty", "false"];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  expect(stdout + stderr).toBe("");
});

test("docs/task-protocol.md has every event and every route of tasks", () => {
  const page = pages.find(({ path }) => path === "docs/task-protocol.md")?.text ?? "";
  const sources = ["packages/tasks/src/events.ts", "packages/gateway/src/http/routes.ts"];
  const [events = "", routes = ""] = sources.map((path) => readFileSync(join(root, path), "utf8"));
  const types = [...events.matchAll(/"(task\.[\w.]+)"/g)].map(([, type = ""]) => type);
  const [, ofTasks = ""] = /const routes = \[([^]*?)\] as const/.exec(routes) ?? [];
  const paths = [...ofTasks.matchAll(/"(\/api\/[^"]*)"/g)].map(([, path = ""]) => path);
  expect(types).toContain("task.tool_execution.started");
  expect(types.filter((type) => !page.includes(`\`${type}\``))).toEqual([]);
  expect(paths).toContain("/api/tasks/{task}/events");
  const shown = paths.map((path) => path.replace(/\{(task|approval)\}/, ":id"));
  const named = shown.map((path) => path.replace(/\{(\w+)\}/, ":$1"));
  expect(named.filter((path) => !page.includes(path))).toEqual([]);
});

test("docs/chats.md has every route, every edit and every setting of chats", () => {
  const page = pages.find(({ path }) => path === "docs/chats.md")?.text ?? "";
  const source = (path: string) => readFileSync(join(root, "packages", path), "utf8");
  const [, routes = ""] =
    /const chatRoutes = \[([^]*?)\] as const/.exec(source("gateway/src/http/routes.ts")) ?? [];
  const methods: Record<string, string> = { get: "GET", post: "POST", del: "DELETE" };
  const shown = [...routes.matchAll(/(\w+)\(\s*"([^"]+)"/g)].map(
    ([, method = "", path = ""]) => `\`${methods[method]} ${path.replace("{chat}", ":chat")}`,
  );
  expect(shown).toContain("`POST /api/chats/:chat/send");
  expect(shown.filter((route) => !new RegExp(`${route}(?:[?][^\`]*)?\``).test(page))).toEqual([]);
  const schemas = source("tasks/src/chats/chat-schemas.ts");
  const [, edits = ""] = /const personEdit =([^]*?)\n\]\);/.exec(schemas) ?? [];
  const [, settings = ""] = /const settingsFields = \{([^]*?)\n\};/.exec(schemas) ?? [];
  const words = [
    ...[...edits.matchAll(/type: v\.literal\("(\w+)"\)/g)].map(([, type = ""]) => type),
    ...[...settings.matchAll(/^ {2}(\w+)[:,]/gm)].map(([, name = ""]) => name),
  ];
  expect(words).toEqual(expect.arrayContaining(["delete_version", "title_model"]));
  expect(words.filter((word) => !page.includes(`\`${word}\``))).toEqual([]);
});

test("every npm command in the docs exists", () => {
  const { scripts } = readJson<{ scripts: Record<string, string> }>("package.json");
  const ofNpmItself = ["ci", "install", "view"];
  const unknown = blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm (run )?(?:-\S+ )*([\w:-]+)/g)].flatMap(([all, run, name = ""]) =>
        name in scripts || (!run && ofNpmItself.includes(name)) ? [] : [`${path}: ${all}`],
      ),
    );
  expect(unknown).toEqual([]);
});

test("every relative link in the docs leads to a file", () => {
  const broken = pages.flatMap(({ path, text }) =>
    [...withoutBlocks(text).matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => !existsSync(join(root, dirname(path), target)))
      .map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

function fencedBlocks(path: string, text: string): Block[] {
  let end = 0;
  return [...text.matchAll(/^```([^\n`]*)\n([^]*?)^```$/gm)].map((match) => {
    const [all, language = "", content = ""] = match;
    const follows = text.slice(end, match.index).trim();
    end = match.index + all.length;
    const line = text.slice(0, match.index).split("\n").length;
    return { path, line, language: language.trim(), text: content, follows };
  });
}

function patternOf(text: string): RegExp {
  const pieces = text.split("…").map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${pieces.join("[^]*?")}$`);
}

function withoutBlocks(text: string): string {
  return text.replace(/^```[^]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
}
