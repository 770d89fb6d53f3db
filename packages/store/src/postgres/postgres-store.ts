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
import type { BlobBucket } from "../bucket/blob-bucket.ts";
import { StoreError } from "../error.ts";
import { buildBatch, toEventRow, type AppendJob } from "../log-batch.ts";
import type { LessonFilter, StoredLesson } from "../lesson-store.ts";
import {
  blobGraceMs,
  dayMs,
  hourMs,
  lostReplyMs,
  minuteMs,
  type RetentionOptions,
} from "../retention-options.ts";
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
import type { AccessKey, AccessKeyStore, NewAccessKey, UsageAmount } from "../access-keys.ts";
import {
  addKeyUsage,
  deleteAccessKey,
  findAccessKeys,
  hasAccessKeys,
  insertAccessKey,
  listAccessKeys,
  revokeAccessKey,
  touchAccessKeys,
} from "./access-keys.ts";
import { appendBatches } from "./append-batches.ts";
import { AppendQueue } from "./append-queue.ts";
import {
  findRootTaskByApproval,
  getPendingApprovalsDigest,
  listPendingApprovals,
} from "./approvals.ts";
import {
  deleteOldCommands,
  getCommandAnswer,
  insertCommand,
  listUnansweredCommands,
  setCommandAnswer,
} from "./commands.ts";
import type { PostgresConnection } from "./connection.ts";
import { ExclusiveLock } from "./exclusive-lock.ts";
import { getSnapshot, listEventsAfter, upsertSnapshot } from "./events.ts";
import { insertGrant, listGrants } from "./grants.ts";
import { BlobStorage } from "./blob-storage.ts";
import {
  claimIdempotencyKey,
  holdIdempotencyKey,
  releaseIdempotencyKey,
} from "./idempotency-keys.ts";
import { claimJob, deleteOldJobs } from "./jobs.ts";
import {
  claimFreeTasks,
  claimTasks,
  deleteExpiredLeases,
  deleteLease,
  listLeases,
  releaseTasks,
  upsertLease,
} from "./leases.ts";
import {
  deleteLessons,
  getLessonsVersion,
  incrementLessonsVersion,
  insertLessons,
  listLessons,
} from "./lessons.ts";
import { owns } from "./owners.ts";
import { PostgresResponseStore } from "./postgres-response-store.ts";
import type { PostgresPool } from "./postgres-pool.ts";
import { prune } from "./prune.ts";
import { getStoredBytes } from "./prune-queries.ts";
import { getServerTime } from "./server-time.ts";
import type { SharedLock } from "./shared-lock.ts";
import { getOrCreateSecret, listSecrets } from "./shared-secrets.ts";
import {
  findRootTask,
  findTaskWithLostReply,
  getTaskHead,
  listTaskHeads,
  listTasks,
  listUnfinishedTasks,
  setReplyLost,
  setUnfinishedRepliesLost,
} from "./tasks.ts";
import { toStoreError } from "./to-store-error.ts";

export interface PostgresStoreOptions extends RetentionOptions {
  pool: PostgresPool;
  /** The connection for appends, one transaction at a time. */
  appendPool: PostgresPool;
  /** The connections for leases, which nothing else occupies. */
  leasePool: PostgresPool;
  readOnly: boolean;
  /** True if several processes may write at the same time. */
  isShared: boolean;
  lock: ExclusiveLock | SharedLock | undefined;
  /** For large blobs. Undefined: all blobs are stored in rows. */
  bucket: BlobBucket | undefined;
  /** For error messages: the URL without password. */
  location: string;
  warn: (message: string) => void;
}

