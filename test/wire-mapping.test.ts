import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exportsOf, missing } from "./named-exports.ts";
import { repositoryFiles, root } from "./repository-files.ts";
import { runNode } from "./run-node.ts";

type Row = { line: number; cells: string[] };

const page = read("docs/wire-mapping.md");
const readme = read("packages/wire/README.md");
const titles = new Set(
  repositoryFiles(/\.test\.ts$/, "packages/wire/test").flatMap(({ text }) => titlesIn(text)),
);

describe("docs/wire-mapping.md", () => {
  test("every row names tests that exist", () => {
    expect(rowsIn(page).length).toBeGreaterThan(100);
    expect(faultsIn(page, titles)).toEqual([]);
  });

  test("every field of both requests is there", () => {
    const responses = fieldsOf("ResponsesRequest", shapes("responses-request"));
    const chat = fieldsOf("ChatRequest", shapes("chat-request"));
    expect(responses).toContain("previous_response_id");
    expect(chat).toContain("web_search_options");
    const [before = "", after = ""] = page.split("\n## Chat request to Responses request\n");
    expect(missing(responses, before)).toEqual([]);
    expect(missing(chat, after)).toEqual([]);
  });

  test("every type of an input item and of a tool is there", () => {
    const source = shapes("responses-request");
    const items = typesOf("InputItem", source);
    const tools = typesOf("Tool", source);
    expect(items).toContain("computer_call_output");
    expect(tools).toContain("namespace");
    expect(missing([...items, ...tools], page)).toEqual([]);
  });
});

describe("the check itself", () => {
  const table = (test: string) =>
    `| from | to | test |\n| --- | --- | --- |\n| a | b | ${test} |\n`;
  const known = new Set(["one thing", "another %s"]);

  test("passes a row whose tests exist", () => {
    expect(faultsIn(table("`one thing`<br>`another %s`"), known)).toEqual([]);
  });

  test.each([
    ["a test that does not exist", table("`nothing`"), "line 3: no test `nothing`"],
    ["one of two that does not", table("`one thing`<br>`no`"), "line 3: no test `no`"],
    ["no test at all", table("-"), "line 3: names no test"],
    ["a column too few", "| from | to |\n| --- | --- |\n| a | b |\n", "line 3: 2 columns, not 3"],
  ])("fails a row with %s", (_title, bad, fault) => {
    expect(faultsIn(bad, known)).toEqual([fault]);
  });

  test("knows a title, a template and a title in a table, and nothing else", () => {
    const source = [
      'test("a plain \\"title\\"", () => {});',
      "test.each(list)(",
      '  "a template of %s",',
      ");",
      "test.each([",
      '  ["a title in a table", 1],',
      '  ["word", 2],',
      '])("%s", () => {});',
      'expect("no title").toBe("none");',
    ].join("\n");
    expect(titlesIn(source)).toEqual([
      'a plain "title"',
      "a template of %s",
      "%s",
      "a title in a table",
    ]);
  });

  test("sees a field, a type and an export that are missing", () => {
    const source =
      "interface R extends J {\n  a: string;\n  /** b: */\n  b?: { c: 1 };\n}\ntype T =\n  | R;";
    expect(fieldsOf("R", source)).toEqual(["a", "b"]);
    expect(missing(["a", "b"], "only `a`")).toEqual(["b"]);
    const union =
      'type U =\n  | One\n  | Two;\ninterface One {\n  type: "x" | "y";\n}\ninterface Two {\n  type?: "z" | null;\n}';
    expect(typesOf("U", union)).toEqual(["x", "y", "z"]);
    expect(
      exportsOf('export { a, type B } from "./a.ts";\nexport type { C } from "./c.ts";'),
    ).toEqual(["a", "B", "C"]);
  });
});

