import type { TaskEvent } from "../events.ts";
import type { TaskStatus, Usage } from "../items.ts";
import { newTaskNotes, type LogNotes, type TaskNotes } from "../log-notes.ts";
import { hasEnded, statusAfter } from "../task-status.ts";
import { usageAmounts } from "../usage.ts";
import { mayRun } from "./executions.ts";
import { RuleBroken } from "./rule-broken.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function created(notes: LogNotes, event: EventOf<"task.created">): void {
  const { task_id, task } = event;
  if (notes.tasks.has(task_id))
    throw new RuleBroken("created_once", `task ${task_id} has been created before`);
  const isRoot = notes.tasks.size === 0;
  if (isRoot !== (task.parent_task_id === undefined))
    throw new RuleBroken(
      "created_first",
      isRoot ? "a sub-task comes before its parent" : `task ${task_id} has no parent`,
    );
  const parent = isRoot ? undefined : parentOf(notes, event);
  const depth = parent === undefined ? 0 : parent.depth + 1;
  if (task.depth !== depth)
    throw new RuleBroken("depth", `task ${task_id} says depth ${task.depth}, it is at ${depth}`);
  if (task.root_task_id !== (isRoot ? task_id : notes.root))
    throw new RuleBroken("created_fields", `${task.root_task_id} is not the root of ${task_id}`);
  if (task.status !== "created" || task.attempt < 1 || !/^1\.\d+$/.test(task.protocol_version))
    throw new RuleBroken(
      "created_fields",
      `task ${task_id} begins as "${task.status}", attempt ${task.attempt}, protocol ${task.protocol_version}`,
    );
  if (isRoot) {
    if (task.parent_call_id !== undefined)
      throw new RuleBroken("parent_call", "a root task answers no call");
    notes.root = task_id;
    notes.ids.add(task_id);
  }
  const added = newTaskNotes(task_id, parent, task);
  notes.tasks.set(task_id, added);
  const call = parent?.calls.get(task_id);
  if (call !== undefined) call.child = added;
  parent?.children.push(added);
}

function parentOf(notes: LogNotes, { task_id, task }: EventOf<"task.created">): TaskNotes {
  const parent = notes.tasks.get(task.parent_task_id ?? "");
  if (parent === undefined)
    throw new RuleBroken("created_first", `the parent of ${task_id} does not exist yet`);
  if (hasEnded(parent.status))
    throw new RuleBroken("one_terminal", `the parent of ${task_id} has ended`);
  const call = parent.calls.get(task_id);
  if (call === undefined || task.parent_call_id !== task_id)
    throw new RuleBroken("parent_call", `task ${task_id} is not named after a call of its parent`);
  mayRun(parent, call);
  if (call.result?.state !== "open")
    throw new RuleBroken("parent_call", `the result of ${task_id} is not open`);
  if (call.result.blocks.length > 0)
    throw new RuleBroken("child_blocks", `the result of ${task_id} has blocks of its own`);
  return parent;
}

const cutShort: readonly TaskStatus[] = ["failed", "canceled", "expired"];
const after: Record<TaskStatus, readonly TaskStatus[]> = {
  created: ["queued", "working", ...cutShort],
  queued: ["queued", "working", "paused", ...cutShort],
  working: ["paused", "input_required", "completed", ...cutShort],
  paused: ["queued", "working", "input_required", ...cutShort],
  input_required: ["working", "paused", "input_required", ...cutShort],
  completed: [],
  failed: [],
  canceled: [],
  expired: [],
};

export function statusChanged(
  notes: LogNotes,
  task: TaskNotes,
  event: EventOf<"task.queued" | "task.working" | "task.paused">,
): void {
  const status = statusAfter(event.type);
  const takeover = event.type === "task.working" && event.recovered === true;
  if (!takeover) {
    mayBecome(task, status);
    const waiting = task.children.find((child) => child.status === "input_required");
    if (waiting !== undefined)
      throw new RuleBroken(
        "input_required_ancestors",
        `${task.id} goes on while ${waiting.id} below it waits for a person`,
      );
  }
  if (event.type === "task.working" && event.epoch !== undefined) {
    if (!takeover || event.epoch <= task.epoch)
      throw new RuleBroken("status_transition", `epoch ${event.epoch} is no new takeover`);
    task.epoch = event.epoch;
  }
  if (takeover) notes.takenOver = true;
  task.status = status;
}

export function inputRequired(
  notes: LogNotes,
  task: TaskNotes,
  event: EventOf<"task.input_required">,
): void {
  mayBecome(task, "input_required");
  if (task.parent !== undefined && task.parent.status !== "input_required")
    throw new RuleBroken(
      "input_required_ancestors",
      `${task.id} waits for a person, ${task.parent.id} above it does not`,
    );
  if (event.approval_ids.length === 0)
    throw new RuleBroken("input_required_approvals", `${task.id} waits for nothing`);
  for (const id of event.approval_ids) {
    const asked = notes.approvals.get(id);
    if (asked === undefined || !asked.pending || !isWithin(asked.task, task))
      throw new RuleBroken(
        "input_required_approvals",
        `${task.id} waits for ${id}, which is not pending in it or below`,
      );
  }
  task.status = "input_required";
}

