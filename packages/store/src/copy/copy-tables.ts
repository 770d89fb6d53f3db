import { createHash } from "node:crypto";
import { StoreError } from "../error.ts";
import {
  createUnfinishedCopyError,
  getKey,
  measureRow,
  storeTables,
  type StoreTable,
  type StoreTables,
  type TableRow,
} from "./tables.ts";

export interface CopyResult {
  rows: number;
  /** Blobs without content, because their files are missing in the source. They are not copied. */
  missingBlobs: number;
  /** Names of the shared secrets that were copied. */
  secrets: readonly string[];
  /** True if an earlier call had finished the copy: both stores have been compared, and nothing was copied. */
  wasComplete: boolean;
}

export interface CopyProgress {
  /** "index": the search index of the copy is being rebuilt, and `bytes` does not change. */
  step: "copy" | "compare" | "index";
  table: string;
  /** Bytes of this step so far and in total, of all tables. Approximate. Comparing reads both stores. */
  bytes: number;
  totalBytes: number;
}

/**
 * Copies all data of a store to an empty one, and compares both. If it is interrupted, the next call with the same stores
 * continues; if it had finished, that call only compares. Throws a StoreError if the target has other data, or if the stores
 * differ afterwards.
 */
export async function copyTables(
  from: StoreTables,
  to: StoreTables,
  onProgress: (progress: CopyProgress) => void,
): Promise<CopyResult> {
  const totalBytes = await measureAll(from);
  if ((await prepareTarget(from, to)) === "has data")
    return verifyFinishedCopy(from, to, { totalBytes, onProgress });
  let bytes = 0;
  let rows = 0;
  let missingBlobs = 0;
  for (const table of storeTables) {
    let after = await to.findLastKey(table);
    if (after !== undefined) {
      rows += await to.count(table);
      bytes += await to.measure(table);
    }
    for (let page: TableRow[] | undefined; page === undefined || page.length > 0;) {
      onProgress({
        step: "copy",
        table: table.name,
        bytes: Math.min(bytes, totalBytes),
        totalBytes,
      });
      page = await from.read(table, after);
      const completeRows = page.filter((row) => hasContent(table, row));
      if (completeRows.length > 0) await to.write(table, completeRows);
      missingBlobs += page.length - completeRows.length;
      rows += completeRows.length;
      bytes += measureRows(table, page);
      const last = page.at(-1);
      if (last !== undefined) after = getKey(table, last);
    }
  }
  const { differences } = await compare(from, to, { totalBytes, onProgress });
  if (differences.length > 0)
    throw new StoreError(
      "store_failed",
      `the copy differs from ${from.location} in ${differences.join(", ")}: the source has changed since the copy began; ` +
        "stop the gateway that uses it, and copy again to another, empty store",
    );
  // Secrets are in no table of the copy: a gateway may have created some in the target, which are replaced.
  const secrets = await from.readSecrets();
  await to.writeSecrets(secrets);
  onProgress({ step: "index", table: "search", bytes: totalBytes, totalBytes });
  await to.finish();
  await to.setUnfinishedCopy(undefined);
  return { rows, missingBlobs, secrets: [...secrets.keys()], wasComplete: false };
}

interface CompareOptions {
  totalBytes: number;
  onProgress: (progress: CopyProgress) => void;
}

/** Throws if the stores differ: then the data of the target is not a finished copy. */
async function verifyFinishedCopy(
  from: StoreTables,
  to: StoreTables,
  options: CompareOptions,
): Promise<CopyResult> {
  const secrets = await from.readSecrets();
  const targetSecrets = await to.readSecrets();
  const haveSameSecrets = [...secrets].every(([name, value]) => targetSecrets.get(name) === value);
  if (haveSameSecrets && (await haveSameCounts(from, to))) {
    const { differences, rows, missingBlobs } = await compare(from, to, options);
    if (differences.length === 0)
      return { rows, missingBlobs, secrets: [...secrets.keys()], wasComplete: true };
  }
  throw new StoreError(
    "store_failed",
    `${to.location} already contains data; choose an empty store, so that nothing is overwritten`,
  );
}

