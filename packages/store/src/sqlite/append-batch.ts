import { hasEnded } from "@deltawire/tasks";
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
import { StoreError } from "../error.ts";
import { deleteBlobRef, insertBlobRef } from "./blobs.ts";
import type { SqliteConnection } from "./connection.ts";
import { withSecureDelete } from "./pragmas.ts";
import { deleteSnapshotsFrom, insertEvent, eventsContain, replaceEvent } from "./events.ts";
import { insertApproval, settleApproval } from "./approvals.ts";
import { insertTask, getRootTask, setTaskHead, setTaskStatus } from "./tasks.ts";

/** Writes all events of a job, or throws the reason why it is rejected. Call it in a transaction. */
export function appendEvents(db: SqliteConnection, job: AppendJob, now: number): void {
  const { rootTaskId, batch, replacements, lease } = job;
  const root = getRootTask(db, rootTaskId);
  if (root !== undefined) {
    const error = findAppendError(root, rootTaskId, batch, lease);
    if (error !== undefined) throw error;
  }
  const number = root?.number ?? (batch && insertRootTask(db, batch, job, now));
  if (number === undefined) return;
  if (batch !== undefined) appendBatch(db, number, batch, now);
  replaceEventRows(db, number, replacements);
}

/** Writes the events of a batch and the resulting changes of tasks, approvals and blobs. */
function appendBatch(db: SqliteConnection, root: number, batch: LogBatch, now: number): void {
  for (const row of batch.rows) insertEvent(db, root, row);
  for (const change of batch.changes) {
    if (change.kind === "status")
      setTaskStatus(db, change.taskId, change.status, hasEnded(change.status) ? now : null, now);
    else if (change.kind === "approval settled") settleApproval(db, change.approvalId);
    else if (change.kind === "approval requested")
      insertApproval(db, { ...change, root, pendingSince: change.sequenceNumber });
    else if (change.taskId !== batch.rootTaskId) {
      const number = insertTask(db, { ...subTaskColumns, ...change, root, now });
      if (number === undefined)
        throw new StoreError(
          "store_failed",
          `${batch.rootTaskId}: a task of another root has the id ${change.taskId}; nothing was stored`,
        );
    }
  }
  for (const hash of batch.blobHashes) insertBlobRef(db, root, hash);
  setTaskHead(db, root, batch.last, now);
}

/** Replaces events and deletes blob references that only the old ones had. */
function replaceEventRows(db: SqliteConnection, root: number, rows: readonly EventRow[]): void {
  if (rows.length === 0) return;
  withSecureDelete(db, () => {
    for (const row of rows) {
      const previous = replaceEvent(db, root, row);
      if (previous === undefined) continue;
      deleteSnapshotsFrom(db, root, row.sequence_number);
      for (const hash of findRowBlobs(row)) insertBlobRef(db, root, hash);
      for (const hash of findRowBlobs(previous))
        if (!eventsContain(db, root, hash)) deleteBlobRef(db, root, hash);
    }
  });
}

function insertRootTask(
  db: SqliteConnection,
  batch: LogBatch,
  job: AppendJob,
  now: number,
): number {
  const { rootTaskId: taskId, first } = batch;
  if (first !== 0) throw createSequenceError(taskId, first, -1);
  const info = findRootInfo(batch);
  if (info === undefined)
    throw new StoreError(
      "store_failed",
      `${taskId}: the first batch of a task must contain task.created; nothing was stored`,
    );
  const number = insertTask(db, { ...toRootTaskColumns(job), taskId, info, root: null, now });
  if (number === undefined) throw createIdTakenError(taskId);
  return number;
}
