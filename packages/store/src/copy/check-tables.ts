import { createHash } from "node:crypto";
import {
  assertFinishedCopy,
  getKey,
  storeTables,
  type StoreTable,
  type StoreTables,
  type TableRow,
} from "./tables.ts";

export interface StoreCheckReport {
  /** Number of rows by table. */
  rows: Readonly<Record<string, number>>;
  /** At most `maxProblems`. Empty if the store is consistent. */
  problems: readonly string[];
}

const maxProblems = 100;

/** Reads all rows and checks that they are consistent: events without gaps, valid JSON, and blobs that exist and are unchanged. */
export async function checkTables(
  store: StoreTables,
  onTable: (name: string) => void = () => {},
): Promise<StoreCheckReport> {
  await assertFinishedCopy(store);
  const rows: Record<string, number> = {};
  const check = new ConsistencyCheck();
  for (const table of storeTables) {
    onTable(table.name);
    rows[table.name] = 0;
    for await (const row of readRows(store, table)) {
      rows[table.name] = (rows[table.name] ?? 0) + 1;
      check.addRow(table, row);
    }
  }
  return { rows, problems: check.finish().slice(0, maxProblems) };
}

async function* readRows(store: StoreTables, table: StoreTable): AsyncGenerator<TableRow> {
  for (let after: TableRow | undefined; ;) {
    const page = await store.read(table, after);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = getKey(table, last);
  }
}

class ConsistencyCheck {
  readonly #problems: string[] = [];
  /** Root tasks by number, with the number of the last event that was read. */
  readonly #roots = new Map<unknown, { taskId: string; head: number; lastEvent: number }>();
  readonly #chats = new Map<unknown, string>();
  readonly #chatsWithHeader = new Set<unknown>();
  readonly #blobs = new Set<unknown>();
  readonly #missingBlobs = new Set<unknown>();

  addRow(table: StoreTable, row: TableRow): void {
    const value = (name: string) => row[table.columns.indexOf(name)] ?? null;
    const json = value("json");
    const parsed = typeof json === "string" ? this.#parse(table, row, json) : undefined;
    switch (table.name) {
      case "tasks":
        if (value("root") === null)
          this.#roots.set(value("number"), {
            taskId: String(value("task_id")),
            head: Number(value("head")),
            lastEvent: Number(value("oldest")) - 1,
          });
        break;
      case "events":
        this.#addEvent(value("root"), Number(value("sequence_number")), parsed);
        break;
      case "blobs":
        this.#addBlob(value("hash"), value("bytes"));
        break;
      case "blob_refs":
      case "chat_blob_refs":
        if (!this.#blobs.has(value("hash"))) this.#missingBlobs.add(value("hash"));
        break;
      case "chats":
        this.#chats.set(value("number"), String(value("chat_id")));
        break;
      case "chat_nodes":
        if (!this.#chats.has(value("chat")))
          this.#report(`chat_nodes: unknown chat ${String(value("chat"))}`);
        if (value("node_id") === "") this.#chatsWithHeader.add(value("chat"));
        break;
      default:
    }
  }

  finish(): readonly string[] {
    for (const { taskId, head, lastEvent } of this.#roots.values())
      if (head !== lastEvent)
        this.#report(`task ${taskId}: the last event is ${lastEvent}, expected ${head}`);
    for (const [number, chatId] of this.#chats)
      if (!this.#chatsWithHeader.has(number)) this.#report(`chat ${chatId}: it has no header`);
    for (const hash of this.#missingBlobs) this.#report(`blob ${String(hash)}: it is missing`);
    return this.#problems;
  }

  #addEvent(root: unknown, number: number, event: unknown): void {
    const task = this.#roots.get(root);
    if (task === undefined) return this.#report(`events: unknown root task ${String(root)}`);
    const { coalesced_from: first = number } = (event ?? {}) as { coalesced_from?: number };
    if (first !== task.lastEvent + 1)
      this.#report(`task ${task.taskId}: event ${first} follows event ${task.lastEvent}`);
    task.lastEvent = number;
  }

  #addBlob(hash: unknown, bytes: unknown): void {
    this.#blobs.add(hash);
    if (!(bytes instanceof Uint8Array)) this.#missingBlobs.add(hash);
    else if (createHash("sha256").update(bytes).digest("hex") !== hash)
      this.#report(`blob ${String(hash)}: its content has changed`);
  }

  #parse(table: StoreTable, row: TableRow, json: string): unknown {
    try {
      return JSON.parse(json) as unknown;
    } catch {
      this.#report(`${table.name} ${getKey(table, row).join(" ")}: invalid JSON`);
      return undefined;
    }
  }

  #report(problem: string): void {
    if (this.#problems.length < maxProblems) this.#problems.push(problem);
  }
}
