import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { parseImports, type ImportStatement } from "./parse-imports.ts";
import { repositoryFiles, root, type RepositoryFile } from "./repository-files.ts";

/** Folders and root files of a package's `src`. `*` stands for the root files that no row names. */
type Row = readonly string[];

/** A folder may import only from rows above it. Root files of the same row may also import each other. */
const folderOrder: Readonly<Record<string, readonly Row[]>> = {
  wire: [
    ["*"],
    ["shapes"],
    ["decode", "mapping", "tools", "collect.ts", "repair-history.ts"],
    ["stream-machine.ts"],
    ["sse", "stream-end-failure.ts"],
    ["reply-body.ts", "codex", "reply"],
    ["chat-upstream", "upstream-reply.ts", "chat-client", "responses-client", "messages-client"],
    ["responses-upstream", "messages-upstream", "responses-over-chat"],
    [
      "chat-over-chat",
      "chat-over-messages",
      "chat-over-responses",
      "messages-over-chat",
      "messages-over-messages",
      "messages-over-responses",
      "responses-over-messages",
      "responses-over-responses",
      "translators.ts",
    ],
    ["complete-reply.ts"],
    ["index.ts"],
  ],
  tasks: [
    ["error.ts", "items.ts", "json.ts"],
    ["markdown"],
    ["*"],
    ["connection", "rules", "ui-messages"],
    [
      "chats",
      "validator.ts",
      "task-writer.ts",
      "tree-writer.ts",
      "task-follower.ts",
      "task-store.ts",
    ],
    ["index.ts"],
  ],
  agent: [
    ["*"],
    ["blobs", "log", "redaction", "options", "patterns"],
    ["schemas"],
    ["tool.ts", "define-tool.ts", "agent.ts"],
    ["variables", "tool-groups", "mcp"],
    ["task"],
    ["model", "approvals"],
    ["calls"],
    ["run", "privacy", "cluster"],
    ["runtime.ts", "run-task.ts"],
    ["chats"],
    ["index.ts", "basics.ts"],
  ],
  store: [
    [
      "error.ts",
      "conversation-store.ts",
      "file-store.ts",
      "access-keys.ts",
      "access-key-rows.ts",
      "lesson-store.ts",
      "response-store.ts",
      "shared-secret-store.ts",
      "store.ts",
      "log-batch.ts",
      "retention-options.ts",
    ],
    ["bucket", "bus", "chats", "copy"],
    ["sqlite", "postgres"],
    ["*"],
  ],
  demo: [["*"]],
  gateway: [
    ["*"],
    ["config", "history", "reasoning"],
    ["learning"],
    ["configured-store.ts", "find-program.ts", "launch-program.ts", "migrate", "security"],
    ["upstream"],
    ["relay"],
    ["log.ts", "terminal.ts", "models", "passthrough"],
    ["codex", "tasks", "responses"],
    ["coding-agents", "media"],
    ["chats"],
    ["start-tasks.ts"],
    ["http"],
    ["gateway.ts"],
    ["cli", "index.ts"],
    ["main.ts"],
  ],
  web: [
    ["*"],
    ["messages"],
    ["text"],
    ["browser"],
    ["state"],
    ["hooks"],
    ["ui"],
    ["list", "markdown"],
    ["blocks"],
    ["approvals"],
    ["answer"],
    ["chat"],
    ["tree", "upstreams"],
    ["app"],
    ["main.tsx"],
  ],
};

/** Folders of the page that must not import React, even indirectly. */
const withoutReact = ["browser", "state"];

const sources = repositoryFiles(/^packages\/[^/]+\/src\/.*\.tsx?$/, "packages");

