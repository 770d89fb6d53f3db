import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, readable, type InsideFolder } from "./inside-folder.ts";

const fileModeMask = 0o777;

/**
 * Puts a whole new file in the place of the old one, so that a crash leaves the one or the other and never half of one.
 * It replaces a name in a held folder and so writes through no link.
 */
export async function replaceFile(
  inside: InsideFolder,
  path: string,
  content: string,
): Promise<{ shown: string; existed: boolean }> {
  const { folder, name, shown } = await inside.holdParent(path);
  const temporary = join(folder.base, `.${randomBytes(9).toString("base64url")}.tmp`);
  const target = join(folder.base, name);
  try {
    const mode = await modeOf(target, shown);
    const flags =
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
    const file = await open(temporary, flags);
    try {
      await file.writeFile(content, "utf8");
      if (mode !== undefined) await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
    return { shown, existed: mode !== undefined };
  } catch (error) {
    await unlink(temporary).catch(() => {}); // there may be none
    throw codeOf(error) === undefined ? error : readable(error, shown);
  } finally {
    await folder.close();
  }
}

async function modeOf(target: string, shown: string): Promise<number | undefined> {
  try {
    const stat = await lstat(target);
    if (stat.isDirectory()) throw new Error(`${shown} is a folder`);
    if (!stat.isFile()) throw new Error(`${shown} is no regular file`);
    return stat.mode & fileModeMask;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
