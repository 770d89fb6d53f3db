import { findBlobHashes, statusFromEventType } from "@deltawire/tasks";
import type { AppendOptions, LogEntry, TaskInfo, TaskStatus } from "@deltawire/tasks";
import { StoreError } from "./error.ts";

export interface EventRow {
  sequence_number: number;
  json: string;
  private: string | null;
}

/** The rows and changes that result from the entries of one append. */
export interface LogBatch {
  rootTaskId: string;
  /** The first and last sequence number. */
  first: number;
  last: number;
  rows: EventRow[];
  changes: TaskChange[];
  /** Hashes of the blobs that the events refer to. */
  blobHashes: Set<string>;
}

/** The arguments of one `append`. */
export interface AppendJob {
  rootTaskId: string;
  /** Undefined if there are only replacements. */
  batch: LogBatch | undefined;
  replacements: readonly EventRow[];
  lease: AppendOptions["lease"];
  creation: AppendOptions["creation"];
}

type TaskChange =
  | { kind: "created"; taskId: string; info: TaskInfo }
  | { kind: "status"; taskId: string; status: TaskStatus }
  | { kind: "approval requested"; approvalId: string; sequenceNumber: number }
  | { kind: "approval settled"; approvalId: string };

export function buildBatch(
  rootTaskId: string,
  entries: readonly [LogEntry, ...LogEntry[]],
): LogBatch {
  const first = getFirstNumber(entries[0]);
  const batch: LogBatch = {
    rootTaskId,
    first,
    last: first - 1,
    rows: [],
    changes: [],
    blobHashes: new Set(),
  };
  for (const entry of entries) {
    const firstOfEntry = getFirstNumber(entry);
    if (firstOfEntry !== batch.last + 1)
      throw createSequenceError(rootTaskId, firstOfEntry, batch.last);
    batch.last = entry.event.sequence_number;
    const row = toEventRow(entry);
    batch.rows.push(row);
    const change = toTaskChange(entry);
    if (change !== undefined) batch.changes.push(change);
    for (const hash of findRowBlobs(row)) batch.blobHashes.add(hash);
  }
  return batch;
}

/** Returns the creation of the root task, if the batch contains it. */
export function findRootInfo({ changes, rootTaskId }: LogBatch): TaskInfo | undefined {
  const created = changes.find(
    (change) => change.kind === "created" && change.taskId === rootTaskId,
  );
  return created?.kind === "created" ? created.info : undefined;
}

/** Returns why an append to an existing root task is rejected. `batch`: undefined if there are only replacements. */
export function findAppendError(
  root: { head: number; holder: string | null; epoch: number },
  rootTaskId: string,
  batch: LogBatch | undefined,
  lease: AppendOptions["lease"],
): StoreError | undefined {
  const isNext = batch === undefined || batch.first === root.head + 1;
  if (!isNext && findRootInfo(batch) !== undefined) return createIdTakenError(rootTaskId);
  if (lease !== undefined && (root.holder !== lease.processId || root.epoch !== lease.epoch))
    return new StoreError(
      "lease_lost",
      `${rootTaskId}: another process may run this task; nothing was stored`,
    );
  return isNext ? undefined : createSequenceError(rootTaskId, batch.first, root.head);
}

export function createIdTakenError(taskId: string): StoreError {
  return new StoreError("id_taken", `${taskId}: another task has this id; nothing was stored`);
}

/** The columns of a task that its events do not contain. */
export interface TaskColumns {
  holder: string | null;
  epoch: number;
  owner: string;
  replyKey: string | null;
}

export const subTaskColumns: TaskColumns = { holder: null, epoch: 0, owner: "", replyKey: null };

export function toRootTaskColumns({
  lease,
  creation = {},
}: Pick<AppendJob, "lease" | "creation">): TaskColumns {
  const { owner = "", replyKey = null } = creation;
  return { holder: lease?.processId ?? null, epoch: lease?.epoch ?? 0, owner, replyKey };
}

export function createSequenceError(rootTaskId: string, number: number, head: number): StoreError {
  return new StoreError(
    "store_failed",
    `${rootTaskId}: event ${number} does not follow event ${head}; nothing was stored`,
  );
}

export function toEventRow({ event, json, private: privateData }: LogEntry): EventRow {
  return {
    sequence_number: event.sequence_number,
    json,
    private: privateData === undefined ? null : JSON.stringify(privateData),
  };
}

/** A merged event covers several sequence numbers. */
function getFirstNumber({ event }: LogEntry): number {
  return event.coalesced_from ?? event.sequence_number;
}

function toTaskChange({ event }: LogEntry): TaskChange | undefined {
  const { task_id: taskId } = event;
  switch (event.type) {
    case "task.created":
      return { kind: "created", taskId, info: event.task };
    case "task.approval.requested":
      return {
        kind: "approval requested",
        approvalId: event.approval.approval_id,
        sequenceNumber: event.sequence_number,
      };
    case "task.approval.resolved":
    case "task.approval.expired":
      return { kind: "approval settled", approvalId: event.approval_id };
    default: {
      const status = statusFromEventType(event.type);
      return status && { kind: "status", taskId, status };
    }
  }
}

/** Returns the hashes of the blobs that a row refers to. */
export function findRowBlobs({ json, private: privateData }: EventRow): Set<string> {
  const blobs = new Set<string>();
  for (const text of [json, privateData ?? ""])
    for (const hash of findBlobHashes(text)) blobs.add(hash);
  return blobs;
}
