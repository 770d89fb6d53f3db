import { createHash } from "node:crypto";
import type {
  AppendOptions,
  ClaimOptions,
  Grant,
  LogEntry,
  LogRow,
  StoredBlob,
  TaskCommand,
  TaskLease,
} from "@deltawire/tasks";
import { appendEvents } from "./append-batch.ts";
import { buildBatch, toEventRow } from "../log-batch.ts";
import type { BlobFiles } from "./blob-files.ts";
import { CommitQueue } from "./commit-queue.ts";
import { StoreError } from "../error.ts";
import { toStoreError } from "./to-store-error.ts";
import { prune, getStoredBytes } from "./prune.ts";
import type { LessonFilter, StoredLesson } from "../lesson-store.ts";
import {
  blobGraceMs,
  dayMs,
  hourMs,
  lostReplyMs,
  minuteMs,
  type RetentionOptions,
} from "../retention-options.ts";
import type { AccessKey, AccessKeyStore, NewAccessKey, UsageAmount } from "../access-keys.ts";
import {
  addKeyUsage,
  deleteAccessKey,
  findAccessKey,
  hasAccessKeys,
  insertAccessKey,
  listAccessKeys,
  revokeAccessKey,
  touchAccessKeys,
} from "./access-keys.ts";
import {
  findRootTaskByApproval,
  getPendingApprovalsDigest,
  listPendingApprovals,
} from "./approvals.ts";
import { getBlob, insertBlobOwner, touchBlob, upsertBlob } from "./blobs.ts";
import {
  deleteCommandsBefore,
  getCommandAnswer,
  insertCommand,
  listUnansweredCommands,
  setCommandAnswer,
} from "./commands.ts";
import type { SqliteConnection } from "./connection.ts";
import { checkpoint } from "./pragmas.ts";
import { listEventsAfter, getNewestSnapshot, upsertSnapshot } from "./events.ts";
import { listGrants, insertGrant } from "./grants.ts";
import {
  claimIdempotencyKey,
  holdIdempotencyKey,
  releaseIdempotencyKey,
} from "./idempotency-keys.ts";
import { claimJob, deleteJobsBefore } from "./jobs.ts";
import {
  claimFreeTasks,
  claimTasks,
  deleteLease,
  deleteLeasesBefore,
  listLeases,
  releaseAllTasks,
  releaseTask,
  upsertLease,
} from "./leases.ts";
import {
  deleteLessons,
  getLessonsVersion,
  incrementLessonsVersion,
  insertLessons,
  listLessons,
} from "./lessons.ts";
import { getOrCreateSecret, listSecrets } from "./shared-secrets.ts";
import { owns } from "./owners.ts";
import {
  findRootTask,
  findTaskWithLostReply,
  getRootTask,
  listTasks,
  listUnfinishedTasks,
  setReplyLost,
  setUnfinishedRepliesLost,
} from "./tasks.ts";
import { SqliteResponseStore } from "./sqlite-response-store.ts";
import type {
  IdempotencyLease,
  IdempotencyRecord,
  OwnedKind,
  PendingApprovalRef,
  Store,
  TaskFilter,
  TaskHead,
  TaskSummary,
} from "../store.ts";

export interface SqliteStoreOptions extends RetentionOptions {
  db: SqliteConnection;
  /** For error messages. */
  path: string;
  /** Undefined: all blobs are in the database. */
  blobFiles: BlobFiles | undefined;
  /** Why the store is read-only. Undefined if it is writable. */
  readOnlyReason: string | undefined;
  now: () => number;
  warn: (message: string) => void;
  /** Called after the database was closed. */
  onClose: () => void;
}

/**
 * Larger blobs are stored as files: the database stays small to back up and vacuum, and large images are written
 * outside the event loop. For smaller ones a row is cheaper than a file with its fsync and that of its folder.
 */
export const maxInlineBlobBytes = 64 * 1024;

/**
 * The methods are async to allow for network stores. SQLite itself runs synchronously: a batch of a hundred events
 * takes less time than a message to another thread and back.
 */
export class SqliteStore extends SqliteResponseStore implements Store {
  readonly readOnly: boolean;
  readonly isShared = false;
  readonly #options: SqliteStoreOptions;
  readonly #queue: CommitQueue;
  #isClosed = false;

