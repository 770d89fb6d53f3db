import { hashArguments, hashExpandedArguments } from "../arguments-hash.ts";
import type { TaskEvent } from "../events.ts";
import type {
  TrackedCall,
  TrackedExecution,
  ValidatorState,
  TrackedTask,
} from "../validator-state.ts";
import { RuleViolationError } from "./rule-violation.ts";
import { claimIds } from "./unique-ids.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function checkExecutionStarted(
  state: ValidatorState,
  task: TrackedTask,
  event: EventOf<"task.tool_execution.started">,
  sha256: ((text: string) => string) | undefined,
): void {
  const call = getCall(task, event.call_id);
  assertMayRun(task, call);
  const previous = call.execution;
  if (previous !== undefined && (previous.effect === "once" || event.effect === "once"))
    throw new RuleViolationError(
      "run_once",
      `${call.callId} has already run and must run only once`,
    );
  const { approvedArguments } = call;
  const hash =
    approvedArguments === undefined
      ? hashArguments(call.arguments, sha256)
      : hashExpandedArguments(approvedArguments, sha256);
  if (event.args_hash !== hash)
    throw new RuleViolationError(
      "executed_hash",
      `args_hash does not match the arguments of ${call.callId}`,
    );
  if (event.attempt !== (previous?.attempt ?? 0) + 1)
    throw new RuleViolationError(
      "execution_attempt",
      `attempt ${event.attempt} is not the next one`,
    );
  const keyOwner = state.idempotencyKeys.get(event.idempotency_key);
  const isSameKey =
    previous === undefined
      ? keyOwner === undefined
      : previous.idempotencyKey === event.idempotency_key;
  if (!isSameKey || (previous !== undefined && previous.effect !== event.effect))
    throw new RuleViolationError(
      "execution_attempt",
      `all attempts of ${call.callId} must have the same effect, and the same idempotency key that no other call uses`,
    );
  claimIds(state, event.execution_id);
  state.idempotencyKeys.set(event.idempotency_key, call.callId);
  call.execution = {
    id: event.execution_id,
    attempt: event.attempt,
    effect: event.effect,
    idempotencyKey: event.idempotency_key,
    isRunning: true,
  };
}

/** Throws unless the call is complete, approved if necessary, and without a result. */
export function assertMayRun(task: TrackedTask, call: TrackedCall): void {
  if (call.state !== "closed" || !call.isComplete)
    throw new RuleViolationError("execution_of_call", `call ${call.callId} is not complete`);
  if (call.result?.state === "closed")
    throw new RuleViolationError("execution_of_call", `call ${call.callId} already has a result`);
  if (call.pendingApprovals > 0 || call.approval === "pending")
    throw new RuleViolationError("not_approved", `call ${call.callId} has a pending approval`);
  if (call.approval === "denied" || task.isAborted)
    throw new RuleViolationError("not_approved", `call ${call.callId} was not approved`);
}

export function checkExecutionProgress(
  task: TrackedTask,
  event: EventOf<"task.tool_execution.progress">,
): void {
  getRunningExecution(task, event);
}

export function checkExecutionDone(
  task: TrackedTask,
  event: EventOf<"task.tool_execution.done">,
): void {
  getRunningExecution(task, event).isRunning = false;
}

function getRunningExecution(
  task: TrackedTask,
  event: { call_id: string; execution_id: string },
): TrackedExecution {
  const { execution } = getCall(task, event.call_id);
  if (execution?.id !== event.execution_id || !execution.isRunning)
    throw new RuleViolationError("execution_running", `${event.execution_id} is not running`);
  return execution;
}

function getCall(task: TrackedTask, callId: string): TrackedCall {
  const call = task.calls.get(callId);
  if (call === undefined)
    throw new RuleViolationError("execution_of_call", `${task.id} has no call ${callId}`);
  return call;
}