describe("packages/wire/README.md", () => {
  test("names everything that the package exports", () => {
    const names = ["packages/wire/src/index.ts", "packages/wire/src/codex/index.ts"].flatMap(
      (path) => exportsOf(read(path)),
    );
    expect(names).toContain("ChatStreamParser");
    expect(missing(names, readme)).toEqual([]);
  });

  const examples = [...readme.matchAll(/^```ts\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm)].map(
    ([, code = "", expected], nth) => ({ nth, code, expected }),
  );
  // Inside the repository, so that examples find the package as a user's file would.
  const folder = join(root, "artifacts", `wire-readme-${process.pid}`);

  beforeAll(() => {
    mkdirSync(folder, { recursive: true });
    for (const { nth, code } of examples) writeFileSync(join(folder, `${nth}.ts`), code);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("has an example of each use", () => expect(examples).toHaveLength(3));

  test.concurrent.each(examples)("example $nth runs and prints what it says", async (example) => {
    const { code, stdout, stderr } = await runNode(join(folder, `${example.nth}.ts`));
    expect(code, stderr).toBe(0);
    expect(stdout).toBe(example.expected ?? stdout);
  });

  test("has examples in good strict TypeScript", () => {
    const settings = {
      extends: join(root, "tsconfig.check.json"),
      compilerOptions: { composite: false, tsBuildInfoFile: null },
      include: ["*.ts"],
      references: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
    const launcher = join(root, "scripts", "launch.cjs");
    const args = [launcher, "tsc", "-p", "tsconfig.json", "--pretty", "false"];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    expect(stdout + stderr).toBe("");
  });
});

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function shapes(name: string): string {
  return read(`packages/wire/src/shapes/${name}.ts`);
}

/** The rows of all tables, without their heads. */
function rowsIn(text: string): Row[] {
  const lines = text.split("\n");
  const isRule = (line: string | undefined) => /^\|(?: *:?-+:? *\|)+$/.test(line ?? "");
  return lines.flatMap((line, at) => {
    if (!line.startsWith("|") || isRule(line) || isRule(lines[at + 1])) return [];
    const cells = line.split(/(?<!\\)\|/).slice(1, -1);
    return [{ line: at + 1, cells: cells.map((cell) => cell.trim().replaceAll("\\|", "|")) }];
  });
}

function faultsIn(text: string, known: ReadonlySet<string>): string[] {
  return rowsIn(text).flatMap(({ line, cells }) => {
    if (cells.length !== 3) return [`line ${line}: ${cells.length} columns, not 3`];
    const named = [...(cells[2] ?? "").matchAll(/`([^`]+)`/g)].map(([, title = ""]) => title);
    if (named.length === 0) return [`line ${line}: names no test`];
    return named
      .filter((title) => !known.has(title))
      .map((title) => `line ${line}: no test \`${title}\``);
  });
}

/** Titles of tests, templates of `test.each`, and titles of several words that begin a row of a table. */
function titlesIn(source: string): string[] {
  const text = '"((?:[^"\\\\\\n]|\\\\.)*)"';
  const found = (pattern: string) =>
    [...source.matchAll(new RegExp(pattern, "gm"))].map(
      ([, title = ""]) => JSON.parse(`"${title}"`) as string,
    );
  return [
    ...found(`^\\s*test\\(\\s*${text},`),
    ...found(`\\)\\(\\s*${text},`),
    ...found(`^\\s*\\[\\s*${text},`).filter((title) => title.includes(" ")),
  ];
}

/** The fields that an interface itself lists. */
function fieldsOf(name: string, source: string): string[] {
  const [, body = ""] =
    new RegExp(`interface ${name}\\b[^{]*\\{\\n([^]*?)^\\}`, "m").exec(source) ?? [];
  return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, field = ""]) => field);
}

/** The values that `type` has in the members of a union. */
function typesOf(union: string, source: string): string[] {
  const [, members = ""] = new RegExp(`type ${union} =\\s*([^;]*);`).exec(source) ?? [];
  return [...members.matchAll(/\w+/g)].flatMap(([member]) => {
    const [, body = ""] =
      new RegExp(`interface ${member}\\b[^{]*\\{\\n([^]*?)^\\}`, "m").exec(source) ?? [];
    const [, types = ""] = /^ {2}type\??:([^;]*);/m.exec(body) ?? [];
    return [...types.matchAll(/"(\w+)"/g)].map(([, type = ""]) => type);
  });
}
