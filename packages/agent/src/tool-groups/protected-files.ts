import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/** A path and everything below it, or all paths with a prefix: `deltawire.db-v` matches all backups. */
export type ProtectedPath = string | { readonly startsWith: string };

/** Identifies a file regardless of its name. */
export interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: bigint;
}

/** Files that tools must not access, neither by path nor through a hard link. */
export class ProtectedFiles {
  readonly #paths: readonly ProtectedPath[];

  constructor(paths: readonly ProtectedPath[] = []) {
    this.#paths = paths;
  }

  /** Returns the real paths of the files that exist, and the configured paths of those that do not. */
  resolvePaths(): string[] {
    return this.#paths.flatMap((path) => {
      if (typeof path === "string") return [tryRealpathSync(path) ?? path];
      const prefix = resolvePrefix(path.startsWith);
      return listNames(dirname(prefix))
        .filter((name) => name.startsWith(basename(prefix)))
        .map((name) => join(dirname(prefix), name));
    });
  }

  /** `realPath` has its links resolved. Its last segments need not exist. */
  isProtectedPath(realPath: string): boolean {
    return (
      this.resolvePaths().some((path) => isPathInside(path, realPath)) ||
      this.#paths.some(
        (path) => typeof path !== "string" && realPath.startsWith(resolvePrefix(path.startsWith)),
      )
    );
  }

  /** True if the file is a hard link to a protected file. Fast for files without other links. */
  isHardLinkToProtected(file: FileIdentity): boolean {
    return file.nlink > 1n && this.listIdentities().includes(formatFileIdentity(file));
  }

  /** Returns the `formatFileIdentity` of each protected file. Files in a protected folder are only recognized by path. */
  listIdentities(): string[] {
    return this.resolvePaths().flatMap((path) => {
      const file = statSync(path, { bigint: true, throwIfNoEntry: false });
      return file?.isFile() === true ? [formatFileIdentity(file)] : [];
    });
  }
}

export function formatFileIdentity({ dev, ino }: Pick<FileIdentity, "dev" | "ino">): string {
  return `${dev}:${ino}`;
}

/** True if a path, with links resolved, is inside a folder and not a protected file. The path need not exist. */
export function isAccessiblePath(folder: string, path: string, files: ProtectedFiles): boolean {
  try {
    const root = realpathSync(folder);
    let existingPath = resolve(root, path);
    while (lstatSync(existingPath, { throwIfNoEntry: false }) === undefined)
      existingPath = dirname(existingPath);
    // Throws for a broken link.
    const realPath = realpathSync(existingPath);
    if (!isPathInside(root, realPath) || files.isProtectedPath(realPath)) return false;
    return !files.isHardLinkToProtected(statSync(realPath, { bigint: true }));
  } catch {
    return false;
  }
}

export function isPathInside(root: string, path: string): boolean {
  const relativePath = relative(root, path);
  return (
    relativePath === "" ||
    (relativePath !== ".." && !relativePath.startsWith(`..${sep}`) && !isAbsolute(relativePath))
  );
}

function resolvePrefix(prefix: string): string {
  return join(tryRealpathSync(dirname(prefix)) ?? dirname(prefix), basename(prefix));
}

function tryRealpathSync(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
