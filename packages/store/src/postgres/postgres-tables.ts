import { createHash } from "node:crypto";
import type { BlobBucket } from "../bucket/blob-bucket.ts";
import { getIndexableTexts } from "../chats/node-text.ts";
import { buildSearchTerms } from "../chats/search-terms.ts";
import type { StoreTable, StoreTables, TableRow, TableValue } from "../copy/tables.ts";
import { buildSizeExpression, storeTables } from "../copy/tables.ts";
import { BlobStorage } from "./blob-storage.ts";
import { upsertBlob } from "./blobs.ts";
import { upsertTexts } from "./chat-texts.ts";
import { decodeText, type PostgresConnection } from "./connection.ts";
import type { PostgresPool } from "./postgres-pool.ts";
import { listSecrets, setSecret } from "./shared-secrets.ts";
import { toStoreError } from "./to-store-error.ts";

/** JSON does not contain U+0000, and may contain the character that stands for it. */
const jsonColumns = new Set([
  "json",
  "private",
  "summary",
  "input",
  "output",
  "run",
  "events",
  "metadata",
]);

/** The tables of a PostgreSQL store. */
export class PostgresTables implements StoreTables {
  readonly location: string;
  readonly #pool: PostgresPool;
  readonly #bucket: BlobBucket | undefined;
  readonly #blobs: BlobStorage;
  readonly #lock: { release(): Promise<void> } | undefined;

  constructor(options: {
    location: string;
    pool: PostgresPool;
    lock: { release(): Promise<void> } | undefined;
    /** For large blobs. Undefined: all blobs are stored in rows. */
    bucket: BlobBucket | undefined;
  }) {
    this.#bucket = options.bucket;
    this.#blobs = new BlobStorage({ ...options, warn: () => {} });
    this.location = options.location;
    this.#pool = options.pool;
    this.#lock = options.lock;
  }

