import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Store } from "@deltawire/store";
import { createSecretFile, readSecretFile } from "../secret-file.ts";
import type { EnvelopeCipher } from "./envelope-cipher.ts";

const keyLength = 32;
/** The name of the secret in stores that several processes share. */
export const sealingKeySecret = "sealing_key";

export interface SealingKeyOptions {
  /** `server.sealing_key`. */
  configured: string | undefined;
  /** Undefined: nothing is read from or written to files. */
  dataFolder: string | undefined;
  /** True if the store may be shared with other processes. Then the key is that of the store, see `useSharedSealingKey`. */
  isStoreShared: boolean;
  onWarning: (message: string, cause: Error) => void;
}

/** Returns the key with which the gateway starts: the configured one, that of the data folder, or a temporary one. */
export function loadSealingKey(options: SealingKeyOptions): Buffer {
  const { configured, dataFolder, isStoreShared, onWarning } = options;
  if (configured !== undefined) return createHash("sha256").update(configured).digest();
  if (dataFolder === undefined) return randomBytes(keyLength);
  try {
    if (isStoreShared) return readKey(getSealingKeyPath(dataFolder)) ?? randomBytes(keyLength);
    return loadOrCreateSealingKey(dataFolder);
  } catch (error) {
    onWarning(
      "could not save the sealing key; sealed reasoning cannot be opened after a restart",
      error as Error,
    );
    return randomBytes(keyLength);
  }
}

/**
 * Makes all processes that share a store use the same key. The first process to start stores its own one, so that the key of a
 * data folder stays valid when a database replaces its file. Rejects with a StoreError.
 */
export async function useSharedSealingKey(
  store: Pick<Store, "getOrCreateSecret">,
  ownKey: Buffer,
  cipher: EnvelopeCipher,
): Promise<void> {
  const key = await store.getOrCreateSecret(sealingKeySecret, ownKey.toString("base64url"));
  cipher.replaceKey(Buffer.from(key, "base64url"));
}

/** Uses the key that a copy has brought from a shared store, if the store has one. Rejects with a StoreError. */
export async function useCopiedSealingKey(
  store: Pick<Store, "getSecret">,
  cipher: EnvelopeCipher,
): Promise<void> {
  const key = await store.getSecret(sealingKeySecret);
  if (key !== undefined) cipher.replaceKey(Buffer.from(key, "base64url"));
}

/** Loads the sealing key of a folder. Creates it on the first start, readable only by its owner. */
export function loadOrCreateSealingKey(folder: string): Buffer {
  const file = getSealingKeyPath(folder);
  const existing = readKey(file);
  if (existing !== undefined) return existing;
  createSecretFile(file, randomBytes(keyLength));
  return readKey(file) ?? loadOrCreateSealingKey(folder);
}

export function getSealingKeyPath(folder: string): string {
  return join(folder, "seal.key");
}

function readKey(file: string): Buffer | undefined {
  const key = readSecretFile(file);
  if (key === undefined || key.length === keyLength) return key;
  throw new Error(
    `${file} must have ${keyLength} bytes; delete it to create a new key at the next start`,
  );
}
