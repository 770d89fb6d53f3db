import { hash, randomUUID } from "node:crypto";

/** `newId("resp")` might be `resp_7f3a…`: the form that Codex sends back as it is. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}

/** Returns an id that stands for another one: the same in every request, and not to be guessed from the other's form. */
export function derivedId(prefix: string, old: string): string {
  return `${prefix}_${hash("sha256", old).slice(0, 32)}`;
}
