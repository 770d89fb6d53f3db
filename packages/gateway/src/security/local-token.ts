import { createHash, createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { createSecretFile, readSecretFile } from "../secret-file.ts";

export interface LocalTokenOptions {
  /** `server.sealing_key`. The token is derived from it, so that commands with the same configuration know it. */
  sealingKey: string | undefined;
  /** Otherwise, the folder of the token. */
  dataFolder: string;
}

/**
 * Returns the token with which commands on the machine of the gateway administer it. At the first start it is created in the data
 * folder, even for a store that other machines share: anyone who can read that folder or the configuration can use the gateway.
 */
export function loadLocalToken({
  sealingKey,
  dataFolder,
  onWarning,
}: Pick<LocalTokenOptions, "sealingKey"> & {
  /** Undefined: the token is not stored. */
  dataFolder: string | undefined;
  onWarning: (message: string, cause: Error) => void;
}): string {
  if (sealingKey !== undefined) return deriveLocalToken(sealingKey);
  if (dataFolder === undefined) return createToken();
  try {
    return loadOrCreateToken(dataFolder);
  } catch (error) {
    onWarning(
      "could not save the token for commands on this machine; if there are access keys, they need DELTAWIRE_TOKEN",
      error as Error,
    );
    return createToken();
  }
}

/** Returns the local token of the gateway with this configuration and data folder. Undefined if the folder has none. */
export function readLocalToken({ sealingKey, dataFolder }: LocalTokenOptions): string | undefined {
  return sealingKey === undefined ? readToken(dataFolder) : deriveLocalToken(sealingKey);
}

export function getLocalTokenPath(folder: string): string {
  return join(folder, "local.token");
}

function deriveLocalToken(sealingKey: string): string {
  const key = createHash("sha256").update(sealingKey).digest();
  return createHmac("sha256", key).update("deltawire local token 1").digest("base64url");
}

/** Gateways that use the same folder, for example with a shared store, have the same token. */
function loadOrCreateToken(folder: string): string {
  const existing = readToken(folder);
  if (existing !== undefined) return existing;
  createSecretFile(getLocalTokenPath(folder), `${createToken()}\n`);
  return readToken(folder) ?? loadOrCreateToken(folder);
}

function createToken(): string {
  return randomBytes(32).toString("base64url");
}

function readToken(folder: string): string | undefined {
  const file = getLocalTokenPath(folder);
  const token = readSecretFile(file)?.toString("latin1").trim();
  if (token === undefined || /^[\w-]{43}$/.test(token)) return token;
  throw new Error(`${file} is damaged; delete it to create a new token at the next start`);
}
