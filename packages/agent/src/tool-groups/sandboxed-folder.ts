import { constants } from "node:fs";
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { isPathInside, ProtectedFiles, type ProtectedPath } from "./protected-files.ts";

export interface ResolvedPath {
  /** The absolute path with links resolved. */
  realPath: string;
  /** The path as the model named it, relative to the folder. */
  displayPath: string;
  /** `realPath` relative to the folder. */
  relativePath: string;
  /** The last segments of the path, which do not exist yet. */
  missingSegments: string[];
}

/** A folder with an open handle, so that it cannot be replaced by another one. */
export interface OpenFolder {
  /** Path for accessing its entries: `${basePath}/${name}`. */
  readonly basePath: string;
  /** The absolute path with links resolved. */
  readonly realPath: string;
  close(): Promise<void>;
}

// Windows has neither flag.
const noFollowFlag = constants.O_NOFOLLOW ?? 0;
const directoryFlag = constants.O_DIRECTORY ?? 0;

/**
 * Resolves paths from a model within one folder. Paths cannot leave the folder: not by `..`, not as an absolute path, not
 * through a link, and not through a link created between check and use. To prevent the latter, a file is opened through
 * a handle of its folder, whose real path Linux reports; on other systems the path is checked once more instead.
 */
export class SandboxedFolder {
  readonly #folder: string;
  /** Files that tools cannot access, even inside the folder. */
  readonly protectedFiles: ProtectedFiles;

  constructor(folder: string, exclude: readonly ProtectedPath[] = []) {
    this.#folder = resolve(folder);
    this.protectedFiles = new ProtectedFiles(exclude);
  }

