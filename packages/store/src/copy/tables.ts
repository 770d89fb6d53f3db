import { StoreError } from "../error.ts";

/* The data of a store as tables that do not depend on the database. Search indexes are not part of it: they are rebuilt. */

export type TableValue = string | number | Uint8Array | null;

export type TableRow = readonly TableValue[];

export interface StoreTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns of a unique key. Rows are read in its order. */
  readonly key: readonly string[];
  /** Maximum number of rows per page; fewer for tables with large rows. */
  readonly pageSize: number;
}

export const storeTables: readonly StoreTable[] = [
  table(
    "tasks",
    "number task_id root parent_task_id status agent model session_id created_at updated_at ended_at head oldest owner reply_key reply_lost",
    "number",
  ),
  table("events", "root sequence_number json private", "root sequence_number"),
  table("approvals", "approval_id root pending_since", "approval_id"),
  table("snapshots", "root as_of json", "root", 20),
  table("grants", "owner session_id tool args_hash granted_at", "owner session_id tool args_hash"),
  table("idempotency_keys", "key body_hash root_task_id reserved_at", "key"),
  table("blobs", "hash media_type size put_at bytes", "hash", 10),
  table("blob_owners", "hash owner", "hash owner"),
  table("blob_refs", "root hash", "root hash"),
  table(
    "chats",
    "number chat_id owner stamp first_stamp pinned updated deleted_at deleted next_node summary",
    "number",
  ),
  table("chat_nodes", "chat node_id position stamp json", "chat node_id", 100),
  table("gone_nodes", "chat node_id stamp", "chat node_id"),
  table("chat_tags", "chat tag", "chat tag"),
  table("running_answers", "chat node_id version_id task_id", "chat node_id version_id"),
  table("chat_replays", "number chat version_id json", "number", 100),
  table("chat_removals", "number chat removal_id removed json", "number", 20),
  table("chat_placeholders", "number chat placeholder value kind", "number"),
  table("chat_variables", "number chat call_id part json", "number"),
  table("chat_blob_refs", "chat hash", "chat hash"),
  table("removed_chats", "stamp chat_id owner removed", "stamp"),
  table("lessons", "number upstream model digest learned_at json", "number"),
  table(
    "access_keys",
    "key_id name owner key_hash session_hash created_at expires_at revoked_at last_used_at json",
    "key_id",
  ),
  table("usage_windows", "key_id unit period window_start amount", "key_id unit period"),
  table(
    "responses",
    "number owner response_id previous_id status created_at size input output json run head conversation_id conversation_start",
    "number",
    50,
  ),
  table("response_items", "owner item_id response", "owner item_id"),
  table("response_events", "response first last events", "response first"),
  table("conversations", "number owner conversation_id created_at metadata next", "number"),
  table("conversation_items", "conversation position item_id json", "conversation position", 100),
  table(
    "files",
    "number owner file_id filename purpose media_type size created_at expires_at bytes",
    "number",
    5,
  ),
  table("chat_stamps", "one head oldest", "one"),
];

function table(name: string, columns: string, key: string, pageSize = 500): StoreTable {
  return { name, columns: columns.split(" "), key: key.split(" "), pageSize };
}

/** Columns with values of any length. The others are small. */
const largeColumns = new Set([
  "json",
  "private",
  "summary",
  "input",
  "output",
  "run",
  "events",
  "metadata",
]);
/** Of each row, for its small columns and its entries in indexes. */
const rowOverheadBytes = 100;

/** Returns the approximate size of a row, without reading attachments: theirs is in the column "size". */
export function measureRow({ name, columns }: StoreTable, row: TableRow): number {
  let bytes = rowOverheadBytes;
  for (const [index, column] of columns.entries()) {
    const value = row[index];
    if (isSizeColumn(name, column)) bytes += Number(value);
    else if (typeof value === "string" && largeColumns.has(column))
      bytes += Buffer.byteLength(value);
  }
  return bytes;
}

/** Returns the SQL expression for the sum of `measureRow` over all rows of a table. */
export function buildSizeExpression({ name, columns }: StoreTable): string {
  const sizes = columns.flatMap((column) => {
    if (isSizeColumn(name, column)) return [column];
    return largeColumns.has(column) ? [`coalesce(octet_length(${column}), 0)`] : [];
  });
  return `coalesce(sum(${[rowOverheadBytes, ...sizes].join(" + ")}), 0)`;
}

function isSizeColumn(table: string, column: string): boolean {
  return column === "size" && (table === "blobs" || table === "files");
}

/**
 * "shared read": other processes may write. "exclusive read": fails if another process has the store open for writing, and
 * prevents others from opening it. "write": creates the store if it does not exist.
 */
export type TablesAccess = "shared read" | "exclusive read" | "write";

/** Reads and writes the tables of one store. */
export interface StoreTables {
  /** For messages: the path, or the URL without password. */
  readonly location: string;
  count(table: StoreTable): Promise<number>;
  /** Returns the sum of `measureRow` over all rows. */
  measure(table: StoreTable): Promise<number>;
  /** Returns the rows after a key, in its order. Undefined: from the beginning. */
  read(table: StoreTable, after: TableRow | undefined): Promise<TableRow[]>;
  /** Returns the last key. Undefined if the table is empty. */
  findLastKey(table: StoreTable): Promise<TableRow | undefined>;
  /** Writes all rows or none. */
  write(table: StoreTable, rows: readonly TableRow[]): Promise<void>;
  /** Returns the secrets that the processes of the store share, by name. */
  readSecrets(): Promise<ReadonlyMap<string, string>>;
  /** Stores the secrets. Those with the same names are replaced. */
  writeSecrets(secrets: ReadonlyMap<string, string>): Promise<void>;
  /** Returns the source of a copy into this store that has not finished. */
  getUnfinishedCopy(): Promise<string | undefined>;
  setUnfinishedCopy(source: string | undefined): Promise<void>;
  /** Rebuilds the search index, and prepares the store for its first regular use. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** The error for every use of a store whose copy was interrupted. */
export function createUnfinishedCopyError(location: string, source: string): StoreError {
  return new StoreError(
    "store_failed",
    `${location} contains an unfinished copy of ${source}; repeat the command "store copy" with the same stores, or choose another store`,
  );
}

/** Throws if the store contains a copy that has not finished. */
export async function assertFinishedCopy(store: StoreTables): Promise<void> {
  const source = await store.getUnfinishedCopy();
  if (source !== undefined) throw createUnfinishedCopyError(store.location, source);
}

export function getKey({ columns, key }: StoreTable, row: TableRow): TableRow {
  return key.map((name) => row[columns.indexOf(name)] ?? null);
}
