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
import { join } from "node:path";

const keyLength = 32;

/** The sealing key: made at the first start, kept where only its owner can read it. */
export function sealingKey(folder: string): Buffer {
  const file = sealingKeyFile(folder);
  const present = readKey(file);
  if (present !== undefined) return present;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Written aside and linked: of two gateways that start at once one wins, and none reads half a key.
  const aside = `${file}.${randomBytes(6).toString("hex")}`;
  writeFileSync(aside, randomBytes(keyLength), { mode: 0o600, flag: "wx" });
  try {
    linkSync(aside, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
  return readKey(file) ?? sealingKey(folder);
}

export function sealingKeyFile(folder: string): string {
  return join(folder, "seal.key");
}

function readKey(file: string): Buffer | undefined {
  try {
    // Somebody may have copied it with looser rights.
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
    const key = readFileSync(file);
    if (key.length === keyLength) return key;
    throw new Error(`${file} does not hold ${keyLength} bytes; remove it, and a new one is made`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
