import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { getFileErrorCode, toFileError, type SandboxedFolder } from "./sandboxed-folder.ts";

const fileModeMask = 0o777;

/**
 * Replaces a file atomically: after a crash there is either the old or the new file, never a partial one. Renames within
 * an open folder, so that no link is followed.
 */
export async function replaceFileAtomic(
  sandbox: SandboxedFolder,
  path: string,
  content: string,
): Promise<{ displayPath: string; existed: boolean }> {
  const { folder, name, displayPath } = await sandbox.openParent(path);
  const temporaryPath = join(folder.basePath, `.${randomBytes(9).toString("base64url")}.tmp`);
  const targetPath = join(folder.basePath, name);
  try {
    const mode = await readFileMode(targetPath, displayPath);
    const flags =
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
    const file = await open(temporaryPath, flags);
    try {
      await file.writeFile(content, "utf8");
      if (mode !== undefined) await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporaryPath, targetPath);
    return { displayPath, existed: mode !== undefined };
  } catch (error) {
    await unlink(temporaryPath).catch(() => {}); // it may not exist
    throw getFileErrorCode(error) === undefined ? error : toFileError(error, displayPath);
  } finally {
    await folder.close();
  }
}

async function readFileMode(targetPath: string, displayPath: string): Promise<number | undefined> {
  try {
    const stat = await lstat(targetPath);
    if (stat.isDirectory()) throw new Error(`${displayPath} is a folder`);
    if (!stat.isFile()) throw new Error(`${displayPath} is not a regular file`);
    return stat.mode & fileModeMask;
  } catch (error) {
    if (getFileErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
