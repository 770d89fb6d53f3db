import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseExportedNames, findUndocumentedNames } from "./parse-exports.ts";
import { repositoryFiles, root } from "./repository-files.ts";
import { runNode } from "./run-node.ts";

type Row = { line: number; cells: string[] };
type TestFile = { name: string; text: string };

const page = read("docs/reference/wire-mapping.md");
const messagesPage = read("docs/reference/messages-mapping.md");
const readme = read("packages/wire/README.md");
const testFiles = repositoryFiles(/\.test\.ts$/, "packages/wire/test").map(({ path, text }) => ({
  name: path.replace("packages/wire/test/", "").replace(".test.ts", ""),
  text,
}));

describe("docs/reference/wire-mapping.md", () => {
  test("every field of a table occurs in a test file named above the table", () => {
    expect(parseRows(page).length).toBeGreaterThan(100);
    expect(findMappingErrors(page, testFiles)).toEqual([]);
  });

  test("documents every field of both requests", () => {
    const responses = listFields("ResponsesRequest", readShapes("responses-request"));
    const chat = listFields("ChatRequest", readShapes("chat-request"));
    expect(responses).toContain("previous_response_id");
    expect(chat).toContain("web_search_options");
    const [before = "", after = ""] = page.split("\n## Chat request to Responses request\n");
    expect(findUndocumentedNames(responses, before)).toEqual([]);
    expect(findUndocumentedNames(chat, after)).toEqual([]);
  });

  test("its page for the Messages API documents every field of its requests", () => {
    const messages = listFields("MessagesRequest", readShapes("messages-request"));
    expect(messages).toContain("stop_sequences");
    expect(findUndocumentedNames(messages, messagesPage)).toEqual([]);
    expect(parseRows(messagesPage).length).toBeGreaterThan(60);
    expect(findMappingErrors(messagesPage, testFiles)).toEqual([]);
  });

  test("documents every type of input items and tools", () => {
    const source = readShapes("responses-request");
    const items = listTypes("ResponseInputItem", source);
    const tools = listTypes("ResponseTool", source);
    expect(items).toContain("computer_call_output");
    expect(tools).toContain("namespace");
    expect(findUndocumentedNames([...items, ...tools], page)).toEqual([]);
  });
});

describe("the check of the mapping", () => {
  const files = [
    { name: "one", text: "expect(request.temperature).toBe(1);" },
    { name: "two", text: "expect(request.top_p).toBe(1);" },
  ];
  const section = (tests: string) =>
    `### Fields\n\n${tests}\n\n| from | to |\n| --- | --- |\n| \`temperature\`, a number | the same |\n`;

  test("accepts a section whose test files contain its fields", () => {
    expect(findMappingErrors(section("Tests: `two`, `one`."), files)).toEqual([]);
  });

  test.each([
    ["a test file that does not exist", "Tests: `three`.", "line 3: no test file `three`"],
    ["a field that its test files lack", "Tests: `two`.", "line 7: `temperature` is not tested"],
    ["no test files", "", "line 7: no `Tests:` line above the table"],
  ])("reports %s", (_title, tests, error) => {
    expect(findMappingErrors(section(tests), files)).toContain(error);
  });

  test("finds fields and types in source code, and names that the docs lack", () => {
    const source =
      "interface R extends J {\n  a: string;\n  /** b: */\n  b?: { c: 1 };\n}\ntype T =\n  | R;";
    expect(listFields("R", source)).toEqual(["a", "b"]);
    expect(findUndocumentedNames(["a", "b"], "only `a`")).toEqual(["b"]);
    const union =
      'type U =\n  | One\n  | Two;\ninterface One {\n  type: "x" | "y";\n}\ninterface Two {\n  type?: "z" | null;\n}';
    expect(listTypes("U", union)).toEqual(["x", "y", "z"]);
    expect(
      parseExportedNames('export { a, type B } from "./a.ts";\nexport type { C } from "./c.ts";'),
    ).toEqual(["a", "B", "C"]);
  });
});

