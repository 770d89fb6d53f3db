import {
  buildSizeExpression,
  type StoreTable,
  type StoreTables,
  type TableRow,
  type TableValue,
} from "../copy/tables.ts";
import type { BlobFiles } from "./blob-files.ts";
import { rowsPerChat } from "./chat-nodes.ts";
import type { SqliteConnection } from "./connection.ts";
import { listSecrets, setSecret } from "./shared-secrets.ts";
import { maxInlineBlobBytes } from "./sqlite-store.ts";
import { rebuildSearchIndex } from "./update-search-index.ts";
import { addUnfinishedUpdates } from "./search-index.ts";

/** Columns whose expression or stored name differs. */
const expressions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  idempotency_keys: { reserved_at: "kept_at" },
  chat_nodes: { position: `place % ${rowsPerChat}` },
};

/** Rows of chats and tasks that are being removed are not read. */
const conditions: Readonly<Record<string, string>> = {
  events: "root IN (SELECT number FROM tasks)",
  blob_refs: "root IN (SELECT number FROM tasks)",
  chat_nodes: "chat IN (SELECT number FROM chats)",
  gone_nodes: "chat IN (SELECT number FROM chats)",
  chat_replays: "chat IN (SELECT number FROM chats)",
  chat_variables: "chat IN (SELECT number FROM chats)",
  chat_removals:
    "chat IN (SELECT number FROM chats) AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'undone:' || removal_id)",
};

/** The tables of a SQLite store. */
export class SqliteTables implements StoreTables {
  readonly location: string;
  readonly #db: SqliteConnection;
  readonly #blobFiles: BlobFiles | undefined;
  readonly #onClose: () => void;

  constructor(options: {
    location: string;
    db: SqliteConnection;
    blobFiles: BlobFiles | undefined;
    onClose: () => void;
  }) {
    this.location = options.location;
    this.#db = options.db;
    this.#blobFiles = options.blobFiles;
    this.#onClose = options.onClose;
  }

  async count(table: StoreTable): Promise<number> {
    const sql = `SELECT count(*) AS n FROM ${table.name} WHERE ${conditions[table.name] ?? "1"}`;
    return this.#db.get<{ n: number }>(sql)?.n ?? 0;
  }

  async measure(table: StoreTable): Promise<number> {
    const sql = `SELECT ${buildSizeExpression(table)} AS n FROM ${table.name} WHERE ${conditions[table.name] ?? "1"}`;
    return this.#db.get<{ n: number }>(sql)?.n ?? 0;
  }

  async read(table: StoreTable, after: TableRow | undefined): Promise<TableRow[]> {
    const { name, columns, key, pageSize } = table;
    const selectedColumns = columns.map((column) => `${toExpression(name, column)} AS ${column}`);
    const keyList = key.join(", ");
    const from = after === undefined ? "1" : `(${keyList}) > (${key.map(() => "?").join(", ")})`;
    const rows = this.#db.all<Record<string, TableValue>>(
      `SELECT ${selectedColumns.join(", ")} FROM ${name} WHERE ${conditions[name] ?? "1"} AND ${from}
        ORDER BY ${keyList} LIMIT ${pageSize}`,
      ...((after ?? []) as (string | number | null)[]),
    );
    if (name === "blobs") for (const row of rows) await this.#loadBlob(row);
    return rows.map((row) => columns.map((column) => row[column] ?? null));
  }

  async #loadBlob(row: Record<string, TableValue>): Promise<void> {
    const hash = String(row["hash"]);
    const isInline = this.#db.get("SELECT 1 FROM blobs WHERE hash = ? AND in_file = 0", hash);
    if (isInline !== undefined) row["bytes"] ??= new Uint8Array();
    else row["bytes"] = (await this.#blobFiles?.read(hash)) ?? null;
  }

  async findLastKey({ name, key }: StoreTable): Promise<TableRow | undefined> {
    const row = this.#db.get<Record<string, TableValue>>(
      `SELECT ${key.join(", ")} FROM ${name} ORDER BY ${key.map((column) => `${column} DESC`).join(", ")} LIMIT 1`,
    );
    // Even a new store has a row in this table.
    return row === undefined || name === "chat_stamps"
      ? undefined
      : key.map((column) => row[column] ?? null);
  }

  async write(table: StoreTable, rows: readonly TableRow[]): Promise<void> {
    const { name, columns } = table;
    const records = rows.map((row) =>
      Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null])),
    );
    for (const record of records) if (name === "blobs") await this.#storeBlob(record);
    this.#db.transaction(() => {
      for (const record of records) {
        if (name === "chat_nodes") {
          record["place"] = Number(record["chat"]) * rowsPerChat + Number(record["position"]);
          delete record["position"];
        }
        // Counts entries of the search index, which is rebuilt.
        if (name === "chats") record["next_words"] = 0;
        const names = Object.keys(record);
        const storedNames = names.map((column) => expressions[name]?.[column] ?? column);
        this.#db.run(
          `INSERT OR REPLACE INTO ${name} (${storedNames.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
          ...names.map((column) => record[column] ?? null),
        );
      }
    });
  }

  async #storeBlob(record: Record<string, TableValue>): Promise<void> {
    const { bytes } = record;
    const isFile =
      bytes === null ||
      (bytes instanceof Uint8Array &&
        bytes.length > maxInlineBlobBytes &&
        this.#blobFiles !== undefined);
    record["in_file"] = isFile ? 1 : 0;
    if (!isFile || !(bytes instanceof Uint8Array)) return;
    await this.#blobFiles?.write(String(record["hash"]), bytes);
    record["bytes"] = null;
  }

  async readSecrets(): Promise<ReadonlyMap<string, string>> {
    return listSecrets(this.#db);
  }

  async writeSecrets(secrets: ReadonlyMap<string, string>): Promise<void> {
    this.#db.transaction(() => {
      for (const [name, value] of secrets) setSecret(this.#db, name, value);
    });
  }

  async getUnfinishedCopy(): Promise<string | undefined> {
    return getUnfinishedCopy(this.#db);
  }

  async setUnfinishedCopy(source: string | undefined): Promise<void> {
    this.#db.transaction(() => {
      if (source === undefined) this.#db.run("DELETE FROM meta WHERE name = 'copy'");
      else this.#db.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('copy', ?)", source);
    });
  }

  async finish(): Promise<void> {
    const write = async <Result>(work: (db: SqliteConnection) => Result): Promise<Result> =>
      this.#db.transaction(() => work(this.#db));
    await write((db) => addUnfinishedUpdates(db, 1));
    await rebuildSearchIndex(write);
  }

  async close(): Promise<void> {
    this.#db.close();
    this.#onClose();
  }
}

export function getUnfinishedCopy(db: SqliteConnection): string | undefined {
  return db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'copy'")?.value;
}

function toExpression(table: string, column: string): string {
  return expressions[table]?.[column] ?? column;
}
