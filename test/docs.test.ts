import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readJson, repositoryFiles, root } from "./repository-files.ts";
import { runNode } from "./run-node.ts";

type Block = { path: string; line: number; language: string; text: string; follows: string };

const pages = repositoryFiles(/^(?:[^/]+|docs\/.+)\.md$/);
const blocks = pages.flatMap(({ path, text }) => fencedBlocks(path, text));
const runnable = blocks.flatMap((block, at) => {
  const next = blocks[at + 1];
  const isAnswered = next?.language === "text" && next.path === block.path && next.follows === "";
  return block.language === "ts"
    ? [{ ...block, name: `${block.path}:${block.line}`, expected: isAnswered ? next.text : null }]
    : [];
});
// Inside the repository, so that examples find the packages as a user's file would.
const folder = join(root, "artifacts", `docs-${process.pid}`);

beforeAll(() => mkdirSync(folder, { recursive: true }));
afterAll(() => rmSync(folder, { recursive: true }));

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

function withoutBlocks(text: string): string {
  return text.replace(/^```[^]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
}
