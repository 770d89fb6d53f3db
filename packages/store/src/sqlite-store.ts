import { createHash } from "node:crypto";
import type { Grant, LogEntry, LogRow } from "@deltawire/tasks";
import { appendBatch, replaceRows } from "./append.ts";
import { batchOf, rowOf } from "./batch.ts";
import type { BlobFiles } from "./blob-files.ts";
import { CommitQueue } from "./commit-queue.ts";
import { StoreError } from "./error.ts";
import { storeError } from "./fault.ts";
import { blobGraceMs, dayMs, prune, type Retention, storedBytes } from "./prune.ts";
import { blobOf, touchBlob, upsertBlob } from "./sql/blobs.ts";
import type { Connection } from "./sql/connection.ts";
import { checkpoint } from "./sql/dialect.ts";
import { eventsAfter, newestSnapshot, upsertSnapshot } from "./sql/events.ts";
import { grantsOf, insertGrant, keepKey } from "./sql/sessions.ts";
import { listTasks, rootOfApproval, rootOfTask, rootTask, unfinishedTasks } from "./sql/tasks.ts";
import type { TaskFilter } from "./sql/tasks.ts";
import { SqliteChats } from "./sqlite-chats.ts";
import type { Store, TaskHead, TaskSummary } from "./store.ts";

export interface SqliteStoreOptions extends Retention {
  db: Connection;
  /** For messages. */
  path: string;
  /** Undefined: all blobs are in the database. */
  files: BlobFiles | undefined;
  /** Why nothing can be written, if so. */
  readOnlyBecause: string | undefined;
  now: () => number;
  warn: (message: string) => void;
  /** When the database is closed. */
  onClosed: () => void;
}

/**
 * Above this a blob is a file of its own: the log stays small to back up and to vacuum, and a large picture is written
 * outside the event loop. Below it a row in the next commit is cheaper than a file, its fsync and that of its folder.
 */
const largestBlobInDatabase = 64 * 1024;

/**
 * Its methods are async, as those of a store behind a network will be. SQLite itself answers in place: a batch of a
 * hundred events takes less time than a message to another thread and back.
 */
export class SqliteStore extends SqliteChats implements Store {
  readonly readOnly: boolean;
  readonly #options: SqliteStoreOptions;
  readonly #queue: CommitQueue;
  #isClosed = false;

  constructor(options: SqliteStoreOptions) {
    super(options.now);
    this.#options = options;
    this.#queue = new CommitQueue(options.db);
    this.readOnly = options.readOnlyBecause !== undefined;
  }

  async append(
    rootTaskId: string,
    entries: readonly LogEntry[],
    { durable, replaced = [] }: { durable: boolean; replaced?: readonly LogEntry[] },
  ): Promise<void> {
    const [first, ...rest] = entries;
    const batch = first && batchOf(rootTaskId, [first, ...rest]);
    const rows = replaced.map(rowOf);
    if (batch === undefined && rows.length === 0) return;
    const now = this.#options.now();
    await this.change((db) => {
      if (batch !== undefined) appendBatch(db, batch, now);
      replaceRows(db, rootTaskId, rows);
    }, durable);
  }

  async read(rootTaskId: string, after: number, limit: number): Promise<LogRow[]> {
    return this.ask((db) => eventsAfter(db, rootTaskId, after, limit));
  }

  async head(rootTaskId: string): Promise<TaskHead | undefined> {
    const task = this.ask((db) => rootTask(db, rootTaskId));
    return task && { head: task.head, oldest: task.oldest, status: task.status };
  }

  async unfinished(): Promise<string[]> {
    return this.ask(unfinishedTasks);
  }

  async rootOf(taskId: string): Promise<string | undefined> {
    return this.ask((db) => rootOfTask(db, taskId));
  }

  async rootOfApproval(approvalId: string): Promise<string | undefined> {
    return this.ask((db) => rootOfApproval(db, approvalId));
  }

  async listTasks(filter: TaskFilter): Promise<TaskSummary[]> {
    return this.ask((db) => listTasks(db, filter));
  }

  async grants(sessionId: string): Promise<Grant[]> {
    return this.ask((db) => grantsOf(db, sessionId));
  }

