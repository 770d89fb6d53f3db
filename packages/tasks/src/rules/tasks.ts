import type { TaskEvent } from "../events.ts";
import type { TaskStatus, Usage } from "../items.ts";
import { createTrackedTask, type ValidatorState, type TrackedTask } from "../validator-state.ts";
import { hasEnded, statusFromEventType } from "../task-status.ts";
import { usageFields } from "../usage.ts";
import { assertMayRun } from "./executions.ts";
import { RuleViolationError } from "./rule-violation.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function checkTaskCreated(state: ValidatorState, event: EventOf<"task.created">): void {
  const { task_id, task } = event;
  if (state.tasks.has(task_id))
    throw new RuleViolationError("created_once", `task ${task_id} already exists`);
  const isRoot = state.tasks.size === 0;
  if (isRoot !== (task.parent_task_id === undefined))
    throw new RuleViolationError(
      "created_first",
      isRoot ? "the first task has a parent" : `task ${task_id} has no parent`,
    );
  const parent = isRoot ? undefined : getParent(state, event);
  const depth = parent === undefined ? 0 : parent.depth + 1;
  if (task.depth !== depth)
    throw new RuleViolationError(
      "depth",
      `task ${task_id} has depth ${task.depth}, expected ${depth}`,
    );
  if (task.root_task_id !== (isRoot ? task_id : state.rootTaskId))
    throw new RuleViolationError(
      "created_fields",
      `${task.root_task_id} is not the root of ${task_id}`,
    );
  const problem =
    task.status !== "created"
      ? `the status must be created, got ${task.status}`
      : task.attempt < 1
        ? `attempt must be at least 1, got ${task.attempt}`
        : /^1\.\d+$/.test(task.protocol_version)
          ? undefined
          : `protocol_version must be 1.x, got ${task.protocol_version}`;
  if (problem !== undefined)
    throw new RuleViolationError("created_fields", `task ${task_id}: ${problem}`);
  if (isRoot) {
    if (task.parent_call_id !== undefined)
      throw new RuleViolationError("parent_call", "a root task must not have a parent_call_id");
    state.rootTaskId = task_id;
    state.ids.add(task_id);
  }
  const trackedTask = createTrackedTask(task_id, parent, task);
  state.tasks.set(task_id, trackedTask);
  const call = parent?.calls.get(task_id);
  if (call !== undefined) call.child = trackedTask;
  parent?.children.push(trackedTask);
}

function getParent(state: ValidatorState, { task_id, task }: EventOf<"task.created">): TrackedTask {
  const parent = state.tasks.get(task.parent_task_id ?? "");
  if (parent === undefined)
    throw new RuleViolationError("created_first", `the parent of ${task_id} does not exist`);
  if (hasEnded(parent.status))
    throw new RuleViolationError("one_terminal", `the parent of ${task_id} has ended`);
  const call = parent.calls.get(task_id);
  if (call === undefined || task.parent_call_id !== task_id)
    throw new RuleViolationError(
      "parent_call",
      `the id of task ${task_id} is not a call of its parent`,
    );
  assertMayRun(parent, call);
  if (call.result?.state !== "open")
    throw new RuleViolationError("parent_call", `the result of ${task_id} is not open`);
  if (call.result.blocks.length > 0)
    throw new RuleViolationError("child_blocks", `the result of ${task_id} already has blocks`);
  return parent;
}

const failureStatuses: readonly TaskStatus[] = ["failed", "canceled", "expired"];
const allowedTransitions: Record<TaskStatus, readonly TaskStatus[]> = {
  created: ["queued", "working", ...failureStatuses],
  queued: ["queued", "working", "paused", ...failureStatuses],
  working: ["paused", "input_required", "completed", ...failureStatuses],
  paused: ["queued", "working", "input_required", ...failureStatuses],
  input_required: ["working", "paused", "input_required", ...failureStatuses],
  completed: [],
  failed: [],
  canceled: [],
  expired: [],
};

export function checkStatusChanged(
  state: ValidatorState,
  task: TrackedTask,
  event: EventOf<"task.queued" | "task.working" | "task.paused">,
): void {
  const status = statusFromEventType(event.type);
  const isTakeover = event.type === "task.working" && event.recovered === true;
  if (!isTakeover) {
    assertTransition(task, status);
    const waitingChild = task.children.find((child) => child.status === "input_required");
    if (waitingChild !== undefined)
      throw new RuleViolationError(
        "input_required_ancestors",
        `${task.id} is resumed while its sub-agent ${waitingChild.id} is waiting for a user`,
      );
  }
  if (event.type === "task.working" && event.epoch !== undefined) {
    if (!isTakeover || event.epoch <= task.epoch)
      throw new RuleViolationError(
        "status_transition",
        `epoch ${event.epoch} must be greater than ${task.epoch}, and is only allowed if a task is resumed after a crash`,
      );
    task.epoch = event.epoch;
  }
  if (isTakeover) state.wasTakenOver = true;
  task.status = status;
}

export function checkInputRequired(
  state: ValidatorState,
  task: TrackedTask,
  event: EventOf<"task.input_required">,
): void {
  assertTransition(task, "input_required");
  if (task.parent !== undefined && task.parent.status !== "input_required")
    throw new RuleViolationError(
      "input_required_ancestors",
      `${task.id} is waiting for a user, but its parent ${task.parent.id} is not`,
    );
  if (event.approval_ids.length === 0)
    throw new RuleViolationError(
      "input_required_approvals",
      `${task.id} is waiting for a user, but lists no approvals`,
    );
  for (const id of event.approval_ids) {
    const approval = state.approvals.get(id);
    if (approval === undefined || !approval.isPending || !isSelfOrDescendant(approval.task, task))
      throw new RuleViolationError(
        "input_required_approvals",
        `${task.id} waits for ${id}, which is not pending in it or its sub-agents`,
      );
  }
  task.status = "input_required";
}

