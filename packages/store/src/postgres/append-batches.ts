import { StoreError } from "../error.ts";
import {
  createIdTakenError,
  createSequenceError,
  findAppendError,
  findRootInfo,
  findRowBlobs,
  subTaskColumns,
  toRootTaskColumns,
  type AppendJob,
  type EventRow,
  type LogBatch,
} from "../log-batch.ts";
import { insertApprovals, settleApprovals, type ApprovalRow } from "./approvals.ts";
import { deleteBlobRef, insertBlobRefs } from "./blobs.ts";
import type { PostgresConnection } from "./connection.ts";
import { deleteSnapshotIncluding, eventsContain, insertEvents, replaceEvent } from "./events.ts";
import {
  insertTasks,
  lockRootTasks,
  setTaskHeads,
  setTaskStatuses,
  type NewTaskRow,
  type RootTaskRow,
  type TaskStatusChange,
} from "./tasks.ts";

/**
 * Stores all jobs that are valid and returns the errors of the others. Call it in a transaction, and roll it back if
 * `mustRetry` is set: then repeat it without the rejected jobs.
 */
export async function appendBatches(
  db: PostgresConnection,
  jobs: readonly AppendJob[],
): Promise<{ rejections: Map<AppendJob, StoreError>; mustRetry: boolean }> {
  const rejections = new Map<AppendJob, StoreError>();
  const roots = await openRootTasks(db, jobs, rejections);
  const changes = collectChanges(jobs, roots, rejections);
  // The root task of a rejected job may have been created.
  if (changes.hasIdConflict) return { rejections, mustRetry: true };
  const conflictingIds = await writeTasks(db, changes);
  for (const job of jobs) {
    const hasConflict = job.batch?.changes.some(
      (change) => change.kind === "created" && conflictingIds.has(change.taskId),
    );
    if (hasConflict === true && !rejections.has(job))
      rejections.set(job, createSubTaskConflictError(job.rootTaskId));
  }
  if (conflictingIds.size > 0) return { rejections, mustRetry: true };
  const { events, approvals, settledApprovals, blobRefs, heads } = changes;
  // Sent together, because none depends on the result of another.
  await Promise.all([
    events.length > 0 && insertEvents(db, events),
    heads.size > 0 && setTaskHeads(db, heads),
    approvals.size > 0 && insertApprovals(db, [...approvals.values()]),
    settledApprovals.size > 0 && settleApprovals(db, [...settledApprovals]),
    blobRefs.length > 0 && insertBlobRefs(db, blobRefs),
  ]);
  for (const job of jobs) {
    const root = roots.get(job.rootTaskId);
    if (root !== undefined && !rejections.has(job))
      await replaceEvents(db, root.number, job.replacements);
  }
  return { rejections, mustRetry: false };
}

/** Locks the root tasks of all jobs and creates the new ones. */
async function openRootTasks(
  db: PostgresConnection,
  jobs: readonly AppendJob[],
  rejections: Map<AppendJob, StoreError>,
): Promise<Map<string, RootTaskRow>> {
  const ids = [...new Set(jobs.map(({ rootTaskId }) => rootTaskId))];
  const roots = new Map<string, RootTaskRow>();
  for (const row of await lockRootTasks(db, ids)) roots.set(row.task_id, row);
  const newTasks = new Map<string, NewTaskRow>();
  for (const job of jobs) {
    const { rootTaskId, batch } = job;
    if (batch === undefined || roots.has(rootTaskId) || newTasks.has(rootTaskId)) continue;
    const info = findRootInfo(batch);
    if (info === undefined || batch.first !== 0) rejections.set(job, createMissingRootError(batch));
    else
      newTasks.set(rootTaskId, {
        ...toRootTaskColumns(job),
        taskId: rootTaskId,
        info,
        root: null,
        status: info.status,
      });
  }
  if (newTasks.size === 0) return roots;
  for (const row of await insertTasks(db, [...newTasks.values()])) roots.set(row.task_id, row);
  for (const job of jobs)
    if (newTasks.has(job.rootTaskId) && !roots.has(job.rootTaskId) && !rejections.has(job))
      rejections.set(job, createIdTakenError(job.rootTaskId));
  return roots;
}

function createMissingRootError({ rootTaskId, first }: LogBatch): StoreError {
  return first === 0
    ? new StoreError(
        "store_failed",
        `${rootTaskId}: the first batch of a task must contain task.created; nothing was stored`,
      )
    : createSequenceError(rootTaskId, first, -1);
}

