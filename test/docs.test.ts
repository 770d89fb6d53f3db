import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startReadmeGateway } from "./readme-gateway.ts";
import { readRepositoryJson, repositoryFiles, root } from "./repository-files.ts";
import { runNode } from "./run-node.ts";

// Starting processes may be slow on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

type Block = { path: string; line: number; language: string; text: string; follows: string };

const pages = repositoryFiles(/^(?:[^/]+|docs\/.+)\.md$/);
const blocks = pages.flatMap(({ path, text }) => parseFencedBlocks(path, text));
const blocksWithResult = blocks.map((block, index) => {
  const next = blocks[index + 1];
  const hasOutput = next?.language === "text" && next.path === block.path && next.follows === "";
  return { ...block, name: `${block.path}:${block.line}`, expected: hasOutput ? next.text : null };
});
const examples = blocksWithResult.filter(({ language }) => language === "ts");
const requests = blocksWithResult.filter(
  ({ language, text }) => language === "sh" && /\bcurl\b/.test(text),
);
// Inside the repository, so that examples resolve the packages.
const folder = join(root, "artifacts", `docs-${process.pid}`);

let gateway: Awaited<ReturnType<typeof startReadmeGateway>>;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  gateway = await startReadmeGateway();
  vi.stubEnv("DELTAWIRE_URL", `${gateway.url}/v1`);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await gateway.close();
  rmSync(folder, { recursive: true });
});

describe("the examples in the docs:", () => {
  test("the check finds a block and its output", () => {
    const page = "# A\n\n```ts\n1;\n```\n\n```text\n2\n```\n\nProse.\n\n```text\n3\n```\n";
    expect(parseFencedBlocks("a.md", page)).toEqual([
      { path: "a.md", line: 3, language: "ts", text: "1;\n", follows: "# A" },
      { path: "a.md", line: 7, language: "text", text: "2\n", follows: "" },
      { path: "a.md", line: 13, language: "text", text: "3\n", follows: "Prose." },
    ]);
  });

  test.concurrent.each(examples)(
    "$name runs and prints the documented output",
    async ({ path, line, text, expected }) => {
      const file = join(folder, `${path.replaceAll("/", "-")}-${line}.ts`);
      writeFileSync(file, text);
      const { code, stdout, stderr } = await runNode(file);
      expect(code, stderr).toBe(0);
      expect(stdout).toBe(expected ?? stdout);
    },
  );
});

describe("the curl requests in the docs:", () => {
  test("the check treats … as a wildcard", () => {
    const pattern = toPattern('{"id":"task_…","output":[]}\n');
    expect('{"id":"task_17","output":[]}\n').toMatch(pattern);
    expect('{"id":"task_17","output":[{}]}\n').not.toMatch(pattern);
  });

  const paths = [...new Set(requests.map(({ path }) => path))];
  test.concurrent.for(paths)(
    "those of %s return the documented output",
    async (path, { onTestFinished }) => {
      const pageRequests = requests.filter((request) => request.path === path);
      // A separate gateway, because `GET /api/approvals` also lists the tasks of other pages.
      const gateway = await startReadmeGateway();
      onTestFinished(() => gateway.close());
      const endMarker = "--- the end of a block ---\n";
      const script = pageRequests.map(({ text }) => `${text}printf '%s' '${endMarker}'\n`).join("");
      const { host } = new URL(gateway.url);
      const localScript = script.replaceAll("127.0.0.1:4141", host);
      const { stdout } = await promisify(execFile)("bash", ["-euc", localScript], {
        cwd: folder,
        timeout: 60_000,
      });
      const outputs = stdout.split(endMarker);
      expect(outputs).toHaveLength(pageRequests.length + 1);
      const differences = pageRequests.flatMap(({ expected, name }, index) => {
        const output = `${outputs[index]?.trimEnd()}\n`;
        return expected === null || toPattern(expected).test(output) ? [] : [`${name}: ${output}`];
      });
      expect(differences).toEqual([]);
    },
  );
});

