import { hasEnded } from "@deltawire/tasks";
import { type Batch, blobsOf, doesNotFollow } from "./batch.ts";
import { StoreError } from "./error.ts";
import { deleteBlobRef, insertBlobRef } from "./sql/blobs.ts";
import type { Connection } from "./sql/connection.ts";
import { overwriting } from "./sql/dialect.ts";
import {
  deleteSnapshotsFrom,
  type EventRow,
  insertEvent,
  isMentioned,
  replaceEvent,
} from "./sql/events.ts";
import { insertApproval, insertTask, rootTask, setHead, setStatus } from "./sql/tasks.ts";

/** In a transaction: the events of a batch and what they say of tasks, approvals and blobs. */
export function appendBatch(db: Connection, batch: Batch, now: number): void {
  const known = rootTask(db, batch.rootTaskId);
  const head = known?.head ?? -1;
  if (batch.first !== head + 1) throw doesNotFollow(batch.rootTaskId, batch.first, head);
  const root = known?.number ?? createRoot(db, batch, now);
  for (const row of batch.rows) insertEvent(db, root, row);
  for (const change of batch.changes) {
    if (change.is === "status")
      setStatus(db, change.taskId, change.status, hasEnded(change.status) ? now : null, now);
    else if (change.is === "approval") insertApproval(db, change.approvalId, root);
    else if (change.taskId !== batch.rootTaskId) {
      const number = insertTask(db, { ...change, root, now });
      if (number === undefined) throw taken(change.taskId);
    }
  }
  for (const hash of batch.blobs) insertBlobRef(db, root, hash);
  setHead(db, root, batch.last, now);
}

/** In a transaction: rows in the places of others, and without what only those said. */
export function replaceRows(db: Connection, rootTaskId: string, rows: readonly EventRow[]): void {
  const root = rows.length === 0 ? undefined : rootTask(db, rootTaskId)?.number;
  if (root === undefined) return;
  overwriting(db, () => {
    for (const row of rows) {
      const before = replaceEvent(db, root, row);
      if (before === undefined) continue;
      deleteSnapshotsFrom(db, root, row.sequence_number);
      for (const hash of blobsOf(row)) insertBlobRef(db, root, hash);
      for (const hash of blobsOf(before))
        if (!isMentioned(db, root, hash)) deleteBlobRef(db, root, hash);
    }
  });
}

function createRoot(db: Connection, batch: Batch, now: number): number {
  const created = batch.changes.find(
    (change) => change.is === "created" && change.taskId === batch.rootTaskId,
  );
  if (created?.is !== "created")
    throw new StoreError(
      "store_failed",
      `${batch.rootTaskId}: the first batch of a task must hold its task.created, so nothing of it was kept`,
    );
  const number = insertTask(db, { ...created, root: null, now });
  if (number === undefined) throw taken(batch.rootTaskId);
  return number;
}

function taken(taskId: string): StoreError {
  return new StoreError(
    "store_failed",
    `${taskId}: another task has this id, so nothing of the batch was kept`,
  );
}
