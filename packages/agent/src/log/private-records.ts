import {
  emptyTree,
  Reducer,
  type ContentPart,
  type LogEntry,
  type LogRow,
  type TaskEvent,
  type TaskLog,
  type TaskTree,
} from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";

/**
 * The private data in a log, which clients do not receive, by task, item and approval. Filled from entries that are written or
 * read back.
 */
export class PrivateRecords {
  readonly #byTask = new Map<string, JsonObject>();
  readonly #byItem = new Map<string, JsonObject>();
  readonly #byApproval = new Map<string, { event: ApprovalRequestedEvent; data: JsonObject }>();
  readonly #compactions = new Map<string, Compaction>();
  readonly #requestTimes = new Map<string, string>();

  record({ event, private: privateData }: LogEntry): void {
    if (event.type === "task.approval.requested" && event.ts !== undefined)
      this.#requestTimes.set(event.approval.approval_id, event.ts);
    if (privateData === undefined) return;
    switch (event.type) {
      case "task.created":
        this.#byTask.set(event.task_id, privateData);
        break;
      case "task.output_item.done":
        this.#byItem.set(event.item.id, upgradePrivateItem(privateData));
        break;
      case "task.approval.requested":
        this.#byApproval.set(event.approval.approval_id, { event, data: privateData });
        break;
      case "task.context_compression.completed":
        this.setCompaction(event.task_id, privateData as unknown as Compaction);
        break;
      default:
    }
  }

  setCompaction(taskId: string, compaction: Compaction): void {
    this.#compactions.set(taskId, compaction);
  }

  /** Returns the stored request of a task. */
  request(taskId: string): JsonObject {
    return this.#byTask.get(taskId) ?? {};
  }

  /** Returns the owner of a root task. */
  owner(rootTaskId: string): string {
    const { owner } = this.request(rootTaskId);
    return typeof owner === "string" ? owner : "";
  }

  item(itemId: string): PrivateItem {
    return this.#byItem.get(itemId) ?? {};
  }

  /** Returns the result that is held until a user decides on it. */
  heldResult(approvalId: string): JsonObject {
    return this.#byApproval.get(approvalId)?.data ?? {};
  }

  /** Returns the time of the approval request, which is not part of the task's state. */
  requestedAt(approvalId: string): string | undefined {
    return this.#requestTimes.get(approvalId);
  }

  /**
   * Discards a held result that `event` denies. Returns the entry of the request without the result, which must replace the
   * original one in the same transaction as the event. Undefined if `event` does not deny a held result.
   */
  dropDeniedResult(event: TaskEvent): LogEntry | undefined {
    if (event.type !== "task.approval.expired" && event.type !== "task.approval.resolved")
      return undefined;
    if (event.type === "task.approval.resolved" && event.decision === "approve") return undefined;
    const request = this.#byApproval.get(event.approval_id);
    if (request === undefined || !("output" in request.data)) return undefined;
    const { block_list: _shown, ...approval } = request.event.approval;
    const remainingEvent = { ...request.event, approval };
    const { output: _output, ...privateData } = request.data;
    this.#byApproval.set(event.approval_id, { event: remainingEvent, data: privateData });
    return { event: remainingEvent, json: JSON.stringify(remainingEvent), private: privateData };
  }

  compaction(taskId: string): Compaction | undefined {
    return this.#compactions.get(taskId);
  }
}

type ApprovalRequestedEvent = Extract<TaskEvent, { type: "task.approval.requested" }>;

export interface PrivateItem {
  /** The item as the model's server sent it: ids, signatures, encrypted reasoning. */
  model_item?: JsonObject;
  /** The content of a result as the model receives it. */
  content?: ContentPart[];
  /** The references that a result added. */
  pool?: JsonObject;
  /** The complete text of a result that was truncated for the model. */
  full_output?: { url: string; length: number } | { hash: string; length: number };
}

/** Replaces the former name of `full_output`, which logs of earlier versions have. */
function upgradePrivateItem(stored: JsonObject): JsonObject {
  if (stored["whole"] === undefined) return stored;
  const { whole, ...item } = stored;
  return { full_output: whole, ...item };
}

/** The model's summary of all items before `from_index`. */
export interface Compaction {
  summary: string;
  from_index: number;
}

const pageSize = 5000;

/** Reads the log of a root task: its state, and the private data that a process needs to resume it. */
export async function readTaskLog(
  log: TaskLog,
  rootTaskId: string,
): Promise<{ state: TaskTree; privateRecords: PrivateRecords }> {
  const reducer = new Reducer(emptyTree);
  const privateRecords = new PrivateRecords();
  for (let after = -1; ;) {
    const rows = await log.read(rootTaskId, after, pageSize);
    for (const row of rows) {
      const entry = parseLogRow(row);
      privateRecords.record(entry);
      reducer.apply(entry.event);
      after = row.sequence_number;
    }
    if (rows.length < pageSize) return { state: reducer.state, privateRecords };
  }
}

/** Reads the first event of a log, which has the request and the owner of the root task. */
export async function readCreationRecords(
  log: TaskLog,
  rootTaskId: string,
): Promise<PrivateRecords> {
  const privateRecords = new PrivateRecords();
  for (const row of await log.read(rootTaskId, -1, 1)) privateRecords.record(parseLogRow(row));
  return privateRecords;
}

export function parseLogRow({ json, private: privateData }: LogRow): LogEntry {
  const event = JSON.parse(json) as TaskEvent;
  return privateData === undefined
    ? { event, json }
    : { event, json, private: JSON.parse(privateData) };
}
