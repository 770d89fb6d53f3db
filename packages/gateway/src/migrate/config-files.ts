import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { listConfigPaths, type HostEnvironment } from "../config/config-paths.ts";
import { getVariable, type EnvironmentVariables } from "../config/secret.ts";
import { MigrationError } from "./migration-error.ts";

/** Returns the path of the Codex configuration. */
export function getCodexConfigPath(env: EnvironmentVariables, home: string): string {
  return join(getVariable("CODEX_HOME", env) ?? join(home, ".codex"), "config.toml");
}

/** Returns the path of the gateway's configuration in the user's folder: the existing one, else the first search path. */
export function findGatewayConfigPath(host: HostEnvironment): string {
  const [, ...searchPaths] = listConfigPaths(host);
  return searchPaths.find(pathExists) ?? searchPaths[0] ?? "deltawire.toml";
}

/** Returns undefined if the file does not exist. Throws a MigrationError if it is not UTF-8. */
export function readIfExists(file: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if (getErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  // Writing a file with another encoding back would change it.
  if (!isUtf8(bytes)) throw new MigrationError(`${file} must be UTF-8`);
  return bytes.toString("utf8");
}

/**
 * Copies the file under a new name in the same folder, and returns the path of the copy. Older backups are not overwritten. Only
 * the owner can read the backup, because it may contain keys that the new file no longer has.
 */
export function createBackup(file: string): string {
  for (let count = 1; ; count += 1) {
    const backup = `${file}.before-deltawire${count === 1 ? "" : `-${count}`}`;
    try {
      copyFileSync(file, backup, constants.COPYFILE_EXCL);
    } catch (error) {
      if (getErrorCode(error) === "EEXIST") continue;
      throw error;
    }
    chmodSync(backup, 0o600);
    return backup;
  }
}

/** Writes a file atomically, and follows symbolic links. Mode and owner are preserved; only the owner can read a new file. */
export function writeFileAtomic(file: string, text: string): void {
  const target = pathExists(file) ? realpathSync(file) : file;
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const oldStats = pathExists(target) ? statSync(target) : undefined;
  const temporaryFile = join(
    dirname(target),
    `.${basename(target)}.${randomBytes(6).toString("hex")}`,
  );
  try {
    const descriptor = openSync(temporaryFile, "wx", 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (oldStats !== undefined) {
      preserveOwner(temporaryFile, oldStats.uid, oldStats.gid);
      chmodSync(temporaryFile, oldStats.mode & 0o7777);
    }
    renameSync(temporaryFile, target);
  } finally {
    rmSync(temporaryFile, { force: true });
  }
}

function pathExists(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

function preserveOwner(file: string, uid: number, gid: number): void {
  try {
    chownSync(file, uid, gid);
  } catch (error) {
    // Only root can change the owner; other users own the file already.
    if (getErrorCode(error) !== "EPERM") throw error;
  }
}

function getErrorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
