import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parseExportedNames, findUndocumentedNames } from "./parse-exports.ts";
import { startReadmeGateway } from "./readme-gateway.ts";
import { root } from "./repository-files.ts";
import { runNode } from "./run-node.ts";

// Starting processes may be slow on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

// Inside the repository, so that examples resolve the packages.
const folder = join(root, "artifacts", `readmes-${process.pid}`);

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

// The README of wire is tested in wire-mapping.test.ts.
describe.each(["tasks", "agent", "store", "demo", "gateway"])("packages/%s/README.md", (name) => {
  const readme = read(name, "README.md");
  const examples = [...readme.matchAll(/^```ts\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm)].map(
    ([, code = "", expected], index) => ({ file: `${name}-${index}.ts`, code, expected, index }),
  );
  beforeAll(() => {
    for (const { file, code } of examples) writeFileSync(join(folder, file), code);
  });

  test.concurrent.each(examples)(
    "example $index runs and prints the documented output",
    async (example) => {
      const { code, stdout, stderr } = await runNode(join(folder, example.file));
      expect(code, stderr).toBe(0);
      expect(stdout).toBe(example.expected ?? stdout);
    },
  );

  test("has examples in valid strict TypeScript", () => {
    const settings = {
      extends: join(root, "tsconfig.check.json"),
      compilerOptions: { composite: false, tsBuildInfoFile: null },
      include: examples.map(({ file }) => file),
      references: [],
    };
    const tsconfig = join(folder, `tsconfig-${name}.json`);
    writeFileSync(tsconfig, JSON.stringify(settings));
    const launcher = join(root, "scripts", "launch.cjs");
    const args = [launcher, "tsc", "-p", tsconfig, "--pretty", "false"];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    expect(stdout + stderr).toBe("");
  });
});

test.each([
  ["tasks", "src/index.ts"],
  ["tasks", "src/chats/index.ts"],
  ["tasks", "src/markdown/index.ts"],
  ["agent", "src/index.ts"],
  ["demo", "src/index.ts"],
])("packages/%s/README.md names everything that %s exports", (name, index) => {
  const names = parseExportedNames(read(name, index));
  expect(names).not.toEqual([]);
  expect(findUndocumentedNames(names, read(name, "README.md"))).toEqual([]);
});

test("the check of READMEs detects a missing export", () => {
  const index = 'export { a, type B } from "./a.ts";\nexport type {\n  C,\n} from "./c.ts";\n';
  expect(parseExportedNames(index)).toEqual(["a", "B", "C"]);
  expect(findUndocumentedNames(["a", "B"], "only `a(1)`, and B")).toEqual(["B"]);
});

function read(name: string, path: string): string {
  return readFileSync(join(root, "packages", name, path), "utf8");
}