describe.each(Object.keys(folderOrder))("in packages/%s/src,", (name) => {
  const files = sources.filter(({ path }) => path.startsWith(`packages/${name}/src/`));

  test("every folder has a row and every row exists", () => {
    const entries = new Set(files.map(({ path }) => getEntry(path)));
    const folders = [...entries].filter((entry) => !isFile(entry));
    const namedEntries = (folderOrder[name] ?? []).flat().filter((entry) => entry !== "*");
    expect(namedEntries.filter((entry) => !isFile(entry)).toSorted()).toEqual(folders.toSorted());
    expect(namedEntries.filter((entry) => !entries.has(entry))).toEqual([]);
  });

  test("folders import only from rows above them", () => {
    expect(findImportsAgainstOrder(files)).toEqual([]);
  });

  test("files have no import cycles, including type imports", () => {
    expect(findCycles(files)).toEqual([]);
  });

  test("the order of folders is the one in docs/reference/folders.md", () => {
    const lines = readFileSync(join(root, "docs/reference/folders.md"), "utf8").split("\n");
    const matches = lines.filter((line) => line.startsWith(`- **${name}**: `));
    expect(matches).toEqual([describeOrder(name)]);
  });
});

test("every package has an order of its folders", () => {
  const packages = new Set(sources.map(({ path }) => getPackageFolder(path)));
  expect([...packages].toSorted()).toEqual(Object.keys(folderOrder).toSorted());
});

test("the state and connection of the page do not import React", () => {
  expect(findPathsToReact(sources)).toEqual([]);
});

test("the initial script of the page does not include the Markdown parser", () => {
  expect(findPathsToParser(sources)).toEqual([]);
});

describe("the checker finds", () => {
  const file = (path: string, text: string): RepositoryFile => {
    const [name, ...rest] = path.split("/");
    return { path: `packages/${name}/src/${rest.join("/")}`, text };
  };

  test("an import from a row below, including an import of types", () => {
    const files = [
      file("web/markdown/a.ts", `import type { A } from "../answer/b.ts";`),
      file("web/answer/b.ts", `import { a } from "../markdown/a.ts";`),
    ];
    expect(findImportsAgainstOrder(files)).toEqual(["web: markdown/a.ts imports answer/b.ts"]);
  });

  test("an import from another folder of the same row", () => {
    const files = [file("agent/model/a.ts", `import { b } from "../approvals/b.ts";`)];
    expect(findImportsAgainstOrder(files)).toHaveLength(1);
  });

  test("a root file that imports a folder below it", () => {
    const files = [
      file("gateway/gateway-error.ts", `export { b } from "./http/b.ts";`),
      file("gateway/gateway.ts", `const b = await import("./http/b.ts");`),
    ];
    expect(findImportsAgainstOrder(files)).toEqual(["gateway: gateway-error.ts imports http/b.ts"]);
  });

  test("an import cycle", () => {
    const files = [
      file("demo/a.ts", `import { b } from "./b.ts";`),
      file("demo/b.ts", `import type { C } from "./c.ts";`),
      file("demo/c.ts", `import { a } from "./a.ts";`),
      file("demo/d.ts", `import { a } from "./a.ts";`),
    ];
    expect(findCycles(files)).toEqual(["a.ts > b.ts > c.ts > a.ts"]);
  });

  test("an indirect import of React", () => {
    const files = [
      file("web/state/a.ts", `import { b } from "../messages/b.ts";`),
      file("web/messages/b.ts", `import { c } from "./c.ts";`),
      file("web/messages/c.ts", `import { useState } from "react";`),
    ];
    expect(findPathsToReact(files)).toEqual(["state/a.ts > messages/b.ts > messages/c.ts > react"]);
  });

  test("the Markdown parser in the initial script, unless it is loaded dynamically", () => {
    const parser = `import { markdownToText } from "@deltawire/tasks/markdown";`;
    const files = [
      file("web/main.tsx", `import "./app/a.ts";\nconst b = await import("./app/b.ts");`),
      file("web/app/a.ts", parser),
      file("web/app/b.ts", parser),
    ];
    expect(findPathsToParser(files)).toEqual(["main.tsx > app/a.ts > @deltawire/tasks/markdown"]);
  });
});

function findImportsAgainstOrder(files: readonly RepositoryFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    parseImports(text)
      .map(({ specifier }) => resolveTarget(path, specifier))
      .filter((target) => target.startsWith(getFolderPath(path)) && !canImport(path, target))
      .map(
        (target) =>
          `${getPackageFolder(path)}: ${shortenPath(path)} imports ${shortenPath(target)}`,
      ),
  );
}

