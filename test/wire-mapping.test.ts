import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exportsOf, missing } from "./named-exports.ts";
import { repositoryFiles, root } from "./repository-files.ts";
import { runNode } from "./run-node.ts";

type Row = { line: number; cells: string[] };
type TestFile = { name: string; text: string };

const page = read("docs/wire-mapping.md");
const readme = read("packages/wire/README.md");
const testFiles = repositoryFiles(/\.test\.ts$/, "packages/wire/test").map(({ path, text }) => ({
  name: path.replace("packages/wire/test/", "").replace(".test.ts", ""),
  text,
}));

describe("docs/wire-mapping.md", () => {
  test("every field of a table is in one of the test files named above the table", () => {
    expect(rowsIn(page).length).toBeGreaterThan(100);
    expect(findMappingErrors(page, testFiles)).toEqual([]);
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

/** Returns what is wrong with the tables of a page: test files that do not exist, fields that their files do not contain. */
function findMappingErrors(text: string, files: readonly TestFile[]): string[] {
  const errors: string[] = [];
  const rows = new Map(rowsIn(text).map((row) => [row.line, row]));
  let named: TestFile[] = [];
  text.split("\n").forEach((line, index) => {
    const at = `line ${index + 1}`;
    if (line.startsWith("#")) named = [];
    if (line.startsWith("Tests: ")) {
      const names = [...line.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
      named = files.filter(({ name }) => names.includes(name));
      const unknown = names.filter((name) => !named.some((file) => file.name === name));
      errors.push(...unknown.map((name) => `${at}: no test file \`${name}\``));
    }
    const row = rows.get(index + 1);
    if (!row) return;
    if (named.length === 0) errors.push(`${at}: no \`Tests:\` line above the table`);
    const [, code = ""] = /`([^`]+)`/.exec(row.cells[0] ?? "") ?? [];
    const words = code.match(/[A-Za-z_]\w+/g) ?? [];
    const missingWord = words.find((word) => !named.some((file) => file.text.includes(word)));
    if (missingWord !== undefined) errors.push(`${at}: \`${missingWord}\` is not tested`);
  });
  return errors;
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
