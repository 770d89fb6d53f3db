import { hash, randomUUID } from "node:crypto";

/** Returns a random id such as `resp_7f3a…`. Codex sends ids of this form back unchanged. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}

/** Derives an id from another one: equal inputs result in equal ids, which do not reveal the input. */
export function deriveId(prefix: string, originalId: string): string {
  return `${prefix}_${hash("sha256", originalId).slice(0, 32)}`;
}

/** Returns a value that stands for an account or a conversation, from which it cannot be found again. */
export function hashIdentifier(identifier: string): string {
  return hash("sha256", `deltawire\n${identifier}`).slice(0, 32);
}