  async count({ name }: StoreTable): Promise<number> {
    const row = await this.#query((db) =>
      db.get<{ n: number }>(`SELECT count(*) AS n FROM ${name}`),
    );
    return row?.n ?? 0;
  }

  async measure(table: StoreTable): Promise<number> {
    const sql = `SELECT (${buildSizeExpression(table)})::bigint AS n FROM ${table.name}`;
    return (await this.#query((db) => db.get<{ n: number }>(sql)))?.n ?? 0;
  }

  async read(table: StoreTable, after: TableRow | undefined): Promise<TableRow[]> {
    const { name, columns, key, pageSize } = table;
    const keyList = key.join(", ");
    const parameters = key.map((_, index) => `$${index + 1}`).join(", ");
    const from = after === undefined ? "true" : `(${keyList}) > (${parameters})`;
    const selectedColumns = [...columns, ...(name === "blobs" ? ["object"] : [])];
    const rows = await this.#query((db) =>
      db.all<Record<string, TableValue>>(
        `SELECT ${selectedColumns.join(", ")} FROM ${name} WHERE ${from} ORDER BY ${keyList} LIMIT ${pageSize}`,
        ...(after ?? []),
      ),
    );
    for (const row of rows) if (typeof row["object"] === "string") await this.#loadBlob(row);
    return rows.map((row) => columns.map((column) => decodeValue(column, row[column] ?? null)));
  }

  async #loadBlob(row: Record<string, TableValue>): Promise<void> {
    const bytes = this.#blobs.download(String(row["hash"]), String(row["object"]));
    row["bytes"] = (await this.#withStoreErrors(bytes)) ?? null;
  }

  async findLastKey({ name, key }: StoreTable): Promise<TableRow | undefined> {
    const row = await this.#query((db) =>
      db.get<Record<string, TableValue>>(
        `SELECT ${key.join(", ")} FROM ${name} ORDER BY ${key.map((column) => `${column} DESC`).join(", ")} LIMIT 1`,
      ),
    );
    // Even a new store has a row in this table.
    return row === undefined || name === "chat_stamps"
      ? undefined
      : key.map((column) => row[column] ?? null);
  }

  async write(table: StoreTable, rows: readonly TableRow[]): Promise<void> {
    const bucket = this.#bucket;
    if (table.name !== "blobs" || bucket === undefined) return this.#writeRows(table, rows);
    const isLarge = (row: TableRow) => toBlob(table, row).size >= bucket.minBytes;
    for (const row of rows.filter(isLarge))
      await this.#withStoreErrors(
        this.#blobs.upload(bucket, toBlob(table, row), (db, blob) => upsertBlob(db, blob)),
      );
    await this.#writeRows(
      table,
      rows.filter((row) => !isLarge(row)),
    );
  }

  async #writeRows(table: StoreTable, rows: readonly TableRow[]): Promise<void> {
    const { name, key } = table;
    const columns = [...table.columns, ...(name === "chat_placeholders" ? ["digest"] : [])];
    // Even a new store has a row in this table. Other rows exist only if their write was not acknowledged.
    const onConflict =
      name === "chat_stamps"
        ? "UPDATE SET head = excluded.head, oldest = excluded.oldest"
        : "NOTHING";
    const parameters = columns.map((_, index) => `$${index + 1}`).join(", ");
    await this.#withStoreErrors(
      this.#pool.run(async (db) => {
        await Promise.all(
          rows.map((row) => {
            const value = String(row[table.columns.indexOf("value")]);
            const digest = createHash("sha256").update(value).digest();
            return db.run(
              `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${parameters})
                ON CONFLICT (${key.join(", ")}) DO ${onConflict}`,
              ...row.map((item) => item ?? null),
              ...(name === "chat_placeholders" ? [digest] : []),
            );
          }),
        );
      }),
    );
  }

  async readSecrets(): Promise<ReadonlyMap<string, string>> {
    return this.#query(listSecrets);
  }

  async writeSecrets(secrets: ReadonlyMap<string, string>): Promise<void> {
    await this.#withStoreErrors(
      this.#pool.run(async (db) => {
        for (const [name, value] of secrets) await setSecret(db, name, value);
      }),
    );
  }

  async getUnfinishedCopy(): Promise<string | undefined> {
    return this.#query(getUnfinishedCopy);
  }

  async setUnfinishedCopy(source: string | undefined): Promise<void> {
    await this.#withStoreErrors(
      this.#pool.run((db) =>
        source === undefined
          ? db.run("DELETE FROM meta WHERE name = 'copy'")
          : db.run("INSERT INTO meta (name, value) VALUES ('copy', $1)", source),
      ),
    );
  }

  async finish(): Promise<void> {
    for (const { name, columns } of storeTables)
      if (columns[0] === "number")
        await this.#query((db) =>
          db.get(
            `SELECT setval(pg_get_serial_sequence($1, 'number'), coalesce(max(number), 0) + 1, false) FROM ${name}`,
            name,
          ),
        );
    // Texts are numbered again, in the order of their nodes.
    await this.#query((db) => db.run("UPDATE chats SET next_text = 0"));
    await this.#rebuildSearchIndex();
  }

  async #rebuildSearchIndex(): Promise<void> {
    for (let after = { chat: 0, position: -1 }; ;) {
      const page = await this.#query((db) =>
        db.all<{ chat: number; position: number; node_id: string; json: string }>(
          `SELECT chat, position, node_id, json FROM chat_nodes WHERE (chat, position) > ($1, $2)
            ORDER BY chat, position LIMIT 100`,
          after.chat,
          after.position,
        ),
      );
      for (const { chat, node_id: nodeId, json } of page)
        await this.#withStoreErrors(this.#pool.run((db) => indexNode(db, chat, nodeId, json)));
      const last = page.at(-1);
      if (last === undefined) return;
      after = last;
    }
  }

  async close(): Promise<void> {
    await this.#pool.close();
    await this.#lock?.release();
  }

  #query<Result>(work: (db: PostgresConnection) => Promise<Result>): Promise<Result> {
    return this.#withStoreErrors(this.#pool.query(work));
  }

  async #withStoreErrors<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      throw toStoreError(error, this.location);
    }
  }
}

async function indexNode(
  db: PostgresConnection,
  chat: number,
  nodeId: string,
  json: string,
): Promise<void> {
  const texts = [...getIndexableTexts(json)]
    .map(([versionId, text]) => ({ nodeId, versionId, terms: buildSearchTerms(text) }))
    .filter(({ terms }) => terms.length > 0);
  if (texts.length === 0) return;
  const row = await db.get<{ first: number }>(
    "UPDATE chats SET next_text = next_text + $2 WHERE number = $1 RETURNING next_text - $2 AS first",
    chat,
    texts.length,
  );
  const numberedTexts = texts.map((text, index) => ({
    ...text,
    number: (row?.first ?? 0) + index,
  }));
  await upsertTexts(db, chat, numberedTexts);
}

export async function getUnfinishedCopy(db: PostgresConnection): Promise<string | undefined> {
  return (await db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'copy'"))?.value;
}

function toBlob({ columns }: StoreTable, row: TableRow) {
  const value = (name: string) => row[columns.indexOf(name)];
  const bytes = value("bytes");
  if (!(bytes instanceof Uint8Array)) throw new TypeError("a blob without content is not written");
  return {
    hash: String(value("hash")),
    mediaType: String(value("media_type")),
    size: bytes.length,
    bytes,
    putAt: Number(value("put_at")),
  };
}

function decodeValue(column: string, value: TableValue): TableValue {
  return typeof value === "string" && !jsonColumns.has(column) ? decodeText(value) : value;
}
