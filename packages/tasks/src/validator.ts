import type { TaskEvent } from "./events.ts";
import { ValidatorState, type TrackedTask } from "./validator-state.ts";
import { restoreValidatorState } from "./restore-validator-state.ts";
import { Reducer } from "./reducer.ts";
import * as approvals from "./rules/approvals.ts";
import { checkReferenceAdded } from "./rules/citations.ts";
import * as executions from "./rules/executions.ts";
import * as items from "./rules/items.ts";
import * as parts from "./rules/parts.ts";
import { RuleViolationError, type RuleName } from "./rules/rule-violation.ts";
import { assertEventShape } from "./rules/event-shapes.ts";
import * as tasks from "./rules/tasks.ts";
import { claimIds } from "./rules/unique-ids.ts";
import { computeStateHash } from "./state-hash.ts";
import type { TaskTree } from "./state.ts";
import { hasEnded } from "./task-status.ts";
import { buildTaskView } from "./task-view.ts";

export interface RuleViolation {
  sequence_number: number;
  rule: RuleName;
  /** Human-readable. */
  message: string;
}

export interface ValidatorOptions {
  /** State after the events that precede the log. Default: the state before the first event. */
  from?: TaskTree;
  sha256?: (text: string) => string;
  /** Compares `state_hash` with the computed hash. Default: true. Unnecessary for a writer, which has just computed the hash. */
  checkHashes?: boolean;
}

/** Returns the first invariant that a log breaks, or undefined. With `complete`, the root task must have ended. */
export function validateLog(
  events: readonly TaskEvent[],
  options: { complete?: boolean; sha256?: (text: string) => string } = {},
): RuleViolation | undefined {
  const validator = new LogValidator(options);
  for (const event of events) {
    const violation = validator.check(event);
    if (violation !== undefined) return violation;
  }
  return options.complete === true ? validator.checkEnd() : undefined;
}

/** Validates the events of a root task and all tasks below it, in order, and reduces the valid ones. */
export class LogValidator {
  /** Callers must not change it. */
  readonly validatorState: ValidatorState;
  readonly #reducer: Reducer;
  readonly #sha256: ((text: string) => string) | undefined;
  readonly #checkHashes: boolean;

  constructor(options: ValidatorOptions = {}) {
    const { from, sha256, checkHashes = true } = options;
    this.validatorState = from === undefined ? new ValidatorState() : restoreValidatorState(from);
    this.#reducer = from === undefined ? new Reducer() : new Reducer(from);
    this.#sha256 = sha256;
    this.#checkHashes = checkHashes;
  }

  get state(): TaskTree {
    return this.#reducer.state;
  }

  /** Applies a valid event. For an invalid one, returns the broken rule and leaves the state unchanged. */
  check(event: TaskEvent): RuleViolation | undefined {
    try {
      this.#checkAndApply(event);
      return undefined;
    } catch (error) {
      if (!(error instanceof RuleViolationError)) throw error;
      return {
        sequence_number: event?.sequence_number ?? this.validatorState.head + 1,
        rule: error.rule,
        message: error.message,
      };
    }
  }

  /** Returns a violation if the root task has not ended. */
  checkEnd(): RuleViolation | undefined {
    const root = this.validatorState.tasks.get(this.validatorState.rootTaskId);
    if (hasEnded(root?.status)) return undefined;
    const message =
      root === undefined ? "the log has no task" : `${root.id} is still ${root.status}`;
    return { sequence_number: this.validatorState.head, rule: "unfinished", message };
  }

  #checkAndApply(event: TaskEvent): void {
    const { validatorState } = this;
    assertEventShape(event);
    const from = event.coalesced_from ?? event.sequence_number;
    if (from !== validatorState.head + 1 || from > event.sequence_number)
      throw new RuleViolationError(
        "dense_numbers",
        `event ${from} follows event ${validatorState.head}`,
      );
    if (event.type === "task.created") tasks.checkTaskCreated(validatorState, event);
    else this.#checkEvent(getOpenTask(validatorState, event), event);
    validatorState.head = event.sequence_number;
    this.#reducer.apply(event);
    if (this.#checkHashes && "state_hash" in event)
      this.#compareHash(event.task_id, event.state_hash);
  }