export class PostgresStore extends PostgresResponseStore implements Store {
  readonly readOnly: boolean;
  readonly isShared: boolean;
  readonly #options: PostgresStoreOptions;
  readonly #blobs: BlobStorage;
  readonly #appends: AppendQueue<AppendJob>;
  readonly #pendingWrites = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: PostgresStoreOptions) {
    super();
    this.#options = options;
    this.#blobs = new BlobStorage(options);
    this.readOnly = options.readOnly;
    this.isShared = options.isShared;
    this.#appends = new AppendQueue((jobs, durable) => this.#storeJobs(jobs, durable));
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
    const rows = [...(batch?.rows ?? []), ...job.replacements];
    const size = rows.reduce((sum, row) => sum + row.json.length + (row.private?.length ?? 0), 0);
    await this.#track(() => this.#appends.enqueue({ job, durable, size }));
  }

  /** Stores all valid jobs in one transaction. */
  async #storeJobs(
    jobs: readonly AppendJob[],
    durable: boolean,
  ): Promise<ReadonlyMap<AppendJob, Error>> {
    const { appendPool } = this.#options;
    const rejections = new Map<AppendJob, Error>();
    let remaining = jobs;
    while (remaining.length > 0) {
      const result = await appendPool.transaction(
        async (db) => {
          const result = await appendBatches(db, remaining);
          return { ...result, rollback: result.mustRetry };
        },
        { durable },
      );
      for (const [job, error] of result.rejections) rejections.set(job, error);
      if (!result.mustRetry) break;
      remaining = remaining.filter((job) => !rejections.has(job));
    }
    return rejections;
  }

  async read(rootTaskId: string, after: number, limit: number): Promise<LogRow[]> {
    return this.query((db) => listEventsAfter(db, rootTaskId, after, limit));
  }

  async head(rootTaskId: string): Promise<TaskHead | undefined> {
    return this.query((db) => getTaskHead(db, rootTaskId));
  }

  async listHeads(rootTaskIds: readonly string[]): Promise<(TaskHead & { task_id: string })[]> {
    if (rootTaskIds.length === 0) return [];
    return this.query((db) => listTaskHeads(db, rootTaskIds));
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
    return this.query((db) => findTaskWithLostReply(db, replyKey, lostReplyMs));
  }

  async setReplyLost(rootTaskId: string, isLost: boolean): Promise<void> {
    await this.#statement((db) => setReplyLost(db, rootTaskId, isLost));
  }

  async setUnfinishedRepliesLost(): Promise<void> {
    await this.#statement(setUnfinishedRepliesLost);
  }

  async claimTasks(processId: string, options: ClaimOptions): Promise<TaskLease[]> {
    const { leasePool } = this.#options;
    const { taskIds, ...claimOptions } = options;
    // A claim of given tasks may wait for appends of other processes, so it must not occupy a connection for leases.
    return taskIds === undefined
      ? this.#statement((db) => claimFreeTasks(db, processId, claimOptions), leasePool)
      : this.#statement((db) => claimTasks(db, processId, { ...claimOptions, taskIds }));
  }

  async renewLease(processId: string, ttlMs: number): Promise<boolean> {
    const { leasePool } = this.#options;
    return this.#statement((db) => upsertLease(db, processId, ttlMs), leasePool);
  }

  async getTime(): Promise<number> {
    this.#assertOpen();
    return this.#withStoreErrors(() => this.#options.leasePool.query(getServerTime));
  }

  async listLeases(processId: string): Promise<TaskLease[]> {
    this.#assertOpen();
    return this.#withStoreErrors(() =>
      this.#options.leasePool.query((db) => listLeases(db, processId)),
    );
  }

  async releaseLeases(processId: string, taskIds?: readonly string[]): Promise<void> {
    const { leasePool } = this.#options;
    await this.#statement((db) => releaseTasks(db, processId, taskIds), leasePool);
    if (taskIds === undefined) await this.#statement((db) => deleteLease(db, processId), leasePool);
  }

  async sendCommand(command: TaskCommand): Promise<void> {
    await this.#statement((db) => insertCommand(db, command));
  }

  async listCommands(
    processId: string,
    options: { limit: number; exclude?: readonly string[] },
  ): Promise<TaskCommand[]> {
    return this.query((db) => listUnansweredCommands(db, processId, options));
  }

  async answerCommand(commandId: string, json: string): Promise<void> {
    await this.#statement((db) => setCommandAnswer(db, commandId, json));
  }

  async getCommandAnswer(commandId: string): Promise<string | undefined> {
    return this.query((db) => getCommandAnswer(db, commandId));
  }

  async claimJob(name: string, intervalMs: number): Promise<boolean> {
    return this.#statement((db) => claimJob(db, name, intervalMs));
  }

  async listTasks(filter: TaskFilter): Promise<TaskSummary[]> {
    return this.query((db) => listTasks(db, filter));
  }

  async listGrants(sessionId: string, owner = ""): Promise<Grant[]> {
    return this.query((db) => listGrants(db, owner, sessionId));
  }

  async addGrant(sessionId: string, grant: Grant, owner = ""): Promise<void> {
    await this.write((db) => insertGrant(db, owner, sessionId, grant));
  }

  async saveSnapshot(rootTaskId: string, asOf: number, json: string): Promise<void> {
    await this.write((db) => upsertSnapshot(db, rootTaskId, asOf, json), { durable: false });
  }

  async snapshot(rootTaskId: string): Promise<{ as_of: number; json: string } | undefined> {
    return this.query((db) => getSnapshot(db, rootTaskId));
  }

  async claimIdempotencyKey(
    idempotencyKey: string,
    bodyHash: string,
    rootTaskId: string,
  ): Promise<IdempotencyRecord> {
    return this.write((db) =>
      claimIdempotencyKey(db, idempotencyKey, { bodyHash, rootTaskId }, dayMs),
    );
  }

  async holdIdempotencyKey(idempotencyKey: string, lease: IdempotencyLease): Promise<boolean> {
    return this.write((db) => holdIdempotencyKey(db, idempotencyKey, lease));
  }

  async releaseIdempotencyKey(idempotencyKey: string, holder: string): Promise<void> {
    await this.write((db) => releaseIdempotencyKey(db, idempotencyKey, holder));
  }

  async put(
    input: Uint8Array,
    mediaType: string,
    { unusedMs = blobGraceMs, owner = "" }: { unusedMs?: number; owner?: string } = {},
  ): Promise<string> {
    const bytes = new Uint8Array(input); // the caller may reuse its buffer
    const hash = createHash("sha256").update(bytes).digest("hex");
    await this.#track(async () => {
      const now = await this.#options.pool.query(getServerTime);
      const putAt = now + Math.max(0, unusedMs - blobGraceMs);
      await this.#blobs.put({ hash, mediaType, size: bytes.length, bytes, putAt }, owner);
    });
    return hash;
  }

  async get(
    hash: string,
    { owner = "" }: { owner?: string } = {},
  ): Promise<StoredBlob | undefined> {
    this.#assertOpen();
    return this.#withStoreErrors(() => this.#blobs.get(owner, hash));
  }

  async createAccessKey(key: NewAccessKey): Promise<boolean> {
    return this.write((db) => insertAccessKey(db, key));
  }

  async listAccessKeys(): Promise<AccessKey[]> {
    return this.query(listAccessKeys);
  }

  async findAccessKeys(
    hashes: readonly string[],
  ): Promise<{ matches: { hash: string; key: AccessKey }[]; hasKeys: boolean }> {
    return this.query(async (db) => {
      const [matches, hasKeys] = await Promise.all([findAccessKeys(db, hashes), hasAccessKeys(db)]);
      return { matches, hasKeys };
    });
  }

  async revokeAccessKey(keyId: string, revokedAt: number): Promise<boolean> {
    return this.write((db) => revokeAccessKey(db, keyId, revokedAt));
  }

  async removeAccessKey(keyId: string): Promise<boolean> {
    return this.write((db) => deleteAccessKey(db, keyId));
  }

  async touchAccessKeys(keyIds: readonly string[], usedAt: number): Promise<void> {
    const times = { usedAt, unlessUsedAfter: usedAt - minuteMs };
    await this.write((db) => touchAccessKeys(db, keyIds, times), { durable: false });
  }

  async addUsage(amounts: readonly UsageAmount[]): ReturnType<AccessKeyStore["addUsage"]> {
    return this.write((db) => addKeyUsage(db, amounts), { durable: false });
  }

  async addLessons(lessons: readonly StoredLesson[]): Promise<void> {
    await this.write(async (db) => {
      if ((await insertLessons(db, lessons)) > 0) await incrementLessonsVersion(db);
    });
  }

  async removeLessons(filter: LessonFilter): Promise<void> {
    await this.write(async (db) => {
      if ((await deleteLessons(db, filter)) > 0) await incrementLessonsVersion(db);
    });
  }

  async listLessons(): Promise<StoredLesson[]> {
    return this.query(listLessons);
  }

  async getLessonsVersion(): Promise<number> {
    return this.query(getLessonsVersion);
  }

  async getOrCreateSecret(name: string, newValue: string): Promise<string> {
    return this.write((db) => getOrCreateSecret(db, name, newValue));
  }

  async getSecret(name: string): Promise<string | undefined> {
    return (await this.query(listSecrets)).get(name);
  }

  async prune(time?: number): Promise<{ tasks: number; blobs: number }> {
    const { warn } = this.#options;
    const now = time ?? (await this.query(getServerTime));
    await this.#statement((db) => deleteExpiredLeases(db, hourMs));
    await this.#statement((db) => deleteOldCommands(db, hourMs));
    await this.#statement((db) => deleteOldJobs(db, dayMs));
    const removed = await this.#track(() =>
      prune(
        (work) => {
          this.#assertOpen(); // `close` does not wait for the rest
          return this.#options.pool.run(work);
        },
        this.#options,
        now,
        warn,
      ),
    );
    await this.#track(() => this.#blobs.deleteGarbage());
    return removed;
  }

  async size(): Promise<number> {
    return this.query(getStoredBytes);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.allSettled([this.#appends.flush(), ...this.#pendingWrites]);
    const { pool, appendPool, leasePool } = this.#options;
    await Promise.all([pool.close(), appendPool.close(), leasePool.close()]);
    await this.#options.lock?.release();
  }

  protected async query<Result>(
    work: (db: PostgresConnection) => Promise<Result>,
  ): Promise<Result> {
    this.#assertOpen();
    return this.#withStoreErrors(() => this.#options.pool.query(work));
  }

  /** Runs one statement that writes, without BEGIN and COMMIT. */
  async #statement<Result>(
    work: (db: PostgresConnection) => Promise<Result>,
    pool = this.#options.pool,
  ): Promise<Result> {
    // An exclusive store checks its epoch in the same transaction.
    return this.#track(() => (pool.guard === undefined ? pool.query(work) : pool.run(work)));
  }

  protected async write<Result>(
    work: (db: PostgresConnection) => Promise<Result>,
    options?: { durable: boolean },
  ): Promise<Result> {
    return this.#track(() => this.#options.pool.run(work, options));
  }

  protected async transaction<Result extends { rollback: boolean }>(
    work: (db: PostgresConnection) => Promise<Result>,
  ): Promise<Result> {
    return this.#track(() => this.#options.pool.transaction(work, { durable: true }));
  }

  /** `close` waits for this work. */
  async #track<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#assertOpen();
    const { lock, location } = this.#options;
    if (this.readOnly)
      throw new StoreError("store_unreachable", `${location} is read-only: opened with readOnly`);
    const pending = this.#withStoreErrors(async () => {
      // Not awaited if it is held: appends of one task must be queued in the order of their calls.
      if (lock instanceof ExclusiveLock && !lock.isHeld) await lock.assertHeld();
      return work();
    });
    this.#pendingWrites.add(pending);
    try {
      return await pending;
    } finally {
      this.#pendingWrites.delete(pending);
    }
  }

  async #withStoreErrors<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw toStoreError(error, this.#options.location);
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new StoreError("store_failed", `${this.#options.location} is closed`);
  }
}
