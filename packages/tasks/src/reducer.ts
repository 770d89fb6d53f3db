import { applyEvent } from "./apply-event.ts";
import { Draft } from "./draft.ts";
import { TaskError } from "./error.ts";
import { isStored, type ProgressReport, type TaskEvent } from "./events.ts";
import type { TaskTree } from "./state.ts";

export const emptyTree: TaskTree = {
  root_task_id: "",
  head: -1,
  tasks: {},
  references: [],
  approvals: [],
};

/** The state after `events`. What they did not touch is the same object as before. */
export function reduce(state: TaskTree, events: readonly TaskEvent[]): TaskTree {
  const reducer = new Reducer(state);
  for (const event of events) reducer.apply(event);
  return reducer.state;
}

/**
 * Events in, their sum out: for server, browser and test alike. An event that does not fit what is there (no such item,
 * a type that nobody knows) moves `head` and changes nothing else; the validator is there to name it.
 */
export class Reducer {
  readonly #draft: Draft;

  constructor(from: TaskTree = emptyTree) {
    this.#draft = new Draft(from);
  }

  /** Of what was applied, without publishing it. */
  get head(): number {
    return this.#draft.head;
  }

  /** Never changed again once it was read. */
  get state(): TaskTree {
    return this.#draft.publish();
  }

  /**
   * Throws "gap" where events are missing before this one; nothing has changed then. One without a number, as a connection
   * tells it, changes nothing.
   */
  apply(event: TaskEvent | ProgressReport): void {
    if (!isStored(event)) return;
    const draft = this.#draft;
    const { head } = draft;
    if (event.sequence_number <= head) return;
    const from = event.coalesced_from ?? event.sequence_number;
    // A delta that was joined out of known and unknown ones tells by its offset what of it is new.
    if (from !== head + 1 && !(from <= head && "offset" in event && event.offset !== undefined))
      throw new TaskError("gap", `event ${from} came after event ${head}`);
    if (head === -1) draft.rootTaskId = event.task_id;
    applyEvent(draft, event);
    draft.head = event.sequence_number;
  }
}
