import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf } from "./imports-of.ts";
import { repositoryFiles, type RepositoryFile } from "./repository-files.ts";

const home = "packages/web/src/";

/** The folders of the page: each imports only from its own row and those before it. */
const rows = [
  ["words", "texts"],
  ["gateway", "state"],
  ["hooks"],
  ["parts"],
  ["markdown"],
  ["blocks"],
  ["approvals"],
  ["answer"],
  ["list"],
  ["chat"],
  ["tree", "upstreams"],
  ["app"],
];

const withoutReact = ["gateway", "state"];

const page = repositoryFiles(/\.tsx?$/, "packages/web/src");

test("every folder of the page has its row", () => {
  const folders = new Set(page.flatMap(({ path }) => folderOf(path) ?? []));
  expect([...folders].toSorted()).toEqual(rows.flat().toSorted());
});

test("the folders of the page import one another in one direction", () => {
  expect(importsAgainstTheRows(page)).toEqual([]);
});

test("what the page knows, and its rim, reach no React", () => {
  expect(waysToReact(page)).toEqual([]);
});

describe("the checker finds", () => {
  const file = (path: string, text: string) => ({ path: home + path, text });

  test("a folder that imports from one behind it, types too", () => {
    const files = [
      file("markdown/a.ts", `import type { A } from "../answer/b.ts";`),
      file("answer/b.ts", `import { a } from "../markdown/a.ts";`),
    ];
    expect(importsAgainstTheRows(files)).toEqual(["markdown/a.ts: ../answer/b.ts"]);
  });

  test("React behind another file", () => {
    const files = [
      file("state/a.ts", `import { b } from "../words/b.ts";`),
      file("words/b.ts", `import { c } from "./c.ts";`),
      file("words/c.ts", `import { useState } from "react";`),
    ];
    expect(waysToReact(files)).toEqual(["state/a.ts > words/b.ts > words/c.ts > react"]);
  });
});

function importsAgainstTheRows(files: readonly RepositoryFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    importsOf(text)
      .filter(({ from }) => rowOf(targetOf(path, from)) > rowOf(path))
      .map(({ from }) => `${path.slice(home.length)}: ${from}`),
  );
}

/** What stands in no folder imports nothing of them, but for `main.tsx`, which puts all together. */
function rowOf(path: string): number {
  const folder = folderOf(path);
  if (folder !== undefined) return rows.findIndex((row) => row.includes(folder));
  return path === `${home}main.tsx` ? rows.length : -1;
}

function waysToReact(files: readonly RepositoryFile[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const reached = new Set<string>();
  const from = (path: string, way: readonly string[]): string[] => {
    if (/^react(?:-dom)?(?:$|\/)/.test(path)) return [[...way, path].join(" > ")];
    const text = texts.get(path);
    if (text === undefined || reached.has(path)) return [];
    reached.add(path);
    return importsOf(text)
      .filter(({ typesOnly }) => !typesOnly)
      .flatMap((one) => from(targetOf(path, one.from), [...way, path.slice(home.length)]));
  };
  return files
    .filter(({ path }) => withoutReact.includes(folderOf(path) ?? ""))
    .flatMap(({ path }) => from(path, []));
}

function targetOf(path: string, from: string): string {
  return from.startsWith(".") ? posix.join(posix.dirname(path), from) : from;
}

function folderOf(path: string): string | undefined {
  if (!path.startsWith(home)) return undefined;
  const [folder, ...rest] = path.slice(home.length).split("/");
  return rest.length === 0 ? undefined : folder;
}