  async addGrant(sessionId: string, grant: Grant): Promise<void> {
    const { now } = this.#options;
    await this.change((db) => insertGrant(db, sessionId, grant, now()), true);
  }

  async saveSnapshot(rootTaskId: string, asOf: number, json: string): Promise<void> {
    await this.change((db) => {
      const task = rootTask(db, rootTaskId);
      if (task !== undefined) upsertSnapshot(db, task.number, asOf, json);
    }, false);
  }

  async snapshot(rootTaskId: string): Promise<{ as_of: number; json: string } | undefined> {
    return this.ask((db) => newestSnapshot(db, rootTaskId));
  }

  async keyed(
    idempotencyKey: string,
    bodyHash: string,
    rootTaskId: string,
  ): Promise<{ rootTaskId: string; bodyHash: string }> {
    const now = this.#options.now();
    const times = { now, expired: now - dayMs };
    return this.change((db) => keepKey(db, idempotencyKey, { bodyHash, rootTaskId }, times), true);
  }

  async put(
    given: Uint8Array,
    mediaType: string,
    { unusedMs = blobGraceMs }: { unusedMs?: number } = {},
  ): Promise<string> {
    const { files } = this.#options;
    const now = () => this.#options.now() + Math.max(0, unusedMs - blobGraceMs);
    const bytes = new Uint8Array(given); // the caller may go on with its own
    const hash = createHash("sha256").update(bytes).digest("hex");
    const size = bytes.byteLength;
    // Touched before it is looked for: from then on retention leaves it alone.
    const kept = await this.change((db) => touchBlob(db, hash, now()), false);
    if (kept?.in_file === 0) return hash;
    const isFile = kept !== undefined || size > largestBlobInDatabase;
    if (files !== undefined && isFile) {
      if (kept !== undefined && (await files.has(hash, size))) return hash;
      await this.#saying(files.write(hash, bytes));
    }
    const inRow = files === undefined || !isFile ? bytes : null;
    await this.change(
      (db) => upsertBlob(db, { hash, mediaType, size, bytes: inRow, now: now() }),
      true,
    );
    return hash;
  }

  async get(hash: string): Promise<{ bytes: Uint8Array; mediaType: string } | undefined> {
    const { files, path, warn } = this.#options;
    const row = this.ask((db) => blobOf(db, hash));
    if (row === undefined) return undefined;
    const mediaType = row.media_type;
    if (row.in_file === 0) return { bytes: row.bytes ?? new Uint8Array(), mediaType };
    const bytes = files && (await this.#saying(files.read(hash)));
    if (bytes !== undefined) return { bytes, mediaType };
    warn(`${path}: the file of blob ${hash} is missing`);
    return undefined;
  }

  async prune(now: number): Promise<{ tasks: number; blobs: number }> {
    const { db, files, warn } = this.#options;
    const write = <Result>(work: (db: Connection) => Result) => this.change(work, false);
    await this.#saying(this.rebuildIndex());
    return this.#saying(prune({ db, write, files, warn }, this.#options, now));
  }

  async size(): Promise<number> {
    return this.ask(storedBytes);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#queue.flush();
    this.#isClosed = true;
    const { db, path, warn, onClosed } = this.#options;
    try {
      if (!this.readOnly) checkpoint(db);
    } catch (error) {
      // Nothing is lost by it: the next one to open the file reads the write-ahead log.
      warn(storeError(error, path).message);
    } finally {
      db.close();
      onClosed();
    }
  }

  protected ask<Result>(query: (db: Connection) => Result): Result {
    this.#refuseIfClosed();
    try {
      return query(this.#options.db);
    } catch (error) {
      throw storeError(error, this.#options.path);
    }
  }

  protected async change<Result>(
    work: (db: Connection) => Result,
    durable: boolean,
  ): Promise<Result> {
    this.#refuseIfClosed();
    const { path, readOnlyBecause } = this.#options;
    if (readOnlyBecause !== undefined)
      throw new StoreError(
        "store_unreachable",
        `${path} is open for reading only: ${readOnlyBecause}`,
      );
    return this.#saying(this.#queue.add(work, durable));
  }

  async #saying<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      throw storeError(error, this.#options.path);
    }
  }

  #refuseIfClosed(): void {
    if (this.#isClosed)
      throw new StoreError("store_failed", `${this.#options.path} is closed: open it again`);
  }
}
