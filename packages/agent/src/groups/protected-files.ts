import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/** A path and all below it, or all paths that begin with one: `deltawire.db-v` has every backup. */
export type ProtectedPath = string | { readonly startsWith: string };

/** A file, however it is named. */
export interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: bigint;
}

/** Files that no tool may reach, by their paths or through a hard link. */
export class ProtectedFiles {
  readonly #paths: readonly ProtectedPath[];

  constructor(paths: readonly ProtectedPath[] = []) {
    this.#paths = paths;
  }

  /** Real paths of those that are there, and the others as they are named. */
  paths(): string[] {
    return this.#paths.flatMap((path) => {
      if (typeof path === "string") return [realPath(path) ?? path];
      const start = realStart(path.startsWith);
      return namesIn(dirname(start))
        .filter((name) => name.startsWith(basename(start)))
        .map((name) => join(dirname(start), name));
    });
  }

  /** `real`: a real path, whose last steps need not exist. */
  covers(real: string): boolean {
    return (
      this.paths().some((path) => isInside(path, real)) ||
      this.#paths.some(
        (path) => typeof path !== "string" && real.startsWith(realStart(path.startsWith)),
      )
    );
  }

  /** True if the file is one of them under another name. Of a file with one name that is known at once. */
  isLinked(file: FileIdentity): boolean {
    return file.nlink > 1n && this.identities().includes(identityOf(file));
  }

  /** `identityOf` each protected file. Files within a protected folder are recognised by their path only. */
  identities(): string[] {
    return this.paths().flatMap((path) => {
      const file = statSync(path, { bigint: true, throwIfNoEntry: false });
      return file?.isFile() === true ? [identityOf(file)] : [];
    });
  }
}

export function identityOf({ dev, ino }: Pick<FileIdentity, "dev" | "ino">): string {
  return `${dev}:${ino}`;
}

/** True if a path is in a folder, links followed, and leads to no protected file. It need not exist. */
export function isFreePath(folder: string, path: string, files: ProtectedFiles): boolean {
  try {
    const root = realpathSync(folder);
    let existing = resolve(root, path);
    while (lstatSync(existing, { throwIfNoEntry: false }) === undefined)
      existing = dirname(existing);
    // A link that leads nowhere throws.
    const real = realpathSync(existing);
    if (!isInside(root, real) || files.covers(real)) return false;
    return !files.isLinked(statSync(real, { bigint: true }));
  } catch {
    return false;
  }
}

export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function realStart(start: string): string {
  return join(realPath(dirname(start)) ?? dirname(start), basename(start));
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
