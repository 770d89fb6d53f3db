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
    const hidden = entry.private === undefined ? null : JSON.stringify(entry.private);
    batch.rows.push({ sequence_number: batch.last, json: entry.json, private: hidden });
    const change = changeOf(entry);
    if (change !== undefined) batch.changes.push(change);
    addBlobs(entry.json, batch.blobs);
    if (hidden !== null) addBlobs(hidden, batch.blobs);
  }
  return batch;
}

export function doesNotFollow(rootTaskId: string, number: number, head: number): StoreError {
  return new StoreError(
    "store_failed",
    `${rootTaskId}: event ${number} does not follow event ${head}, so nothing of its batch was kept`,
  );
}

export function hasEnded(status: TaskStatus): boolean {
  return terminal.has(status);
}

const terminal: ReadonlySet<TaskStatus> = new Set(["completed", "failed", "canceled", "expired"]);

/** A joined event stands for several numbers. */
function firstNumber({ event }: LogEntry): number {
  return event.coalesced_from ?? event.sequence_number;
}

function changeOf({ event }: LogEntry): Change | undefined {
  switch (event.type) {
    case "task.created":
      return { is: "created", taskId: event.task_id, info: event.task };
    case "task.approval.requested":
      return { is: "approval", approvalId: event.approval.approval_id };
    case "task.queued":
      return { is: "status", taskId: event.task_id, status: "queued" };
    case "task.working":
      return { is: "status", taskId: event.task_id, status: "working" };
    case "task.paused":
      return { is: "status", taskId: event.task_id, status: "paused" };
    case "task.input_required":
      return { is: "status", taskId: event.task_id, status: "input_required" };
    case "task.completed":
      return { is: "status", taskId: event.task_id, status: "completed" };
    case "task.failed":
      return { is: "status", taskId: event.task_id, status: "failed" };
    case "task.canceled":
      return { is: "status", taskId: event.task_id, status: "canceled" };
    case "task.expired":
      return { is: "status", taskId: event.task_id, status: "expired" };
    default:
      return undefined;
  }
}

const blobPath = "/api/blobs/";

/** Hashes of the blobs that texts refer to. */
export function blobsIn(...texts: readonly string[]): ReadonlySet<string> {
  const blobs = new Set<string>();
  for (const text of texts) addBlobs(text, blobs);
  return blobs;
}

function addBlobs(json: string, blobs: Set<string>): void {
  // Nearly no event has one, and `includes` is a tenth of the expression's cost.
  if (!json.includes(blobPath)) return;
  for (const [, hash = ""] of json.matchAll(/\/api\/blobs\/([0-9a-f]{64})(?![0-9a-f])/g))
    blobs.add(hash);
}