  constructor(options: SqliteStoreOptions) {
    super(options.now);
    this.#options = options;
    this.#queue = new CommitQueue(options.db);
    this.readOnly = options.readOnlyReason !== undefined;
  }

  async append(
    rootTaskId: string,
    entries: readonly LogEntry[],
    { durable, replacements = [], lease, creation }: AppendOptions,
  ): Promise<void> {
    const [first, ...rest] = entries;
    const batch = first && buildBatch(rootTaskId, [first, ...rest]);
    const job = {
      rootTaskId,
      batch,
      replacements: replacements.map(toEventRow),
      lease,
      creation,
    };
    if (batch === undefined && job.replacements.length === 0) return;
    const now = this.#options.now();
    await this.write((db) => appendEvents(db, job, now), durable);
  }

  async read(rootTaskId: string, after: number, limit: number): Promise<LogRow[]> {
    return this.query((db) => listEventsAfter(db, rootTaskId, after, limit));
  }

  async head(rootTaskId: string): Promise<TaskHead | undefined> {
    const task = this.query((db) => getRootTask(db, rootTaskId));
    return task && { head: task.head, oldest: task.oldest, status: task.status };
  }

  async listHeads(rootTaskIds: readonly string[]): Promise<(TaskHead & { task_id: string })[]> {
    const ids = [...new Set(rootTaskIds)];
    return this.query((db) =>
      ids.flatMap((task_id) => {
        const task = getRootTask(db, task_id);
        if (task === undefined) return [];
        return [{ task_id, head: task.head, oldest: task.oldest, status: task.status }];
      }),
    );
  }

  async listUnfinished(): Promise<string[]> {
    return this.query(listUnfinishedTasks);
  }

  async findRootTask(taskId: string): Promise<string | undefined> {
    return this.query((db) => findRootTask(db, taskId));
  }

  async findRootTaskByApproval(approvalId: string): Promise<string | undefined> {
    return this.query((db) => findRootTaskByApproval(db, approvalId));
  }

  async owns(owner: string, kind: OwnedKind, id: string): Promise<boolean> {
    return this.query((db) => owns(db, owner, kind, id));
  }

  async listPendingApprovals(): Promise<PendingApprovalRef[]> {
    return this.query(listPendingApprovals);
  }

  async getPendingApprovalsDigest(): Promise<string> {
    return this.query(getPendingApprovalsDigest);
  }

  async findTaskWithLostReply(replyKey: string): Promise<string | undefined> {
    const now = this.#options.now();
    return this.query((db) =>
      findTaskWithLostReply(db, replyKey, { now, completedSince: now - lostReplyMs }),
    );
  }

  async setReplyLost(rootTaskId: string, isLost: boolean): Promise<void> {
    await this.write((db) => setReplyLost(db, rootTaskId, isLost), false);
  }

  async setUnfinishedRepliesLost(): Promise<void> {
    await this.write(setUnfinishedRepliesLost, false);
  }

