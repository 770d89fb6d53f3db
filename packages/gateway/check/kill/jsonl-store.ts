/*
 * A minimal store, for `--store`: everything is in memory, and every write is a line of a file, from which the next
 * process restores the same state. It does only what is needed to pass the check: the file is never compacted.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore as openSqlite, type Store } from "@deltawire/store";

export function openStore({ folder }: { folder: string }): Promise<Store> {
  return openJsonlStore(folder, (write) => write());
}

const writes = new Set<PropertyKey>([
  "append",
  "addGrant",
  "put",
  "claimIdempotencyKey",
  "saveSnapshot",
]);

/** `schedule` receives a function that writes one line. A correct store calls it immediately. */
export async function openJsonlStore(
  folder: string,
  schedule: (write: () => void) => void,
): Promise<Store> {
  const file = join(folder, "writes.jsonl");
  const memory = await openSqlite({ path: ":memory:" });
  const methods = memory as unknown as Record<
    PropertyKey,
    (...args: unknown[]) => Promise<unknown>
  >;
  for (const [name = "", ...args] of readLines(file)) await methods[name as string]?.(...args);
  return new Proxy(memory, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!writes.has(name)) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        const line = `${JSON.stringify([name, ...args], encodeBytes)}\n`;
        const result = await methods[name]?.(...args);
        schedule(() => appendFileSync(file, line));
        return result;
      };
    },
  });
}

function readLines(file: string): unknown[][] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, "utf8");
  // An incomplete line was never acknowledged.
  const completeLines = text.slice(0, text.lastIndexOf("\n") + 1);
  if (completeLines.length < text.length) writeFileSync(file, completeLines);
  return completeLines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line, decodeBytes) as unknown[]);
}

/** The JSON form of a Buffer. */
type JsonBytes = { type: "Buffer"; data: number[] };

function encodeBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toJSON() : value;
}

function decodeBytes(_key: string, value: unknown): unknown {
  const bytes = value as Partial<JsonBytes> | null;
  return bytes?.type === "Buffer" && Array.isArray(bytes.data) ? Buffer.from(bytes.data) : value;
}