describe("packages/wire/README.md", () => {
  test("names everything that the package exports", () => {
    const names = ["packages/wire/src/index.ts", "packages/wire/src/codex/index.ts"].flatMap(
      (path) => parseExportedNames(read(path)),
    );
    expect(names).toContain("ChatStreamParser");
    expect(findUndocumentedNames(names, readme)).toEqual([]);
  });

  const examples = [...readme.matchAll(/^```ts\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm)].map(
    ([, code = "", expected], index) => ({ index, code, expected }),
  );
  // Inside the repository, so that examples resolve the package.
  const folder = join(root, "artifacts", `wire-readme-${process.pid}`);

  beforeAll(() => {
    mkdirSync(folder, { recursive: true });
    for (const { index, code } of examples) writeFileSync(join(folder, `${index}.ts`), code);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("has five examples", () => expect(examples).toHaveLength(5));

  test.concurrent.each(examples)(
    "example $index runs and prints the documented output",
    async (example) => {
      const { code, stdout, stderr } = await runNode(join(folder, `${example.index}.ts`));
      expect(code, stderr).toBe(0);
      expect(stdout).toBe(example.expected ?? stdout);
    },
  );

  test("has examples in valid strict TypeScript", () => {
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

function readShapes(name: string): string {
  return read(`packages/wire/src/shapes/${name}.ts`);
}

/** Returns the rows of all tables without headers. */
function parseRows(text: string): Row[] {
  const lines = text.split("\n");
  const isRule = (line: string | undefined) => /^\|(?: *:?-+:? *\|)+$/.test(line ?? "");
  return lines.flatMap((line, index) => {
    if (!line.startsWith("|") || isRule(line) || isRule(lines[index + 1])) return [];
    const cells = line.split(/(?<!\\)\|/).slice(1, -1);
    return [{ line: index + 1, cells: cells.map((cell) => cell.trim().replaceAll("\\|", "|")) }];
  });
}

/** Returns the errors in the tables of a page: missing test files, and fields that do not occur in them. */
function findMappingErrors(text: string, files: readonly TestFile[]): string[] {
  const errors: string[] = [];
  const rows = new Map(parseRows(text).map((row) => [row.line, row]));
  let namedFiles: TestFile[] = [];
  text.split("\n").forEach((line, index) => {
    const location = `line ${index + 1}`;
    if (line.startsWith("#")) namedFiles = [];
    if (line.startsWith("Tests: ")) {
      const names = [...line.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
      namedFiles = files.filter(({ name }) => names.includes(name));
      const unknownNames = names.filter((name) => !namedFiles.some((file) => file.name === name));
      errors.push(...unknownNames.map((name) => `${location}: no test file \`${name}\``));
    }
    const row = rows.get(index + 1);
    if (!row) return;
    if (namedFiles.length === 0) errors.push(`${location}: no \`Tests:\` line above the table`);
    const codes = (row.cells[0] ?? "").match(/`[^`]+`/g) ?? [];
    const words = codes.flatMap((code) => code.match(/[A-Za-z_]\w+/g) ?? []);
    const missingWord = words.find((word) => !namedFiles.some((file) => file.text.includes(word)));
    if (missingWord !== undefined) errors.push(`${location}: \`${missingWord}\` is not tested`);
  });
  return errors;
}

/** Returns the fields that an interface declares. */
function listFields(name: string, source: string): string[] {
  const [, body = ""] =
    new RegExp(`interface ${name}\\b[^{]*\\{\\n([^]*?)^\\}`, "m").exec(source) ?? [];
  return [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, field = ""]) => field);
}

/** Returns the values of `type` in the members of a union. */
function listTypes(union: string, source: string): string[] {
  const [, members = ""] = new RegExp(`type ${union} =\\s*([^;]*);`).exec(source) ?? [];
  return [...members.matchAll(/\w+/g)].flatMap(([member]) => {
    const [, body = ""] =
      new RegExp(`interface ${member}\\b[^{]*\\{\\n([^]*?)^\\}`, "m").exec(source) ?? [];
    const [, types = ""] = /^ {2}type\??:([^;]*);/m.exec(body) ?? [];
    return [...types.matchAll(/"(\w+)"/g)].map(([, type = ""]) => type);
  });
}
