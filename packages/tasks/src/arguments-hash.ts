import { sha256 as ownSha256 } from "./sha256.ts";

/** What is approved and what is executed must have the same: SHA-256 of the arguments' text, in hex. */
export function argumentsHash(text: string, sha256: (text: string) => string = ownSha256): string {
  return sha256(text);
}
