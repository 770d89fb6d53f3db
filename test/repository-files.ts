import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

export const root = dirname(import.meta.dirname);

export type RepositoryFile = { path: string; text: string };

/** Returns the path and text of each file below `folder` that matches and that git does not ignore. */
export function repositoryFiles(matching: RegExp, folder = "."): RepositoryFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !ignored.has(entry.name))
    .flatMap((entry) => {
      const path = relative(root, join(root, folder, entry.name))
        .split(sep)
        .join("/");
      if (ignored.has(path)) return [];
      if (entry.isDirectory()) return repositoryFiles(matching, path);
      return matching.test(path) ? [{ path, text: readFileSync(join(root, path), "utf8") }] : [];
    });
}

export function readRepositoryJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), "utf8")) as T;
}

const ignored = new Set([
  ".git",
  ...readFileSync(join(root, ".gitignore"), "utf8")
    .split("\n")
    .map((line) => line.replace(/\/$/, "")),
]);