function canImport(path: string, target: string): boolean {
  const [own, other] = [getEntry(path), getEntry(target)];
  if (own === other) return true;
  const [row, otherRow] = [findRow(path), findRow(target)];
  return otherRow < row || (otherRow === row && isFile(own) && isFile(other));
}

function findRow(path: string): number {
  const rows = folderOrder[getPackageFolder(path)] ?? [];
  const entry = getEntry(path);
  const row = rows.findIndex((names) => names.includes(entry));
  return row < 0 && isFile(entry) ? rows.findIndex((names) => names.includes("*")) : row;
}

/** Returns each cycle once, as a path. */
function findCycles(files: readonly RepositoryFile[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const done = new Set<string>();
  const search = (path: string, chain: readonly string[]): string[] => {
    const index = chain.indexOf(path);
    if (index >= 0) return [[...chain.slice(index), path].map(shortenPath).join(" > ")];
    const text = texts.get(path);
    if (text === undefined || done.has(path)) return [];
    const cycles = parseImports(text).flatMap(({ specifier }) =>
      search(resolveTarget(path, specifier), [...chain, path]),
    );
    done.add(path);
    return cycles;
  };
  return files.flatMap(({ path }) => search(path, []));
}

function findPathsToReact(files: readonly RepositoryFile[]): string[] {
  return findPaths(files, {
    isStart: (path) => withoutReact.includes(getEntry(path)),
    target: /^react(?:-dom)?(?:$|\/)/,
    matches: ({ isTypeOnly }) => !isTypeOnly,
  });
}

function findPathsToParser(files: readonly RepositoryFile[]): string[] {
  return findPaths(files, {
    isStart: (path) => getEntry(path) === "main.tsx",
    target: /^@deltawire\/tasks\/markdown$/,
    matches: ({ isTypeOnly, isDynamic }) => !isTypeOnly && !isDynamic,
  });
}

interface Search {
  isStart: (path: string) => boolean;
  target: RegExp;
  matches: (statement: ImportStatement) => boolean;
}

/** Returns the import chains of the page that lead to the target. */
function findPaths(
  files: readonly RepositoryFile[],
  { isStart, target, matches }: Search,
): string[] {
  const page = files.filter(({ path }) => getPackageFolder(path) === "web");
  const texts = new Map(page.map(({ path, text }) => [path, text]));
  const visited = new Set<string>();
  const search = (path: string, chain: readonly string[]): string[] => {
    if (target.test(path)) return [[...chain, path].join(" > ")];
    const text = texts.get(path);
    if (text === undefined || visited.has(path)) return [];
    visited.add(path);
    return parseImports(text)
      .filter(matches)
      .flatMap(({ specifier }) =>
        search(resolveTarget(path, specifier), [...chain, shortenPath(path)]),
      );
  };
  return page.filter(({ path }) => isStart(path)).flatMap(({ path }) => search(path, []));
}

/** Formats the order as in docs/reference/folders.md. */
function describeOrder(name: string): string {
  const rows = (folderOrder[name] ?? []).map((row) =>
    row.map((entry) => (entry === "*" ? "other files" : `\`${entry}\``)).join(", "),
  );
  return `- **${name}**: ${rows.join(" → ")}`;
}

function resolveTarget(path: string, from: string): string {
  return from.startsWith(".") ? posix.join(posix.dirname(path), from) : from;
}

/** Returns the folder below `src` that contains a file, or the root file itself. */
function getEntry(path: string): string {
  return shortenPath(path).split("/")[0] ?? "";
}

function isFile(entry: string): boolean {
  return entry.includes(".");
}

function shortenPath(path: string): string {
  return path.slice(getFolderPath(path).length);
}

function getFolderPath(path: string): string {
  return `packages/${getPackageFolder(path)}/src/`;
}

function getPackageFolder(path: string): string {
  return path.split("/")[1] ?? "";
}