/** True if the task is the ancestor itself or a task below it. */
export function isSelfOrDescendant(task: TrackedTask, ancestor: TrackedTask): boolean {
  for (let current: TrackedTask | undefined = task; current !== undefined; current = current.parent)
    if (current === ancestor) return true;
  return false;
}

export function checkTaskEnded(
  state: ValidatorState,
  task: TrackedTask,
  event: EventOf<"task.completed" | "task.failed" | "task.canceled" | "task.expired">,
): void {
  const status = statusFromEventType(event.type);
  assertTransition(task, status);
  const child = task.children.find(({ status: childStatus }) => !hasEnded(childStatus));
  if (child !== undefined)
    throw new RuleViolationError(
      "children_end_first",
      `${task.id} ends before its sub-agent ${child.id}`,
    );
  for (const item of task.items)
    if (item.state === "open")
      throw new RuleViolationError(
        "items_closed",
        `item ${item.id} is still open at the end of ${task.id}`,
      );
  assertAllCallsAnswered(task);
  for (const call of task.calls.values())
    if (call.execution?.isRunning === true)
      throw new RuleViolationError(
        "executions_closed",
        `${call.execution.id} is still running at the end of ${task.id}`,
      );
  for (const [id, approval] of state.approvals)
    if (approval.task === task && approval.isPending)
      throw new RuleViolationError(
        "approvals_closed",
        `${id} is still pending at the end of ${task.id}`,
      );
  if (status === "completed" && !task.isRoundDone)
    throw new RuleViolationError(
      "rounds",
      `${task.id} is completed before the end of round ${task.round}`,
    );
  if (status === "completed" && !state.wasTakenOver)
    for (const id of task.unreferencedNumbers)
      throw new RuleViolationError(
        "block_ids",
        `a block has the number ${id}, but there is no such reference`,
      );
  assertUsageNotDecreasing(task.usage, event.usage);
  task.usage = event.usage;
  task.status = status;
}

function assertTransition(task: TrackedTask, status: TaskStatus): void {
  if (!allowedTransitions[task.status].includes(status))
    throw new RuleViolationError(
      "status_transition",
      `${task.id} cannot be ${status} after ${task.status}`,
    );
}

function assertAllCallsAnswered(task: TrackedTask): void {
  for (const call of task.calls.values())
    if (call.state !== "retracted" && call.result?.state !== "closed")
      throw new RuleViolationError("call_has_result", `call ${call.callId} has no result`);
}

export function checkRoundStarted(task: TrackedTask, event: EventOf<"task.round.started">): void {
  const { round } = event;
  if (task.status !== "working")
    throw new RuleViolationError(
      "rounds",
      `round ${round} starts while the task is ${task.status}`,
    );
  if (task.isAborted) throw new RuleViolationError("not_approved", "a user aborted this task");
  if (task.isRoundDone) {
    if (round !== task.round + 1)
      throw new RuleViolationError("rounds", `round ${round} follows round ${task.round}`);
  } else {
    if (round !== task.round)
      throw new RuleViolationError(
        "rounds",
        `round ${round} starts before round ${task.round} is done`,
      );
    for (let index = task.roundStartIndex; index < task.items.length; index += 1)
      if (task.items[index]?.state !== "retracted")
        throw new RuleViolationError(
          "rounds",
          `round ${round} starts again, but item ${index} is not retracted`,
        );
  }
  assertAllCallsAnswered(task);
  task.round = round;
  task.isRoundDone = false;
  task.roundStartIndex = task.items.length;
}

export function checkRoundProgress(task: TrackedTask, event: EventOf<"task.round.progress">): void {
  if (task.isRoundDone || event.round !== task.round)
    throw new RuleViolationError("rounds", `round ${event.round} is not running`);
}

export function checkRoundDone(task: TrackedTask, event: EventOf<"task.round.done">): void {
  if (task.isRoundDone || event.round !== task.round)
    throw new RuleViolationError("rounds", `round ${event.round} is not running`);
  for (let index = task.roundStartIndex; index < task.items.length; index += 1) {
    const item = task.items[index];
    if (item?.state === "open" && item.type !== "tool_result")
      throw new RuleViolationError(
        "rounds",
        `item ${item.id} is still open at the end of its round`,
      );
  }
  task.isRoundDone = true;
}

export function checkCompaction(
  task: TrackedTask,
  event: EventOf<
    | "task.context_compression.created"
    | "task.context_compression.in_progress"
    | "task.context_compression.completed"
  >,
): void {
  if (event.type !== "task.context_compression.created" && !task.isCompacting)
    throw new RuleViolationError("compaction", `${event.type} without a created event`);
  task.isCompacting = event.type !== "task.context_compression.completed";
}

export function checkUsageUpdated(task: TrackedTask, event: EventOf<"task.usage.updated">): void {
  assertUsageNotDecreasing(task.usage, event.usage);
  if (event.tree_usage !== undefined) {
    if (task.treeUsage !== undefined) assertUsageNotDecreasing(task.treeUsage, event.tree_usage);
    task.treeUsage = event.tree_usage;
  }
  task.usage = event.usage;
}

function assertUsageNotDecreasing(previous: Usage, current: Usage): void {
  for (const name of usageFields)
    if ((current[name] ?? 0) < (previous[name] ?? 0))
      throw new RuleViolationError(
        "usage_cumulative",
        `${name} decreases from ${previous[name]} to ${current[name] ?? 0}`,
      );
}
