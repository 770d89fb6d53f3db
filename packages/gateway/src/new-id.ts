import { randomUUID } from "node:crypto";

/** `newId("resp")` might be `resp_7f3a…`: the form that Codex sends back as it is. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