interface Changes {
  events: (EventRow & { root: number })[];
  /** The new sub-tasks by id, with their last status. */
  newTasks: Map<string, NewTaskRow & { root: number }>;
  /** The last status of each existing task. */
  statuses: Map<string, TaskStatusChange>;
  approvals: Map<string, ApprovalRow>;
  /** Ids of existing approvals that were decided or have expired. */
  settledApprovals: Set<string>;
  blobRefs: { root: number; hash: string }[];
  /** The last sequence number by root. */
  heads: Map<number, number>;
  /** True if a job was rejected because its sub-task has the id of another task of the same transaction. */
  hasIdConflict: boolean;
}

/** The heads of `roots` advance with each collected job. */
function collectChanges(
  jobs: readonly AppendJob[],
  roots: ReadonlyMap<string, RootTaskRow>,
  rejections: Map<AppendJob, StoreError>,
): Changes {
  const changes: Changes = {
    events: [],
    newTasks: new Map(),
    statuses: new Map(),
    approvals: new Map(),
    settledApprovals: new Set(),
    blobRefs: [],
    heads: new Map(),
    hasIdConflict: false,
  };
  for (const job of jobs) {
    const { batch, rootTaskId } = job;
    const root = roots.get(rootTaskId);
    if (root === undefined || rejections.has(job)) continue;
    const error = findAppendError(root, rootTaskId, batch, job.lease);
    if (error !== undefined) rejections.set(job, error);
    if (batch === undefined || error !== undefined) continue;
    const hasConflict = batch.changes.some(
      (change) =>
        change.kind === "created" &&
        change.taskId !== rootTaskId &&
        (roots.has(change.taskId) ||
          (changes.newTasks.get(change.taskId)?.root ?? root.number) !== root.number),
    );
    if (hasConflict) {
      changes.hasIdConflict = true;
      rejections.set(job, createSubTaskConflictError(rootTaskId));
      continue;
    }
    root.head = batch.last;
    changes.heads.set(root.number, batch.last);
    for (const row of batch.rows) changes.events.push({ root: root.number, ...row });
    for (const hash of batch.blobHashes) changes.blobRefs.push({ root: root.number, hash });
    for (const change of batch.changes) {
      if (change.kind === "approval requested") {
        const { approvalId, sequenceNumber: pendingSince } = change;
        changes.approvals.set(approvalId, { approvalId, root: root.number, pendingSince });
        changes.settledApprovals.delete(approvalId);
      } else if (change.kind === "approval settled") {
        const { approvalId } = change;
        const newApproval = changes.approvals.get(approvalId);
        if (newApproval === undefined) changes.settledApprovals.add(approvalId);
        else changes.approvals.set(approvalId, { ...newApproval, pendingSince: null });
      } else if (change.kind === "status") {
        const { taskId, status } = change;
        const newTask = changes.newTasks.get(taskId);
        if (newTask === undefined) changes.statuses.set(taskId, { taskId, status });
        else changes.newTasks.set(taskId, { ...newTask, status });
      } else if (change.taskId !== rootTaskId) {
        const { taskId, info } = change;
        const columns = { ...subTaskColumns, root: root.number };
        changes.newTasks.set(taskId, { ...columns, taskId, info, status: info.status });
        changes.statuses.delete(taskId);
      }
    }
  }
  return changes;
}

/** Returns the ids that belong to tasks of other roots. */
async function writeTasks(
  db: PostgresConnection,
  { newTasks, statuses }: Changes,
): Promise<Set<string>> {
  const conflictingIds = new Set(newTasks.keys());
  if (newTasks.size > 0)
    for (const { task_id } of await insertTasks(db, [...newTasks.values()]))
      conflictingIds.delete(task_id);
  if (conflictingIds.size === 0 && statuses.size > 0)
    await setTaskStatuses(db, [...statuses.values()]);
  return conflictingIds;
}

/** Overwrites events and deletes the references to blobs that only the old ones had. */
async function replaceEvents(
  db: PostgresConnection,
  root: number,
  rows: readonly EventRow[],
): Promise<void> {
  for (const row of rows) {
    const previous = await replaceEvent(db, root, row);
    if (previous === undefined) continue;
    await deleteSnapshotIncluding(db, root, row.sequence_number);
    const refs = [...findRowBlobs(row)].map((hash) => ({ root, hash }));
    if (refs.length > 0) await insertBlobRefs(db, refs);
    for (const hash of findRowBlobs(previous))
      if (!(await eventsContain(db, root, hash))) await deleteBlobRef(db, root, hash);
  }
}

function createSubTaskConflictError(rootTaskId: string): StoreError {
  return new StoreError(
    "store_failed",
    `${rootTaskId}: a task of another root has the id of a sub-task; nothing was stored`,
  );
}
