import { applyEvent } from "./apply-event.ts";
import { TaskTreeDraft } from "./task-tree-draft.ts";
import { TaskError } from "./error.ts";
import { isTaskEvent, type ProgressReport, type TaskEvent } from "./events.ts";
import type { TaskTree } from "./state.ts";

export const emptyTree: TaskTree = {
  root_task_id: "",
  head: -1,
  tasks: {},
  references: [],
  approvals: [],
};

/** Returns the state after `events`. Unchanged parts keep their object identity. */
export function reduce(state: TaskTree, events: readonly TaskEvent[]): TaskTree {
  const reducer = new Reducer(state);
  for (const event of events) reducer.apply(event);
  return reducer.state;
}

/**
 * Reduces events to a state; used by servers, browsers and tests. An event that does not fit the state (a missing item, an
 * unknown type) only advances `head`; use the validator to detect it.
 */
export class Reducer {
  readonly #draft: TaskTreeDraft;

  constructor(from: TaskTree = emptyTree) {
    this.#draft = new TaskTreeDraft(from);
  }

  /** Sequence number of the last applied event. Cheaper than `state.head`, which creates a snapshot. */
  get head(): number {
    return this.#draft.head;
  }

  /** An immutable snapshot. */
  get state(): TaskTree {
    return this.#draft.publish();
  }

  /**
   * Throws a TaskError with the code "gap", without changing anything, if events before this one are missing. Ignores events
   * that were already applied and events without a sequence number.
   */
  apply(event: TaskEvent | ProgressReport): void {
    if (!isTaskEvent(event)) return;
    const draft = this.#draft;
    const { head } = draft;
    if (event.sequence_number <= head) return;
    const from = event.coalesced_from ?? event.sequence_number;
    // A coalesced delta may overlap with events that were already applied; its `offset` shows which part is new.
    if (from !== head + 1 && !(from <= head && "offset" in event && event.offset !== undefined))
      throw new TaskError("gap", `event ${from} follows event ${head}`);
    if (head === -1) draft.rootTaskId = event.task_id;
    applyEvent(draft, event);
    draft.head = event.sequence_number;
  }
}
