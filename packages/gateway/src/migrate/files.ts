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
import { configPlaces, type World } from "../config/find.ts";
import { variableValue, type Environment } from "../config/secret.ts";
import { MigrationError } from "./problem.ts";

/** Codex's own configuration. */
export function codexConfigFile(env: Environment, home: string): string {
  return join(variableValue("CODEX_HOME", env) ?? join(home, ".codex"), "config.toml");
}

/** The gateway's configuration in the user's config folder: the one that is there, or where it would be looked for. */
export function gatewayConfigFile(world: World): string {
  const [, ...places] = configPlaces(world);
  return places.find(isThere) ?? places[0] ?? "deltawire.toml";
}

/** Undefined if there is none. */
export function readIfThere(file: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  // What is not UTF-8 would come back changed.
  if (!isUtf8(bytes)) throw new MigrationError(`${file} is not UTF-8, as TOML has to be`);
  return bytes.toString("utf8");
}

/**
 * A copy beside the file, under a name that was not taken: an older backup may hold what a newer one has lost. Only
 * its owner may read it, for it has the keys that the new file no longer has.
 */
export function backUp(file: string): string {
  for (let count = 1; ; count += 1) {
    const backup = `${file}.before-deltawire${count === 1 ? "" : `-${count}`}`;
    try {
      copyFileSync(file, backup, constants.COPYFILE_EXCL);
    } catch (error) {
      if (codeOf(error) === "EEXIST") continue;
      throw error;
    }
    chmodSync(backup, 0o600);
    return backup;
  }
}

/** All of it or nothing, through symbolic links; mode and owner stay. A new file can be read by its owner only. */
export function writeWhole(file: string, text: string): void {
  const target = isThere(file) ? realpathSync(file) : file;
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const old = isThere(target) ? statSync(target) : undefined;
  const aside = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString("hex")}`);
  try {
    const descriptor = openSync(aside, "wx", 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (old !== undefined) {
      keepOwner(aside, old.uid, old.gid);
      chmodSync(aside, old.mode & 0o7777);
    }
    renameSync(aside, target);
  } finally {
    rmSync(aside, { force: true });
  }
}

function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

function keepOwner(file: string, uid: number, gid: number): void {
  try {
    chownSync(file, uid, gid);
  } catch (error) {
    // Only root can give a file away, and only root has to.
    if (codeOf(error) !== "EPERM") throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
