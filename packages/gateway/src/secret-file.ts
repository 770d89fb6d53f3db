import { randomBytes } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/** Returns the content of a file, which only its owner can read afterwards. Undefined if it does not exist. */
export function readSecretFile(file: string): Buffer | undefined {
  try {
    // A copied file may have wider permissions.
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Creates a file that only its owner can read, and its folder. An existing file is not changed. */
export function createSecretFile(file: string, content: string | Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // Written to a temporary file and linked: if two gateways start at once, both use the same secret, and neither reads a partial file.
  const temporaryFile = `${file}.${randomBytes(6).toString("hex")}`;
  writeFileSync(temporaryFile, content, { mode: 0o600, flag: "wx" });
  try {
    linkSync(temporaryFile, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(temporaryFile, { force: true });
  }
}
