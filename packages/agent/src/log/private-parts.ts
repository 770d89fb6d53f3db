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
 * The private parts of a log: what the provider and the model were told, by the thing that they belong to. The same
 * whether it was written by this process or read back by another.
 */
export class PrivateParts {
  readonly #ofTask = new Map<string, JsonObject>();
  readonly #ofItem = new Map<string, JsonObject>();
  readonly #ofApproval = new Map<string, { event: ApprovalRequested; kept: JsonObject }>();
  readonly #compactions = new Map<string, Compaction>();
  readonly #askedAt = new Map<string, string>();

  note({ event, private: kept }: LogEntry): void {
    if (event.type === "task.approval.requested" && event.ts !== undefined)
      this.#askedAt.set(event.approval.approval_id, event.ts);
    if (kept === undefined) return;
    switch (event.type) {
      case "task.created":
        this.#ofTask.set(event.task_id, kept);
        break;
      case "task.output_item.done":
        this.#ofItem.set(event.item.id, kept);
        break;
      case "task.approval.requested":
        this.#ofApproval.set(event.approval.approval_id, { event, kept });
        break;
      case "task.context_compression.completed":
        this.compact(event.task_id, kept as unknown as Compaction);
        break;
      default:
    }
  }

  compact(taskId: string, compaction: Compaction): void {
    this.#compactions.set(taskId, compaction);
  }

  /** What a task was asked. */
  request(taskId: string): JsonObject {
    return this.#ofTask.get(taskId) ?? {};
  }

  item(itemId: string): PrivateItem {
    return this.#ofItem.get(itemId) ?? {};
  }

  /** What is held until a person has decided. */
  approval(approvalId: string): JsonObject {
    return this.#ofApproval.get(approvalId)?.kept ?? {};
  }

  /** When a person was asked. That is in the log alone: it is no part of what a task amounts to. */
  askedAt(approvalId: string): string | undefined {
    return this.#askedAt.get(approvalId);
  }

  /**
   * Lets go of a result that an event says is refused. What stays of the entry in which it stands is to be kept with that
   * event; undefined where there is none.
   */
  refusedBy(event: TaskEvent): LogEntry | undefined {
    if (event.type !== "task.approval.expired" && event.type !== "task.approval.resolved")
      return undefined;
    if (event.type === "task.approval.resolved" && event.decision === "approve") return undefined;
    const asked = this.#ofApproval.get(event.approval_id);
    if (asked === undefined || !("output" in asked.kept)) return undefined;
    const { block_list: _shown, ...approval } = asked.event.approval;
    const rest = { ...asked.event, approval };
    const { output: _output, ...kept } = asked.kept;
    this.#ofApproval.set(event.approval_id, { event: rest, kept });
    return { event: rest, json: JSON.stringify(rest), private: kept };
  }

  compaction(taskId: string): Compaction | undefined {
    return this.#compactions.get(taskId);
  }
}

type ApprovalRequested = Extract<TaskEvent, { type: "task.approval.requested" }>;

export interface PrivateItem {
  /** The item as the model's server sent it: ids, signatures, encrypted reasoning. */
  model_item?: JsonObject;
  /** What the model sees of a result. */
  content?: ContentPart[];
  /** The groups that a result made citable. */
  pool?: JsonObject;
  /** Where the whole of a text is that was cut for the model. */
  whole?: { url: string; length: number } | { hash: string; length: number };
}

/** Everything before an item, in the model's own words. */
export interface Compaction {
  summary: string;
  from_index: number;
}

const pageSize = 5000;

/** What the log of a root task amounts to, and what only a process that goes on with it may know. */
export async function readTask(
  log: TaskLog,
  rootTaskId: string,
): Promise<{ state: TaskTree; privateParts: PrivateParts }> {
  const reducer = new Reducer(emptyTree);
  const privateParts = new PrivateParts();
  for (let after = -1; ;) {
    const rows = await log.read(rootTaskId, after, pageSize);
    for (const row of rows) {
      const entry = entryOf(row);
      privateParts.note(entry);
      reducer.apply(entry.event);
      after = row.sequence_number;
    }
    if (rows.length < pageSize) return { state: reducer.state, privateParts };
  }
}

export function entryOf({ json, private: kept }: LogRow): LogEntry {
  const event = JSON.parse(json) as TaskEvent;
  return kept === undefined ? { event, json } : { event, json, private: JSON.parse(kept) };
}