  async resolveRoot(): Promise<string> {
    try {
      return await realpath(this.#folder);
    } catch (cause) {
      throw new Error("the folder configured for this tool group does not exist", { cause });
    }
  }

  /** Resolves links. The last segments of the path need not exist. Throws if the path leaves the folder or is protected. */
  async resolvePath(path: string): Promise<ResolvedPath> {
    const root = await this.resolveRoot();
    const requestedPath = this.#resolveLexically(root, path);
    const missingSegments: string[] = [];
    let existingPath = requestedPath;
    let realPath = await tryRealpath(existingPath);
    while (realPath === undefined) {
      if ((await getEntryKind(existingPath)) === "link")
        throw new Error(`${toDisplayPath(root, existingPath)} is a broken link`);
      missingSegments.unshift(basename(existingPath));
      existingPath = dirname(existingPath);
      realPath = await tryRealpath(existingPath);
    }
    if (!isPathInside(root, realPath)) throw new Error(formatOutsidePath(path));
    const targetPath = join(realPath, ...missingSegments);
    if (this.protectedFiles.isProtectedPath(targetPath))
      throw new Error(formatProtectedPath(toDisplayPath(root, requestedPath)));
    return {
      realPath: targetPath,
      displayPath: toDisplayPath(root, requestedPath),
      relativePath: toDisplayPath(root, targetPath),
      missingSegments,
    };
  }

  /** Opens a regular file for reading. */
  async openFile(path: string): Promise<{ file: FileHandle; size: number; displayPath: string }> {
    const { realPath, displayPath, missingSegments } = await this.resolvePath(path);
    if (missingSegments.length > 0) throw new Error(`${displayPath} does not exist`);
    if (realPath === (await this.resolveRoot())) throw new Error(`${displayPath} is a folder`);
    const folder = await this.openFolder(dirname(realPath));
    try {
      // Without O_NONBLOCK opening a named pipe would block.
      const flags = constants.O_RDONLY | noFollowFlag | (constants.O_NONBLOCK ?? 0);
      const file = await open(join(folder.basePath, basename(realPath)), flags).catch(
        (error: unknown) => {
          throw toFileError(error, displayPath);
        },
      );
      const stat = await file.stat({ bigint: true });
      const isProtectedLink = stat.isFile() && this.protectedFiles.isHardLinkToProtected(stat);
      if (stat.isFile() && !isProtectedLink) return { file, size: Number(stat.size), displayPath };
      await file.close();
      if (isProtectedLink) throw new Error(formatProtectedPath(displayPath));
      throw new Error(
        stat.isDirectory() ? `${displayPath} is a folder` : `${displayPath} is not a regular file`,
      );
    } finally {
      await folder.close();
    }
  }

  /** Returns the protected paths below a folder, relative to it, with slashes. */
  listExcluded(realPath: string): string[] {
    return this.protectedFiles
      .resolvePaths()
      .filter((path) => isPathInside(realPath, path))
      .map((path) => toDisplayPath(realPath, path));
  }

  async isFolder(realPath: string): Promise<boolean> {
    return (await lstat(realPath)).isDirectory();
  }

  /** Opens a folder by its real path. */
  async openFolder(realPath: string): Promise<OpenFolder> {
    const root = await this.resolveRoot();
    if (process.platform !== "linux") {
      if ((await tryRealpath(realPath)) !== realPath || !isPathInside(root, realPath))
        throw new Error(formatOutsidePath(realPath));
      return { basePath: realPath, realPath, close: async () => {} };
    }
    const handle = await open(realPath, constants.O_RDONLY | directoryFlag | noFollowFlag).catch(
      (error: unknown) => {
        throw toFileError(error, toDisplayPath(root, realPath));
      },
    );
    try {
      const basePath = `/proc/self/fd/${handle.fd}`;
      const realPath = await readlink(basePath);
      if (!isPathInside(root, realPath))
        throw new Error(formatOutsidePath(toDisplayPath(root, realPath)));
      return { basePath, realPath, close: () => handle.close() };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Opens the parent folder of `path`, creating missing folders. */
  async openParent(
    path: string,
  ): Promise<{ folder: OpenFolder; name: string; displayPath: string }> {
    const { realPath, displayPath, missingSegments } = await this.resolvePath(path);
    if (realPath === (await this.resolveRoot())) throw new Error(`${displayPath} is a folder`);
    const newFolders = missingSegments.slice(0, -1);
    let currentPath = dirname(realPath);
    for (const _ of newFolders) currentPath = dirname(currentPath);
    let folder = await this.openFolder(currentPath);
    for (const name of newFolders) {
      const parentFolder = folder;
      try {
        await mkdir(join(parentFolder.basePath, name)).catch((error: unknown) => {
          if (getFileErrorCode(error) !== "EEXIST") throw toFileError(error, displayPath);
        });
        currentPath = join(currentPath, name);
        folder = await this.openFolder(currentPath);
      } finally {
        await parentFolder.close();
      }
    }
    return { folder, name: basename(realPath), displayPath };
  }

  #resolveLexically(root: string, path: string): string {
    if (path.includes("\0")) throw new Error("a path must not contain a NUL character");
    if (path.length > 4096) throw new Error("the path is too long");
    const segments = path.split(sep === "\\" ? /[\\/]/ : "/");
    if (segments.includes("..")) throw new Error(formatOutsidePath(path));
    if (!isAbsolute(path)) return resolve(root, path);
    const requestedPath = resolve(path);
    if (isPathInside(root, requestedPath)) return requestedPath;
    // The configured folder may be a link.
    if (isPathInside(this.#folder, requestedPath))
      return join(root, relative(this.#folder, requestedPath));
    throw new Error(formatOutsidePath(path));
  }
}

/** Converts a system error to one with a message for the model. */
export function toFileError(error: unknown, displayPath: string): Error {
  const code = getFileErrorCode(error);
  const description = code === undefined ? undefined : errorDescriptions[code];
  return new Error(
    description === undefined
      ? `${displayPath}: ${String(error)}`
      : `${displayPath} ${description}`,
    {
      cause: error,
    },
  );
}

const errorDescriptions: Record<string, string> = {
  ENOENT: "does not exist",
  ENOTDIR: "has a parent that is not a folder",
  EISDIR: "is a folder",
  ELOOP: "is a link, and links are not followed here",
  EMLINK: "is a link, and links are not followed here",
  EACCES: "cannot be opened: permission denied",
  EPERM: "cannot be changed: operation not permitted",
  EROFS: "cannot be written: the file system is read-only",
  ENOSPC: "cannot be written: the disk is full",
  ENAMETOOLONG: "has a name that is too long",
  ENXIO: "is not a regular file",
};

export function getFileErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

function formatProtectedPath(displayPath: string): string {
  return `${displayPath} is protected from this tool group`;
}

function formatOutsidePath(path: string): string {
  return `${JSON.stringify(path)} is outside of the folder; use a path relative to it, without ..`;
}

/** Returns a path relative to the folder, with slashes. */
function toDisplayPath(root: string, path: string): string {
  const relativePath = relative(root, path).split(sep).join("/");
  return relativePath === "" ? "." : relativePath;
}

async function tryRealpath(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    const code = getFileErrorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw toFileError(error, basename(path));
  }
}

async function getEntryKind(path: string): Promise<"link" | "other" | "none"> {
  try {
    return (await lstat(path)).isSymbolicLink() ? "link" : "other";
  } catch {
    return "none";
  }
}
