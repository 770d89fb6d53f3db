/*
 * A store of a few lines, for `--store`: all in memory, and every write once more as a line of a file, from which the next
 * process makes the same again. It shows what a store needs to pass, and is no more than that: the file only grows.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore as openSqlite, type Store } from "@deltawire/store";

export function openStore({ folder }: { folder: string }): Promise<Store> {
  return linesStore(folder, (write) => write());
}

const writes = new Set<PropertyKey>(["append", "addGrant", "put", "keyed", "saveSnapshot"]);

/** `schedule` says when a line goes into the file: at once, if the store is to be believed. */
export async function linesStore(
  folder: string,
  schedule: (write: () => void) => void,
): Promise<Store> {
  const file = join(folder, "writes.jsonl");
  const memory = await openSqlite({ path: ":memory:" });
  const methods = memory as unknown as Record<
    PropertyKey,
    (...args: unknown[]) => Promise<unknown>
  >;
  for (const [name = "", ...args] of linesOf(file)) await methods[name as string]?.(...args);
  return new Proxy(memory, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!writes.has(name)) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        const line = `${JSON.stringify([name, ...args], bytesAsText)}\n`;
        const result = await methods[name]?.(...args);
        schedule(() => appendFileSync(file, line));
        return result;
      };
    },
  });
}

function linesOf(file: string): unknown[][] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, "utf8");
  // What was cut off was never acknowledged.
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole.length < text.length) writeFileSync(file, whole);
  return whole
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line, textAsBytes) as unknown[]);
}

/** A Buffer makes this of itself in JSON. */
type JsonBytes = { type: "Buffer"; data: number[] };

function bytesAsText(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toJSON() : value;
}

function textAsBytes(_key: string, value: unknown): unknown {
  const bytes = value as Partial<JsonBytes> | null;
  return bytes?.type === "Buffer" && Array.isArray(bytes.data) ? Buffer.from(bytes.data) : value;
}