export function isWithin(task: TaskNotes, ancestor: TaskNotes): boolean {
  for (let at: TaskNotes | undefined = task; at !== undefined; at = at.parent)
    if (at === ancestor) return true;
  return false;
}

export function ended(
  notes: LogNotes,
  task: TaskNotes,
  event: EventOf<"task.completed" | "task.failed" | "task.canceled" | "task.expired">,
): void {
  const status = statusAfter(event.type);
  mayBecome(task, status);
  const child = task.children.find((below) => !hasEnded(below.status));
  if (child !== undefined)
    throw new RuleBroken("children_end_first", `${task.id} ends before ${child.id} below it`);
  for (const item of task.items)
    if (item.state === "open")
      throw new RuleBroken("items_closed", `item ${item.id} is open at the end of ${task.id}`);
  everyCallIsAnswered(task);
  for (const call of task.calls.values())
    if (call.execution?.running === true)
      throw new RuleBroken("executions_closed", `${call.execution.id} runs at the task's end`);
  for (const [id, asked] of notes.approvals)
    if (asked.task === task && asked.pending)
      throw new RuleBroken("approvals_closed", `${id} is pending at the task's end`);
  if (status === "completed" && !task.roundDone)
    throw new RuleBroken("rounds", `${task.id} is completed within round ${task.round}`);
  if (status === "completed" && !notes.takenOver)
    for (const id of task.unreferenced)
      throw new RuleBroken("block_ids", `a block has the number ${id}, which no reference has`);
  neverFalls(task.usage, event.usage);
  task.usage = event.usage;
  task.status = status;
}

function mayBecome(task: TaskNotes, status: TaskStatus): void {
  if (!after[task.status].includes(status))
    throw new RuleBroken(
      "status_transition",
      `${task.id} cannot be ${status} after ${task.status}`,
    );
}

function everyCallIsAnswered(task: TaskNotes): void {
  for (const call of task.calls.values())
    if (call.state !== "retracted" && call.result?.state !== "closed")
      throw new RuleBroken("call_has_result", `call ${call.callId} has no result`);
}

export function roundStarted(task: TaskNotes, event: EventOf<"task.round.started">): void {
  const { round } = event;
  if (task.status !== "working")
    throw new RuleBroken("rounds", `round ${round} starts while the task is ${task.status}`);
  if (task.aborted) throw new RuleBroken("not_approved", "a person has ended this task");
  if (task.roundDone) {
    if (round !== task.round + 1)
      throw new RuleBroken("rounds", `round ${round} follows round ${task.round}`);
  } else {
    if (round !== task.round)
      throw new RuleBroken("rounds", `round ${round} starts before round ${task.round} is done`);
    for (let index = task.roundFrom; index < task.items.length; index += 1)
      if (task.items[index]?.state !== "retracted")
        throw new RuleBroken("rounds", `round ${round} starts again, and item ${index} stays`);
  }
  everyCallIsAnswered(task);
  task.round = round;
  task.roundDone = false;
  task.roundFrom = task.items.length;
}

export function roundProgress(task: TaskNotes, event: EventOf<"task.round.progress">): void {
  if (task.roundDone || event.round !== task.round)
    throw new RuleBroken("rounds", `round ${event.round} goes on, and is not under way`);
}

export function roundDone(task: TaskNotes, event: EventOf<"task.round.done">): void {
  if (task.roundDone || event.round !== task.round)
    throw new RuleBroken("rounds", `round ${event.round} is done, and was not under way`);
  for (let index = task.roundFrom; index < task.items.length; index += 1) {
    const item = task.items[index];
    if (item?.state === "open" && item.type !== "tool_result")
      throw new RuleBroken("rounds", `item ${item.id} is open at the end of its round`);
  }
  task.roundDone = true;
}

export function compression(
  task: TaskNotes,
  event: EventOf<
    | "task.context_compression.created"
    | "task.context_compression.in_progress"
    | "task.context_compression.completed"
  >,
): void {
  if (event.type !== "task.context_compression.created" && !task.compressing)
    throw new RuleBroken("compression", `${event.type} without a beginning`);
  task.compressing = event.type !== "task.context_compression.completed";
}

export function usageUpdated(task: TaskNotes, event: EventOf<"task.usage.updated">): void {
  neverFalls(task.usage, event.usage);
  if (event.tree_usage !== undefined) {
    if (task.treeUsage !== undefined) neverFalls(task.treeUsage, event.tree_usage);
    task.treeUsage = event.tree_usage;
  }
  task.usage = event.usage;
}

function neverFalls(before: Usage, now: Usage): void {
  for (const name of usageAmounts)
    if ((now[name] ?? 0) < (before[name] ?? 0))
      throw new RuleBroken("usage_cumulative", `${name} falls to ${now[name] ?? "nothing"}`);
}
