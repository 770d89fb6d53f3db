import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf, type Import } from "./imports-of.ts";
import { repositoryFiles, root, type RepositoryFile } from "./repository-files.ts";

/** The folders of a package's `src`, and files at its root. `*` stands for the files at the root that no row names. */
type Row = readonly string[];

/** Each folder imports only from rows above its own. Files at the root also import each other within a row. */
const order: Readonly<Record<string, readonly Row[]>> = {
  wire: [
    ["*"],
    ["shapes"],
    ["decode", "mapping", "tools", "collect.ts", "history.ts"],
    ["machine.ts"],
    ["sse"],
    ["reply-body.ts", "codex"],
    ["chat-upstream", "upstream-reply.ts"],
    ["responses-upstream", "responses-over-chat"],
    ["chat-over-chat", "chat-over-responses", "responses-over-responses"],
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
    ["log", "redaction", "options", "patterns"],
    ["schemas"],
    ["tool.ts", "define-tool.ts", "agent.ts"],
    ["variables", "groups", "mcp"],
    ["task"],
    ["model", "approvals"],
    ["calls"],
    ["run", "privacy"],
    ["runtime.ts", "run-task.ts"],
    ["chats"],
    ["index.ts"],
  ],
  store: [["error.ts", "files.ts", "store.ts"], ["sql"], ["chats"], ["*"]],
  demo: [["*"]],
  gateway: [
    ["*"],
    ["config", "history", "learning", "reasoning"],
    ["find-program.ts", "migrate", "security"],
    ["upstream"],
    ["relay"],
    ["log.ts", "terminal.ts", "models", "passthrough"],
    ["codex", "tasks"],
    ["media"],
    ["chats"],
    ["start-tasks.ts"],
    ["http"],
    ["gateway.ts"],
    ["cli", "index.ts"],
    ["main.ts"],
  ],
  web: [
    ["*"],
    ["words"],
    ["texts"],
    ["browser"],
    ["state"],
    ["hooks"],
    ["parts"],
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

/** Folders of the page from which no import leads to React. */
const withoutReact = ["browser", "state"];

const sources = repositoryFiles(/^packages\/[^/]+\/src\/.*\.tsx?$/, "packages");

describe.each(Object.keys(order))("%s", (name) => {
  const files = sources.filter(({ path }) => path.startsWith(`packages/${name}/src/`));

  test("every folder has its row, and every row is there", () => {
    const entries = new Set(files.map(({ path }) => entryOf(path)));
    const folders = [...entries].filter((entry) => !isFile(entry));
    const named = (order[name] ?? []).flat().filter((entry) => entry !== "*");
    expect(named.filter((entry) => !isFile(entry)).toSorted()).toEqual(folders.toSorted());
    expect(named.filter((entry) => !entries.has(entry))).toEqual([]);
  });

  test("folders import only from rows above their own", () => {
    expect(importsAgainstOrder(files)).toEqual([]);
  });

  test("files import each other in no circle, for types either", () => {
    expect(circles(files)).toEqual([]);
  });

  test("docs/architecture.md has the order", () => {
    const lines = readFileSync(join(root, "docs/architecture.md"), "utf8").split("\n");
    const line = lines.filter((one) => one.startsWith(`- **${name}**: `));
    expect(line).toEqual([orderInWords(name)]);
  });
});

test("every package has an order", () => {
  const packages = new Set(sources.map(({ path }) => packageOf(path)));
  expect([...packages].toSorted()).toEqual(Object.keys(order).toSorted());
});

test("the state of the page and its connection reach no React", () => {
  expect(waysToReact(sources)).toEqual([]);
});

test("the first script of the page does without the Markdown parser", () => {
  expect(waysToParser(sources)).toEqual([]);
});

describe("the checker finds", () => {
  const file = (path: string, text: string): RepositoryFile => {
    const [name, ...rest] = path.split("/");
    return { path: `packages/${name}/src/${rest.join("/")}`, text };
  };

  test("a folder that imports from a row below its own, types too", () => {
    const files = [
      file("web/markdown/a.ts", `import type { A } from "../answer/b.ts";`),
      file("web/answer/b.ts", `import { a } from "../markdown/a.ts";`),
    ];
    expect(importsAgainstOrder(files)).toEqual(["web: markdown/a.ts imports answer/b.ts"]);
  });

  test("a folder that imports from another one of its row", () => {
    const files = [file("agent/model/a.ts", `import { b } from "../approvals/b.ts";`)];
    expect(importsAgainstOrder(files)).toHaveLength(1);
  });

  test("a file at the root that imports a folder below it", () => {
    const files = [
      file("gateway/problem.ts", `export { b } from "./http/b.ts";`),
      file("gateway/gateway.ts", `const b = await import("./http/b.ts");`),
    ];
    expect(importsAgainstOrder(files)).toEqual(["gateway: problem.ts imports http/b.ts"]);
  });

  test("a circle of files", () => {
    const files = [
      file("demo/a.ts", `import { b } from "./b.ts";`),
      file("demo/b.ts", `import type { C } from "./c.ts";`),
      file("demo/c.ts", `import { a } from "./a.ts";`),
      file("demo/d.ts", `import { a } from "./a.ts";`),
    ];
    expect(circles(files)).toEqual(["a.ts > b.ts > c.ts > a.ts"]);
  });

  test("React behind another file", () => {
    const files = [
      file("web/state/a.ts", `import { b } from "../words/b.ts";`),
      file("web/words/b.ts", `import { c } from "./c.ts";`),
      file("web/words/c.ts", `import { useState } from "react";`),
    ];
    expect(waysToReact(files)).toEqual(["state/a.ts > words/b.ts > words/c.ts > react"]);
  });

  test("the Markdown parser in the first script, unless it is loaded later", () => {
    const parser = `import { plainText } from "@deltawire/tasks/markdown";`;
    const files = [
      file("web/main.tsx", `import "./app/a.ts";\nconst b = await import("./app/b.ts");`),
      file("web/app/a.ts", parser),
      file("web/app/b.ts", parser),
    ];
    expect(waysToParser(files)).toEqual(["main.tsx > app/a.ts > @deltawire/tasks/markdown"]);
  });
});

function importsAgainstOrder(files: readonly RepositoryFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    importsOf(text)
      .map(({ from }) => targetOf(path, from))
      .filter((target) => target.startsWith(homeOf(path)) && !mayImport(path, target))
      .map((target) => `${packageOf(path)}: ${shortOf(path)} imports ${shortOf(target)}`),
  );
}

function mayImport(path: string, target: string): boolean {
  const [own, other] = [entryOf(path), entryOf(target)];
  if (own === other) return true;
  const [row, otherRow] = [rowOf(path), rowOf(target)];
  return otherRow < row || (otherRow === row && isFile(own) && isFile(other));
}

function rowOf(path: string): number {
  const rows = order[packageOf(path)] ?? [];
  const entry = entryOf(path);
  const row = rows.findIndex((names) => names.includes(entry));
  return row < 0 && isFile(entry) ? rows.findIndex((names) => names.includes("*")) : row;
}

/** Each circle once, by the path that closes it. */
function circles(files: readonly RepositoryFile[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const done = new Set<string>();
  const from = (path: string, way: readonly string[]): string[] => {
    const at = way.indexOf(path);
    if (at >= 0) return [[...way.slice(at), path].map(shortOf).join(" > ")];
    const text = texts.get(path);
    if (text === undefined || done.has(path)) return [];
    const found = importsOf(text).flatMap((one) => from(targetOf(path, one.from), [...way, path]));
    done.add(path);
    return found;
  };
  return files.flatMap(({ path }) => from(path, []));
}

function waysToReact(files: readonly RepositoryFile[]): string[] {
  return waysFrom(files, {
    isStart: (path) => withoutReact.includes(entryOf(path)),
    target: /^react(?:-dom)?(?:$|\/)/,
    counts: ({ typesOnly }) => !typesOnly,
  });
}

function waysToParser(files: readonly RepositoryFile[]): string[] {
  return waysFrom(files, {
    isStart: (path) => entryOf(path) === "main.tsx",
    target: /^@deltawire\/tasks\/markdown$/,
    counts: ({ typesOnly, isDynamic }) => !typesOnly && !isDynamic,
  });
}

interface Search {
  isStart: (path: string) => boolean;
  target: RegExp;
  counts: (one: Import) => boolean;
}

/** Chains of imports of the page that lead to the target. */
function waysFrom(files: readonly RepositoryFile[], { isStart, target, counts }: Search): string[] {
  const page = files.filter(({ path }) => packageOf(path) === "web");
  const texts = new Map(page.map(({ path, text }) => [path, text]));
  const reached = new Set<string>();
  const from = (path: string, way: readonly string[]): string[] => {
    if (target.test(path)) return [[...way, path].join(" > ")];
    const text = texts.get(path);
    if (text === undefined || reached.has(path)) return [];
    reached.add(path);
    return importsOf(text)
      .filter(counts)
      .flatMap((one) => from(targetOf(path, one.from), [...way, shortOf(path)]));
  };
  return page.filter(({ path }) => isStart(path)).flatMap(({ path }) => from(path, []));
}

/** The line of docs/architecture.md. */
function orderInWords(name: string): string {
  const rows = (order[name] ?? []).map((row) =>
    row.map((entry) => (entry === "*" ? "other files" : `\`${entry}\``)).join(", "),
  );
  return `- **${name}**: ${rows.join(" → ")}`;
}

function targetOf(path: string, from: string): string {
  return from.startsWith(".") ? posix.join(posix.dirname(path), from) : from;
}

/** The folder below `src` that a file is in, or the file itself. */
function entryOf(path: string): string {
  return shortOf(path).split("/")[0] ?? "";
}

function isFile(entry: string): boolean {
  return entry.includes(".");
}

function shortOf(path: string): string {
  return path.slice(homeOf(path).length);
}

function homeOf(path: string): string {
  return `packages/${packageOf(path)}/src/`;
}

function packageOf(path: string): string {
  return path.split("/")[1] ?? "";
}