  async claimTasks(processId: string, options: ClaimOptions): Promise<TaskLease[]> {
    const { taskIds, ...rest } = options;
    const claimOptions = { ...rest, now: this.#options.now() };
    return this.write(
      (db) =>
        taskIds === undefined
          ? claimFreeTasks(db, processId, claimOptions)
          : claimTasks(db, processId, { ...claimOptions, taskIds }),
      false,
    );
  }

  async renewLease(processId: string, ttlMs: number): Promise<boolean> {
    return this.write(
      (db) => upsertLease(db, processId, { now: this.#options.now(), ttlMs }),
      false,
    );
  }

  async getTime(): Promise<number> {
    return this.#options.now();
  }

  async listLeases(processId: string): Promise<TaskLease[]> {
    return this.query((db) => listLeases(db, processId));
  }

  async releaseLeases(processId: string, taskIds?: readonly string[]): Promise<void> {
    await this.write((db) => {
      if (taskIds !== undefined) for (const id of taskIds) releaseTask(db, processId, id);
      else {
        releaseAllTasks(db, processId);
        deleteLease(db, processId);
      }
    }, false);
  }

  async sendCommand(command: TaskCommand): Promise<void> {
    await this.write((db) => insertCommand(db, command, this.#options.now()), false);
  }

  async listCommands(
    processId: string,
    options: { limit: number; exclude?: readonly string[] },
  ): Promise<TaskCommand[]> {
    return this.query((db) => listUnansweredCommands(db, processId, options));
  }

  async answerCommand(commandId: string, json: string): Promise<void> {
    await this.write((db) => setCommandAnswer(db, commandId, json), false);
  }

  async getCommandAnswer(commandId: string): Promise<string | undefined> {
    return this.query((db) => getCommandAnswer(db, commandId));
  }

  async claimJob(name: string, intervalMs: number): Promise<boolean> {
    const now = this.#options.now();
    return this.write((db) => claimJob(db, name, { now, intervalMs }), false);
  }

  async listTasks(filter: TaskFilter): Promise<TaskSummary[]> {
    return this.query((db) => listTasks(db, filter));
  }

  async listGrants(sessionId: string, owner = ""): Promise<Grant[]> {
    return this.query((db) => listGrants(db, owner, sessionId));
  }

  async addGrant(sessionId: string, grant: Grant, owner = ""): Promise<void> {
    const { now } = this.#options;
    await this.write((db) => insertGrant(db, owner, sessionId, grant, now()), true);
  }

  async saveSnapshot(rootTaskId: string, asOf: number, json: string): Promise<void> {
    await this.write((db) => {
      const task = getRootTask(db, rootTaskId);
      if (task !== undefined) upsertSnapshot(db, task.number, asOf, json);
    }, false);
  }

  async snapshot(rootTaskId: string): Promise<{ as_of: number; json: string } | undefined> {
    return this.query((db) => getNewestSnapshot(db, rootTaskId));
  }

  async claimIdempotencyKey(
    idempotencyKey: string,
    bodyHash: string,
    rootTaskId: string,
  ): Promise<IdempotencyRecord> {
    const now = this.#options.now();
    const times = { now, expiredBefore: now - dayMs };
    return this.write(
      (db) => claimIdempotencyKey(db, idempotencyKey, { bodyHash, rootTaskId }, times),
      true,
    );
  }

  async holdIdempotencyKey(idempotencyKey: string, lease: IdempotencyLease): Promise<boolean> {
    const now = this.#options.now();
    return this.write((db) => holdIdempotencyKey(db, idempotencyKey, lease, now), false);
  }

  async releaseIdempotencyKey(idempotencyKey: string, holder: string): Promise<void> {
    await this.write((db) => releaseIdempotencyKey(db, idempotencyKey, holder), false);
  }

  async put(
    input: Uint8Array,
    mediaType: string,
    { unusedMs = blobGraceMs, owner = "" }: { unusedMs?: number; owner?: string } = {},
  ): Promise<string> {
    const { blobFiles } = this.#options;
    const now = () => this.#options.now() + Math.max(0, unusedMs - blobGraceMs);
    const bytes = new Uint8Array(input); // the caller may reuse its buffer
    const hash = createHash("sha256").update(bytes).digest("hex");
    const size = bytes.byteLength;
    // Touch it first, so that pruning does not remove it meanwhile.
    const existing = await this.write((db) => {
      const blob = touchBlob(db, hash, now());
      if (blob !== undefined) insertBlobOwner(db, owner, hash);
      return blob;
    }, false);
    if (existing?.in_file === 0) return hash;
    const isStoredAsFile = existing !== undefined || size > maxInlineBlobBytes;
    if (blobFiles !== undefined && isStoredAsFile) {
      if (existing !== undefined && (await blobFiles.has(hash, size))) return hash;
      await this.#withStoreErrors(blobFiles.write(hash, bytes));
    }
    const inlineBytes = blobFiles === undefined || !isStoredAsFile ? bytes : null;
    await this.write((db) => {
      upsertBlob(db, { hash, mediaType, size, bytes: inlineBytes, now: now() });
      insertBlobOwner(db, owner, hash);
    }, true);
    return hash;
  }

  async get(
    hash: string,
    { owner = "" }: { owner?: string } = {},
  ): Promise<StoredBlob | undefined> {
    const { blobFiles, path, warn } = this.#options;
    const row = this.query((db) => getBlob(db, owner, hash));
    if (row === undefined) return undefined;
    const mediaType = row.media_type;
    if (row.in_file === 0) return { bytes: row.bytes ?? new Uint8Array(), mediaType };
    const bytes = blobFiles && (await this.#withStoreErrors(blobFiles.read(hash)));
    if (bytes !== undefined) return { bytes, mediaType };
    warn(`${path}: the file of blob ${hash} is missing`);
    return undefined;
  }

  async createAccessKey(key: NewAccessKey): Promise<boolean> {
    return this.write((db) => insertAccessKey(db, key), true);
  }

  async listAccessKeys(): Promise<AccessKey[]> {
    return this.query(listAccessKeys);
  }

  async findAccessKeys(
    hashes: readonly string[],
  ): Promise<{ matches: { hash: string; key: AccessKey }[]; hasKeys: boolean }> {
    return this.query((db) => {
      const matches = hashes.flatMap((hash) => {
        const key = findAccessKey(db, hash);
        return key === undefined ? [] : [{ hash, key }];
      });
      return { matches, hasKeys: hasAccessKeys(db) };
    });
  }

  async revokeAccessKey(keyId: string, revokedAt: number): Promise<boolean> {
    return this.write((db) => revokeAccessKey(db, keyId, revokedAt), true);
  }

  async removeAccessKey(keyId: string): Promise<boolean> {
    return this.write((db) => deleteAccessKey(db, keyId), true);
  }

  async touchAccessKeys(keyIds: readonly string[], usedAt: number): Promise<void> {
    const times = { usedAt, unlessUsedAfter: usedAt - minuteMs };
    await this.write((db) => touchAccessKeys(db, keyIds, times), false);
  }

  async addUsage(amounts: readonly UsageAmount[]): ReturnType<AccessKeyStore["addUsage"]> {
    const now = this.#options.now();
    return { totals: await this.write((db) => addKeyUsage(db, amounts, now), false), now };
  }

  async addLessons(lessons: readonly StoredLesson[]): Promise<void> {
    await this.write((db) => {
      if (insertLessons(db, lessons) > 0) incrementLessonsVersion(db);
    }, true);
  }

  async removeLessons(filter: LessonFilter): Promise<void> {
    await this.write((db) => {
      if (deleteLessons(db, filter) > 0) incrementLessonsVersion(db);
    }, true);
  }

  async listLessons(): Promise<StoredLesson[]> {
    return this.query(listLessons);
  }

  async getLessonsVersion(): Promise<number> {
    return this.query(getLessonsVersion);
  }

  async getOrCreateSecret(name: string, newValue: string): Promise<string> {
    return this.write((db) => getOrCreateSecret(db, name, newValue), true);
  }

  async getSecret(name: string): Promise<string | undefined> {
    return this.query(listSecrets).get(name);
  }

  async prune(now = this.#options.now()): Promise<{ tasks: number; blobs: number }> {
    const { db, blobFiles, warn } = this.#options;
    const write = <Result>(work: (db: SqliteConnection) => Result) => this.write(work, false);
    await this.#withStoreErrors(this.rebuildSearchIndex());
    const anHourAgo = this.#options.now() - hourMs;
    await write((db) => deleteLeasesBefore(db, anHourAgo));
    await write((db) => deleteCommandsBefore(db, anHourAgo));
    await write((db) => deleteJobsBefore(db, this.#options.now() - dayMs));
    return this.#withStoreErrors(prune({ db, write, blobFiles, warn }, this.#options, now));
  }

  async size(): Promise<number> {
    return this.query(getStoredBytes);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#queue.flush();
    this.#isClosed = true;
    const { db, path, warn, onClose } = this.#options;
    try {
      if (!this.readOnly) checkpoint(db);
    } catch (error) {
      // No data is lost: the write-ahead log is read when the file is opened again.
      warn(toStoreError(error, path).message);
    } finally {
      db.close();
      onClose();
    }
  }

  protected query<Result>(query: (db: SqliteConnection) => Result): Result {
    this.#assertOpen();
    try {
      return query(this.#options.db);
    } catch (error) {
      throw toStoreError(error, this.#options.path);
    }
  }

  protected async write<Result>(
    work: (db: SqliteConnection) => Result,
    durable: boolean,
  ): Promise<Result> {
    this.#assertOpen();
    const { path, readOnlyReason } = this.#options;
    if (readOnlyReason !== undefined)
      throw new StoreError("store_unreachable", `${path} is read-only: ${readOnlyReason}`);
    return this.#withStoreErrors(this.#queue.enqueue(work, durable));
  }

  async #withStoreErrors<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      throw toStoreError(error, this.#options.path);
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new StoreError("store_failed", `${this.#options.path} is closed`);
  }
}