/** Much faster than a comparison. Ignores blobs, because those whose files are missing are not copied. */
async function haveSameCounts(from: StoreTables, to: StoreTables): Promise<boolean> {
  for (const table of storeTables)
    if (table.name !== "blobs" && (await from.count(table)) !== (await to.count(table)))
      return false;
  return true;
}

/** False for a blob whose file is missing. */
function hasContent({ name, columns }: StoreTable, row: TableRow): boolean {
  return name !== "blobs" || row[columns.indexOf("bytes")] instanceof Uint8Array;
}

async function prepareTarget(
  from: StoreTables,
  to: StoreTables,
): Promise<"can be written" | "has data"> {
  const source = await to.getUnfinishedCopy();
  if (source === from.location) return "can be written";
  if (source !== undefined) throw createUnfinishedCopyError(to.location, source);
  // A new store has one row of stamps, which is replaced.
  const hasData = (await countRows(to)) > 1 || (await to.count(getTable("chats"))) > 0;
  if (hasData) return "has data";
  await to.setUnfinishedCopy(from.location);
  return "can be written";
}

async function countRows(store: StoreTables): Promise<number> {
  let rows = 0;
  for (const table of storeTables) rows += await store.count(table);
  return rows;
}

async function measureAll(store: StoreTables): Promise<number> {
  let bytes = 0;
  for (const table of storeTables) bytes += await store.measure(table);
  return bytes;
}

function measureRows(table: StoreTable, rows: readonly TableRow[]): number {
  return rows.reduce((bytes, row) => bytes + measureRow(table, row), 0);
}

async function compare(
  from: StoreTables,
  to: StoreTables,
  { totalBytes: sourceBytes, onProgress }: CompareOptions,
): Promise<{ rows: number; missingBlobs: number; differences: readonly string[] }> {
  const totalBytes = 2 * sourceBytes;
  let bytes = 0;
  let rows = 0;
  let missingBlobs = 0;
  const differences: string[] = [];
  for (const table of storeTables) {
    const report = (readBytes: number) => {
      bytes += readBytes;
      onProgress({
        step: "compare",
        table: table.name,
        bytes: Math.min(bytes, totalBytes),
        totalBytes,
      });
    };
    const source = await digestTable(from, table, report);
    const target = await digestTable(to, table, report);
    rows += source.rows;
    missingBlobs += source.missingBlobs;
    if (source.digest !== target.digest)
      differences.push(`${table.name} (${source.rows} and ${target.rows} rows)`);
  }
  return { rows, missingBlobs, differences };
}

/** Independent of the order of rows, which may differ between databases for unusual characters. */
async function digestTable(
  store: StoreTables,
  table: StoreTable,
  onPage: (bytes: number) => void,
): Promise<{ rows: number; missingBlobs: number; digest: string }> {
  const sum = Buffer.alloc(32);
  let rows = 0;
  let missingBlobs = 0;
  let after: TableRow | undefined;
  for (;;) {
    const page = await store.read(table, after);
    onPage(measureRows(table, page));
    for (const row of page) {
      if (!hasContent(table, row)) {
        missingBlobs += 1;
        continue;
      }
      rows += 1;
      const digest = digestRow(row);
      for (let index = 0; index < sum.length; index += 1)
        sum[index] = (sum[index] ?? 0) ^ (digest[index] ?? 0);
    }
    const last = page.at(-1);
    if (last === undefined) return { rows, missingBlobs, digest: `${rows} ${sum.toString("hex")}` };
    after = getKey(table, last);
  }
}

function digestRow(row: TableRow): Buffer {
  const hash = createHash("sha256");
  for (const value of row) {
    if (value instanceof Uint8Array) hash.update(`b${value.length}:`).update(value);
    else hash.update(`${typeof value} ${JSON.stringify(value)},`);
  }
  return hash.digest();
}

function getTable(name: string): StoreTable {
  const table = storeTables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
}
