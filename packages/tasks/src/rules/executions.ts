import { argumentsHash, expandedHash } from "../arguments-hash.ts";
import type { TaskEvent } from "../events.ts";
import type { CallNotes, ExecutionNotes, LogNotes, TaskNotes } from "../log-notes.ts";
import { RuleBroken } from "./rule-broken.ts";
import { takeId } from "./unique-ids.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function started(
  notes: LogNotes,
  task: TaskNotes,
  event: EventOf<"task.tool_execution.started">,
  sha256: ((text: string) => string) | undefined,
): void {
  const call = callOf(task, event.call_id);
  mayRun(task, call);
  const before = call.execution;
  if (before !== undefined && (before.effect === "once" || event.effect === "once"))
    throw new RuleBroken("run_once", `${call.callId} has run before, and runs once at the most`);
  const { approved } = call;
  const hash =
    approved === undefined ? argumentsHash(call.arguments, sha256) : expandedHash(approved, sha256);
  if (event.args_hash !== hash)
    throw new RuleBroken("executed_hash", `${call.callId} runs with arguments of another hash`);
  if (event.attempt !== (before?.attempt ?? 0) + 1)
    throw new RuleBroken("execution_attempt", `${event.attempt} is not the next attempt`);
  const usedBy = notes.keys.get(event.idempotency_key);
  const sameKey =
    before === undefined ? usedBy === undefined : before.key === event.idempotency_key;
  if (!sameKey || (before !== undefined && before.effect !== event.effect))
    throw new RuleBroken(
      "execution_attempt",
      `every attempt of ${call.callId}, and no other call, has its key and effect`,
    );
  takeId(notes, event.execution_id);
  notes.keys.set(event.idempotency_key, call.callId);
  call.execution = {
    id: event.execution_id,
    attempt: event.attempt,
    effect: event.effect,
    key: event.idempotency_key,
    running: true,
  };
}

/** A whole call that nobody waits to decide upon, nobody refused and nothing has answered. */
export function mayRun(task: TaskNotes, call: CallNotes): void {
  if (call.state !== "closed" || !call.whole)
    throw new RuleBroken("execution_of_call", `call ${call.callId} is not whole`);
  if (call.result?.state === "closed")
    throw new RuleBroken("execution_of_call", `call ${call.callId} has its result`);
  if (call.pending > 0 || call.approval === "pending")
    throw new RuleBroken("not_approved", `call ${call.callId} waits for a person`);
  if (call.approval === "refused" || task.aborted)
    throw new RuleBroken("not_approved", `call ${call.callId} was refused`);
}

export function progress(task: TaskNotes, event: EventOf<"task.tool_execution.progress">): void {
  runningOf(task, event);
}

export function done(task: TaskNotes, event: EventOf<"task.tool_execution.done">): void {
  runningOf(task, event).running = false;
}

function runningOf(
  task: TaskNotes,
  event: { call_id: string; execution_id: string },
): ExecutionNotes {
  const { execution } = callOf(task, event.call_id);
  if (execution?.id !== event.execution_id || !execution.running)
    throw new RuleBroken("execution_running", `${event.execution_id} is not running`);
  return execution;
}

function callOf(task: TaskNotes, callId: string): CallNotes {
  const call = task.calls.get(callId);
  if (call === undefined)
    throw new RuleBroken("execution_of_call", `${task.id} has no call ${callId}`);
  return call;
}
