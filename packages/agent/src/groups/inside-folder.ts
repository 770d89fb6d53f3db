import { constants } from "node:fs";
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { isInside, ProtectedFiles, type ProtectedPath } from "./protected-files.ts";

export interface Place {
  /** Where it really is. */
  real: string;
  /** As the model named it. */
  shown: string;
  /** From the folder to where it really is. */
  way: string;
  /** The last steps of it, which do not exist yet. */
  missing: string[];
}

/** A folder that is held open, so that nobody can put another in its place meanwhile. */
export interface HeldFolder {
  /** What its entries are reached by: `${base}/${name}`. */
  readonly base: string;
  /** Where it really is. */
  readonly path: string;
  close(): Promise<void>;
}

// Windows has neither.
const noFollow = constants.O_NOFOLLOW ?? 0;
const directory = constants.O_DIRECTORY ?? 0;

/**
 * Paths as a model gives them, within one folder and never out of it: not by `..`, not by an absolute path, not by a
 * link, and not by a link that appears between the check and the use. For that a file is opened through its folder,
 * which is held open and of which the system itself says where it is; beside Linux, where the system does not say it,
 * the path is looked at once more instead.
 */
export class InsideFolder {
  readonly #folder: string;
  /** Files that tools cannot access, even inside the folder. */
  readonly protectedFiles: ProtectedFiles;

  constructor(folder: string, exclude: readonly ProtectedPath[] = []) {
    this.#folder = resolve(folder);
    this.protectedFiles = new ProtectedFiles(exclude);
  }

  async root(): Promise<string> {
    try {
      return await realpath(this.#folder);
    } catch (cause) {
      throw new Error("the folder of this tool group does not exist", { cause });
    }
  }

  /** The real path of what is there, links followed; or what the path will be once its folders are made. */
  async locate(path: string): Promise<Place> {
    const root = await this.root();
    const wanted = this.#lexical(root, path);
    const missing: string[] = [];
    let existing = wanted;
    let real = await realpathOf(existing);
    while (real === undefined) {
      if ((await kindOf(existing)) === "link")
        throw new Error(`${shownPath(root, existing)} is a link that leads nowhere`);
      missing.unshift(basename(existing));
      existing = dirname(existing);
      real = await realpathOf(existing);
    }
    if (!isInside(root, real)) throw new Error(outside(path));
    const place = join(real, ...missing);
    if (this.protectedFiles.covers(place)) throw new Error(notForTools(shownPath(root, wanted)));
    return { real: place, shown: shownPath(root, wanted), way: shownPath(root, place), missing };
  }

  /** An open regular file, for reading. */
  async openFile(path: string): Promise<{ file: FileHandle; size: number; shown: string }> {
    const { real, shown, missing } = await this.locate(path);
    if (missing.length > 0) throw new Error(`${shown} does not exist`);
    if (real === (await this.root())) throw new Error(`${shown} is a folder`);
    const folder = await this.hold(dirname(real));
    try {
      // Without O_NONBLOCK a named pipe would be waited for.
      const flags = constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0);
      const file = await open(join(folder.base, basename(real)), flags).catch((error: unknown) => {
        throw readable(error, shown);
      });
      const stat = await file.stat({ bigint: true });
      const isLinked = stat.isFile() && this.protectedFiles.isLinked(stat);
      if (stat.isFile() && !isLinked) return { file, size: Number(stat.size), shown };
      await file.close();
      if (isLinked) throw new Error(notForTools(shown));
      throw new Error(stat.isDirectory() ? `${shown} is a folder` : `${shown} is no regular file`);
    } finally {
      await folder.close();
    }
  }

  /** What of a folder is excluded, seen from it, with slashes. */
  excludedIn(real: string): string[] {
    return this.protectedFiles
      .paths()
      .filter((path) => isInside(real, path))
      .map((path) => shownPath(real, path));
  }

  async isFolder(real: string): Promise<boolean> {
    return (await lstat(real)).isDirectory();
  }

  /** Holds a folder by its real path. */
  async hold(real: string): Promise<HeldFolder> {
    const root = await this.root();
    if (process.platform !== "linux") {
      if ((await realpathOf(real)) !== real || !isInside(root, real))
        throw new Error(outside(real));
      return { base: real, path: real, close: async () => {} };
    }
    const handle = await open(real, constants.O_RDONLY | directory | noFollow).catch(
      (error: unknown) => {
        throw readable(error, shownPath(root, real));
      },
    );
    try {
      const base = `/proc/self/fd/${handle.fd}`;
      const path = await readlink(base);
      if (!isInside(root, path)) throw new Error(outside(shownPath(root, real)));
      return { base, path, close: () => handle.close() };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Holds the folder in which `path` is or will be, and makes the folders that are missing. */
  async holdParent(path: string): Promise<{ folder: HeldFolder; name: string; shown: string }> {
    const { real, shown, missing } = await this.locate(path);
    if (real === (await this.root())) throw new Error(`${shown} is a folder`);
    const newFolders = missing.slice(0, -1);
    let at = dirname(real);
    for (const _ of newFolders) at = dirname(at);
    let folder = await this.hold(at);
    for (const name of newFolders) {
      const outer = folder;
      try {
        await mkdir(join(outer.base, name)).catch((error: unknown) => {
          if (codeOf(error) !== "EEXIST") throw readable(error, shown);
        });
        at = join(at, name);
        folder = await this.hold(at);
      } finally {
        await outer.close();
      }
    }
    return { folder, name: basename(real), shown };
  }

  #lexical(root: string, path: string): string {
    if (path.includes("\0")) throw new Error("a path cannot have a NUL character");
    if (path.length > 4096) throw new Error("the path is too long");
    const steps = path.split(sep === "\\" ? /[\\/]/ : "/");
    if (steps.includes("..")) throw new Error(outside(path));
    if (!isAbsolute(path)) return resolve(root, path);
    const wanted = resolve(path);
    if (isInside(root, wanted)) return wanted;
    // The folder may itself be named through a link.
    if (isInside(this.#folder, wanted)) return join(root, relative(this.#folder, wanted));
    throw new Error(outside(path));
  }
}

/** What the system's error means, in words for the model. */
export function readable(error: unknown, shown: string): Error {
  const code = codeOf(error);
  const words = code === undefined ? undefined : meanings[code];
  return new Error(words === undefined ? `${shown}: ${String(error)}` : `${shown} ${words}`, {
    cause: error,
  });
}

const meanings: Record<string, string> = {
  ENOENT: "does not exist",
  ENOTDIR: "is not in a folder",
  EISDIR: "is a folder",
  ELOOP: "is a link, which is not followed here",
  EMLINK: "is a link, which is not followed here",
  EACCES: "may not be opened",
  EPERM: "may not be changed",
  EROFS: "cannot be written to",
  ENOSPC: "cannot be written: the disk is full",
  ENAMETOOLONG: "is too long a name",
  ENXIO: "is no regular file",
};

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

function notForTools(shown: string): string {
  return `${shown} is kept from this tool group`;
}

function outside(path: string): string {
  return `${JSON.stringify(path)} is outside of the folder: give a path relative to it, without ..`;
}

/** As the model names it: from the folder, with slashes. */
function shownPath(root: string, path: string): string {
  const way = relative(root, path).split(sep).join("/");
  return way === "" ? "." : way;
}

async function realpathOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw readable(error, basename(path));
  }
}

async function kindOf(path: string): Promise<"link" | "other" | "none"> {
  try {
    return (await lstat(path)).isSymbolicLink() ? "link" : "other";
  } catch {
    return "none";
  }
}