test("every example in the docs is valid strict TypeScript", () => {
  const files = examples.map(({ path, line, text }) => {
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

test("docs/reference/task-protocol.md documents every event and every task route", () => {
  const page = pages.find(({ path }) => path === "docs/reference/task-protocol.md")?.text ?? "";
  const sources = ["packages/tasks/src/events.ts", "packages/gateway/src/http/routes.ts"];
  const [events = "", routes = ""] = sources.map((path) => readFileSync(join(root, path), "utf8"));
  const types = [...events.matchAll(/"(task\.[\w.]+)"/g)].map(([, type = ""]) => type);
  const [, taskRoutes = ""] = /const routes = \[([^]*?)\] as const/.exec(routes) ?? [];
  const paths = [...taskRoutes.matchAll(/"(\/api\/[^"]*)"/g)].map(([, path = ""]) => path);
  expect(types).toContain("task.tool_execution.started");
  expect(types.filter((type) => !page.includes(`\`${type}\``))).toEqual([]);
  expect(paths).toContain("/api/tasks/{task}/events");
  const pathsWithIds = paths.map((path) => path.replace(/\{(task|approval)\}/, ":id"));
  const documentedPaths = pathsWithIds.map((path) => path.replace(/\{(\w+)\}/, ":$1"));
  expect(documentedPaths.filter((path) => !page.includes(path))).toEqual([]);
});

test("docs/reference/chat-api.md documents every route, edit and setting of chats", () => {
  const page = pages.find(({ path }) => path === "docs/reference/chat-api.md")?.text ?? "";
  const source = (path: string) => readFileSync(join(root, "packages", path), "utf8");
  const [, routes = ""] =
    /const chatRoutes = \[([^]*?)\] as const/.exec(source("gateway/src/http/routes.ts")) ?? [];
  const methods: Record<string, string> = { get: "GET", post: "POST", del: "DELETE" };
  const documentedPaths = [...routes.matchAll(/(\w+)\(\s*"([^"]+)"/g)].map(
    ([, method = "", path = ""]) => `\`${methods[method]} ${path.replace("{chat}", ":chat")}`,
  );
  expect(documentedPaths).toContain("`POST /api/chats/:chat/send");
  expect(
    documentedPaths.filter((route) => !new RegExp(`${route}(?:[?][^\`]*)?\``).test(page)),
  ).toEqual([]);
  const schemas = source("tasks/src/chats/chat-schemas.ts");
  const [, edits = ""] = /const userEditSchema =([^]*?)\n\]\);/.exec(schemas) ?? [];
  const [, settings = ""] = /const settingsFields = \{([^]*?)\n\};/.exec(schemas) ?? [];
  const names = [
    ...[...edits.matchAll(/type: v\.literal\("(\w+)"\)/g)].map(([, type = ""]) => type),
    ...[...settings.matchAll(/^ {2}(\w+)[:,]/gm)].map(([, name = ""]) => name),
  ];
  expect(names).toEqual(expect.arrayContaining(["delete_version", "title_model"]));
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("the files in docs/ have at most 30,000 bytes each and 250,000 bytes together", () => {
  const sizes = pages
    .filter(({ path }) => path.startsWith("docs/"))
    .map(({ path, text }) => ({ path, bytes: Buffer.byteLength(text) }));
  expect(sizes.filter(({ bytes }) => bytes > 30_000)).toEqual([]);
  expect(sizes.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(250_000);
});

test("no table in the docs is padded", () => {
  const paddedLines = pages.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, index) => (/^\|.* {2,}\|/.test(line) ? [`${path}:${index + 1}`] : [])),
  );
  expect(paddedLines).toEqual([]);
});

test("every file that docs/architecture.md names exists", () => {
  const page = pages.find(({ path }) => path === "docs/architecture.md")?.text ?? "";
  const sections = page.split(/^## /m).flatMap((section) => {
    const [, folder] = /^`(packages\/\w+\/src)`/.exec(section) ?? [];
    return folder === undefined ? [] : [{ folder, section }];
  });
  const files = sections.flatMap(({ folder, section }) =>
    [...section.matchAll(/`([\w/.-]+\.tsx?)`/g)]
      .filter(([, name]) => name !== "messages.ts")
      .map(([, name = ""]) => (name.startsWith("packages/") ? name : `${folder}/${name}`)),
  );
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test("every npm command in the docs exists", () => {
  const { scripts } = readRepositoryJson<{ scripts: Record<string, string> }>("package.json");
  const npmCommands = ["ci", "install", "view"];
  const unknownCommands = blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm (run )?(?:-\S+ )*([\w:-]+)/g)].flatMap(([all, run, name = ""]) =>
        name in scripts || (!run && npmCommands.includes(name)) ? [] : [`${path}: ${all}`],
      ),
    );
  expect(unknownCommands).toEqual([]);
});

test("every relative link in the docs refers to an existing file", () => {
  const brokenLinks = pages.flatMap(({ path, text }) =>
    [...removeBlocks(text).matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => !existsSync(join(root, dirname(path), target)))
      .map((target) => `${path}: ${target}`),
  );
  expect(brokenLinks).toEqual([]);
});

test("every link to a heading in the docs refers to an existing heading", () => {
  const brokenLinks = pages.flatMap(({ path, text }) =>
    [...removeBlocks(text).matchAll(/\]\(([^)\s#:]*)#([^)\s]+)\)/g)].flatMap(
      ([, target = "", anchor = ""]) => {
        const linkedPath = target === "" ? path : join(dirname(path), target);
        const linkedPage = pages.find((page) => page.path === linkedPath);
        const exists = linkedPage === undefined || listAnchors(linkedPage.text).includes(anchor);
        return exists ? [] : [`${path}: ${target}#${anchor}`];
      },
    ),
  );
  expect(brokenLinks).toEqual([]);
});

/** Returns the anchors of the headings as GitHub generates them. */
function listAnchors(text: string): string[] {
  return [...text.replace(/^```[^]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-"),
  );
}

function parseFencedBlocks(path: string, text: string): Block[] {
  let end = 0;
  return [...text.matchAll(/^```([^\n`]*)\n([^]*?)^```$/gm)].map((match) => {
    const [all, language = "", content = ""] = match;
    const follows = text.slice(end, match.index).trim();
    end = match.index + all.length;
    const line = text.slice(0, match.index).split("\n").length;
    return { path, line, language: language.trim(), text: content, follows };
  });
}

function toPattern(text: string): RegExp {
  const parts = text.split("…").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*?")}$`);
}

function removeBlocks(text: string): string {
  return text.replace(/^```[^]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
}