  #checkEvent(task: TrackedTask, event: Exclude<TaskEvent, { type: "task.created" }>): void {
    const { validatorState } = this;
    switch (event.type) {
      case "task.text.delta":
        return parts.checkTextDelta(task, event);
      case "task.reasoning_summary_text.delta":
        return parts.checkSummaryDelta(task, event);
      case "task.reasoning_text.delta":
        return parts.checkRawDelta(task, event);
      case "task.tool_call_arguments.delta":
        return parts.checkArgumentsDelta(task, event);
      case "task.queued":
      case "task.working":
      case "task.paused":
        return tasks.checkStatusChanged(validatorState, task, event);
      case "task.input_required":
        return tasks.checkInputRequired(validatorState, task, event);
      case "task.completed":
      case "task.failed":
      case "task.canceled":
      case "task.expired":
        return tasks.checkTaskEnded(validatorState, task, event);
      case "task.round.started":
        return tasks.checkRoundStarted(task, event);
      case "task.round.progress":
        return tasks.checkRoundProgress(task, event);
      case "task.round.done":
        return tasks.checkRoundDone(task, event);
      case "task.warning":
        return;
      case "task.input.added":
        return claimIds(validatorState, event.item.id);
      case "task.context_compression.created":
      case "task.context_compression.in_progress":
      case "task.context_compression.completed":
        return tasks.checkCompaction(task, event);
      case "task.usage.updated":
        return tasks.checkUsageUpdated(task, event);
      case "task.output_item.added":
        return items.checkItemAdded(validatorState, task, event);
      case "task.output_item.updated":
        return items.checkItemUpdated(task, event);
      case "task.output_item.done":
        return items.checkItemDone(task, event);
      case "task.output_item.retracted":
        return items.checkItemRetracted(task, event);
      case "task.reasoning_summary_item.added":
        return parts.checkSummaryAdded(task, event);
      case "task.reasoning_summary_item.done":
        return parts.checkSummaryDone(task, event);
      case "task.reasoning_text.done":
        return parts.checkRawDone(task, event);
      case "task.tool_call_arguments.done":
        return parts.checkArgumentsDone(task, event);
      case "task.text.added":
      case "task.image.added":
      case "task.audio.added":
      case "task.file.added":
        return parts.checkBlockAdded(task, event);
      case "task.text.annotation.added":
        return parts.checkTextAnnotated(task, event);
      case "task.image.delta":
        return parts.checkImageDelta(task, event);
      case "task.text.done":
      case "task.image.done":
      case "task.audio.done":
      case "task.file.done":
      case "task.data.done":
        return parts.checkBlockDone(task, event);
      case "task.reference.added":
        return checkReferenceAdded(validatorState, task, event);
      case "task.approval.requested":
        return approvals.checkApprovalRequested(validatorState, task, event, this.#sha256);
      case "task.approval.resolved":
        return approvals.checkApprovalResolved(validatorState, task, event);
      case "task.approval.expired":
        return approvals.checkApprovalExpired(validatorState, task, event);
      case "task.tool_execution.started":
        return executions.checkExecutionStarted(validatorState, task, event, this.#sha256);
      case "task.tool_execution.progress":
        return executions.checkExecutionProgress(task, event);
      case "task.tool_execution.done":
        return executions.checkExecutionDone(task, event);
      default:
        return event satisfies never; // an event type of a newer version
    }
  }

  #compareHash(taskId: string, expected: string): void {
    const hash = computeStateHash(buildTaskView(this.state, taskId), this.#sha256);
    if (hash !== expected)
      throw new RuleViolationError(
        "state_hash",
        `the hash of ${taskId} is ${hash}, the event has ${expected}`,
      );
  }
}

function getOpenTask(validatorState: ValidatorState, event: TaskEvent): TrackedTask {
  const task = validatorState.tasks.get(event.task_id);
  if (task === undefined)
    throw new RuleViolationError(
      "created_first",
      `${event.type} before task.created of ${event.task_id}`,
    );
  if (hasEnded(task.status))
    throw new RuleViolationError("one_terminal", `${event.type} after the end of ${event.task_id}`);
  return task;
}
