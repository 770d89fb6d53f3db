import { blobsIn, statusAfter } from "@deltawire/tasks";
import type { LogEntry, TaskInfo, TaskStatus } from "@deltawire/tasks";
import { StoreError } from "./error.ts";
import type { EventRow } from "./sql/events.ts";

/** What the entries of one append say to the tables. */
export interface Batch {
  rootTaskId: string;
  /** The numbers that it covers. */
  first: number;
  last: number;
  rows: EventRow[];
  changes: Change[];
  /** Hashes of the blobs that its events refer to. */
  blobs: Set<string>;
}

type Change =
  | { is: "created"; taskId: string; info: TaskInfo }
  | { is: "status"; taskId: string; status: TaskStatus }
  | { is: "approval"; approvalId: string };

export function batchOf(rootTaskId: string, entries: readonly [LogEntry, ...LogEntry[]]): Batch {
  const first = firstNumber(entries[0]);
  const batch: Batch = {
    rootTaskId,
    first,
    last: first - 1,
    rows: [],
    changes: [],
    blobs: new Set(),
  };
  for (const entry of entries) {
    const from = firstNumber(entry);
    if (from !== batch.last + 1) throw doesNotFollow(rootTaskId, from, batch.last);
    batch.last = entry.event.sequence_number;
    const row = rowOf(entry);
    batch.rows.push(row);
    const change = changeOf(entry);
    if (change !== undefined) batch.changes.push(change);
    for (const hash of blobsOf(row)) batch.blobs.add(hash);
  }
  return batch;
}

export function doesNotFollow(rootTaskId: string, number: number, head: number): StoreError {
  return new StoreError(
    "store_failed",
    `${rootTaskId}: event ${number} does not follow event ${head}, so nothing of its batch was kept`,
  );
}

export function rowOf({ event, json, private: hidden }: LogEntry): EventRow {
  return {
    sequence_number: event.sequence_number,
    json,
    private: hidden === undefined ? null : JSON.stringify(hidden),
  };
}

/** A joined event stands for several numbers. */
function firstNumber({ event }: LogEntry): number {
  return event.coalesced_from ?? event.sequence_number;
}

function changeOf({ event }: LogEntry): Change | undefined {
  const { task_id: taskId } = event;
  switch (event.type) {
    case "task.created":
      return { is: "created", taskId, info: event.task };
    case "task.approval.requested":
      return { is: "approval", approvalId: event.approval.approval_id };
    default: {
      const status = statusAfter(event.type);
      return status && { is: "status", taskId, status };
    }
  }
}

/** Hashes of the blobs that a row refers to. */
export function blobsOf({ json, private: hidden }: EventRow): Set<string> {
  const blobs = new Set<string>();
  for (const text of [json, hidden ?? ""]) for (const hash of blobsIn(text)) blobs.add(hash);
  return blobs;
}
