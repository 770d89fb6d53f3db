import type { TaskEvent } from "./events.ts";
import { LogNotes, type TaskNotes } from "./log-notes.ts";
import { notesOf } from "./notes-of-state.ts";
import { Reducer } from "./reducer.ts";
import * as approvals from "./rules/approvals.ts";
import { referenceAdded } from "./rules/citations.ts";
import * as executions from "./rules/executions.ts";
import * as items from "./rules/items.ts";
import * as parts from "./rules/parts.ts";
import { RuleBroken, type RuleName } from "./rules/rule-broken.ts";
import { checkShape } from "./rules/shapes.ts";
import * as tasks from "./rules/tasks.ts";
import { takeId } from "./rules/unique-ids.ts";
import { stateHash } from "./state-hash.ts";
import type { TaskTree } from "./state.ts";
import { hasEnded } from "./task-status.ts";
import { taskView } from "./view.ts";

export interface Broken {
  sequence_number: number;
  rule: RuleName;
  /** For people. */
  message: string;
}

export interface ValidatorOptions {
  /** Goes on after the events of this state. */
  from?: TaskTree;
  sha256?: (text: string) => string;
  /** Whether `state_hash` is computed and compared; not for a writer, which has just done so. */
  hashes?: boolean;
}

/** The first invariant that a log breaks; undefined if it breaks none. With `complete` the run must have ended. */
export function validateLog(
  events: readonly TaskEvent[],
  options: { complete?: boolean; sha256?: (text: string) => string } = {},
): Broken | undefined {
  const validator = new LogValidator(options);
  for (const event of events) {
    const broken = validator.check(event);
    if (broken !== undefined) return broken;
  }
  return options.complete === true ? validator.end() : undefined;
}

/** Looks at every event of a root task and all below it, in order, and reduces those that are legal. */
export class LogValidator {
  /** What has been seen, to be read only. */
  readonly notes: LogNotes;
  readonly #reducer: Reducer;
  readonly #sha256: ((text: string) => string) | undefined;
  readonly #hashes: boolean;

  constructor(options: ValidatorOptions = {}) {
    const { from, sha256, hashes = true } = options;
    this.notes = from === undefined ? new LogNotes() : notesOf(from);
    this.#reducer = from === undefined ? new Reducer() : new Reducer(from);
    this.#sha256 = sha256;
    this.#hashes = hashes;
  }

  get state(): TaskTree {
    return this.#reducer.state;
  }

  /** A legal event is noted and reduced; of one that is not, the rule that it breaks comes back. */
  check(event: TaskEvent): Broken | undefined {
    try {
      this.#check(event);
      return undefined;
    } catch (error) {
      if (!(error instanceof RuleBroken)) throw error;
      return {
        sequence_number: event?.sequence_number ?? this.notes.head + 1,
        rule: error.rule,
        message: error.message,
      };
    }
  }

  /** Whether the run has come to its end. */
  end(): Broken | undefined {
    const root = this.notes.tasks.get(this.notes.root);
    if (hasEnded(root?.status)) return undefined;
    const message = root === undefined ? "there is no task" : `${root.id} is ${root.status}`;
    return { sequence_number: this.notes.head, rule: "unfinished", message };
  }

  #check(event: TaskEvent): void {
    const { notes } = this;
    checkShape(event);
    const from = event.coalesced_from ?? event.sequence_number;
    if (from !== notes.head + 1 || from > event.sequence_number)
      throw new RuleBroken("dense_numbers", `event ${from} comes after event ${notes.head}`);
    if (event.type === "task.created") tasks.created(notes, event);
    else this.#note(taskOf(notes, event), event);
    notes.head = event.sequence_number;
    this.#reducer.apply(event);
    if (this.#hashes && "state_hash" in event) this.#compareHash(event.task_id, event.state_hash);
  }

  #note(task: TaskNotes, event: Exclude<TaskEvent, { type: "task.created" }>): void {
    const { notes } = this;
    switch (event.type) {
      case "task.text.delta":
        return parts.textDelta(task, event);
      case "task.reasoning_summary_text.delta":
        return parts.summaryDelta(task, event);
      case "task.reasoning_text.delta":
        return parts.rawDelta(task, event);
      case "task.tool_call_arguments.delta":
        return parts.argumentsDelta(task, event);
      case "task.queued":
      case "task.working":
      case "task.paused":
        return tasks.statusChanged(notes, task, event);
      case "task.input_required":
        return tasks.inputRequired(notes, task, event);
      case "task.completed":
      case "task.failed":
      case "task.canceled":
      case "task.expired":
        return tasks.ended(notes, task, event);
      case "task.round.started":
        return tasks.roundStarted(task, event);
      case "task.round.progress":
        return tasks.roundProgress(task, event);
      case "task.round.done":
        return tasks.roundDone(task, event);
      case "task.warning":
        return;
      case "task.input.added":
        return takeId(notes, event.item.id);
      case "task.context_compression.created":
      case "task.context_compression.in_progress":
      case "task.context_compression.completed":
        return tasks.compression(task, event);
      case "task.usage.updated":
        return tasks.usageUpdated(task, event);
      case "task.output_item.added":
        return items.added(notes, task, event);
      case "task.output_item.updated":
        return items.updated(task, event);
      case "task.output_item.done":
        return items.done(task, event);
      case "task.output_item.retracted":
        return items.retracted(task, event);
      case "task.reasoning_summary_item.added":
        return parts.summaryAdded(task, event);
      case "task.reasoning_summary_item.done":
        return parts.summaryDone(task, event);
      case "task.reasoning_text.done":
        return parts.rawDone(task, event);
      case "task.tool_call_arguments.done":
        return parts.argumentsDone(task, event);
      case "task.text.added":
      case "task.image.added":
      case "task.audio.added":
      case "task.file.added":
        return parts.blockAdded(task, event);
      case "task.text.annotation.added":
        return parts.textAnnotated(task, event);
      case "task.image.delta":
        return parts.imageDelta(task, event);
      case "task.text.done":
      case "task.image.done":
      case "task.audio.done":
      case "task.file.done":
      case "task.data.done":
        return parts.blockDone(task, event);
      case "task.reference.added":
        return referenceAdded(notes, task, event);
      case "task.approval.requested":
        return approvals.requested(notes, task, event, this.#sha256);
      case "task.approval.resolved":
        return approvals.resolved(notes, task, event);
      case "task.approval.expired":
        return approvals.expired(notes, task, event);
      case "task.tool_execution.started":
        return executions.started(notes, task, event, this.#sha256);
      case "task.tool_execution.progress":
        return executions.progress(task, event);
      case "task.tool_execution.done":
        return executions.done(task, event);
      default:
        return event satisfies never; // of a type that is not known yet
    }
  }

  #compareHash(taskId: string, told: string): void {
    const hash = stateHash(taskView(this.state, taskId), this.#sha256);
    if (hash !== told)
      throw new RuleBroken("state_hash", `${taskId} ends as ${hash}, and the event says ${told}`);
  }
}

function taskOf(notes: LogNotes, event: TaskEvent): TaskNotes {
  const task = notes.tasks.get(event.task_id);
  if (task === undefined)
    throw new RuleBroken(
      "created_first",
      `${event.type} of ${event.task_id}, which is no task yet`,
    );
  if (hasEnded(task.status))
    throw new RuleBroken("one_terminal", `${event.type} after the end of ${event.task_id}`);
  return task;
}
