import { getApprovedArguments } from "./arguments-hash.ts";
import type { Block } from "./items.ts";
import {
  ValidatorState,
  createTrackedCall,
  createTrackedTask,
  type TrackedItemBase,
  type TrackedCall,
  type TrackedResult,
  type TrackedTask,
} from "./validator-state.ts";
import type { TaskState, TaskTree } from "./state.ts";

/** Rebuilds the state of the validator from a reduced log, to continue validating it. */
export function restoreValidatorState(tree: TaskTree): ValidatorState {
  const validatorState = new ValidatorState();
  validatorState.rootTaskId = tree.root_task_id;
  validatorState.head = tree.head;
  validatorState.wasTakenOver = true;
  for (const state of Object.values(tree.tasks)) addTask(validatorState, tree, state);
  for (const { task_id, reference_id, item_id } of tree.references) {
    const task = validatorState.tasks.get(task_id);
    if (task === undefined) continue;
    task.lastReference += 1;
    task.unreferencedNumbers.delete(reference_id);
    const citedItem = task.items.find((item) => item.id === item_id);
    if (citedItem !== undefined) citedItem.isCited = true;
  }
  for (const { task_id, status, resolution, ...approval } of tree.approvals) {
    const task = validatorState.tasks.get(task_id);
    if (task === undefined) continue;
    const call = approval.call_id === undefined ? undefined : task.calls.get(approval.call_id);
    const isPending = status === "pending";
    validatorState.approvals.set(approval.approval_id, { task, approval, call, isPending });
    validatorState.ids.add(approval.approval_id);
    if (resolution?.decision === "abort") task.isAborted = true;
    if (call === undefined) continue;
    if (isPending) call.pendingApprovals += 1;
    if (approval.kind !== "call") continue;
    const isApproved = resolution?.decision === "approve";
    call.approval = isPending ? "pending" : isApproved ? "approved" : "denied";
    if (isApproved) call.approvedArguments = getApprovedArguments(approval, resolution);
  }
  return validatorState;
}

/** Adds the parent first, regardless of the order of the tasks. */
function addTask(validatorState: ValidatorState, tree: TaskTree, state: TaskState): TrackedTask {
  const knownTask = validatorState.tasks.get(state.task_id);
  if (knownTask !== undefined) return knownTask;
  const parentState = tree.tasks[state.info.parent_task_id ?? ""];
  const parent = parentState === undefined ? undefined : addTask(validatorState, tree, parentState);
  const task = createTrackedTask(state.task_id, parent, state.info);
  validatorState.tasks.set(task.id, task);
  validatorState.ids.add(task.id);
  parent?.children.push(task);
  const parentCall = parent?.calls.get(task.id);
  if (parentCall !== undefined) parentCall.child = task;
  task.status = state.status;
  task.epoch = state.epoch;
  task.round = state.round;
  task.isRoundDone = state.round === 0 || state.round_done;
  task.roundStartIndex = state.round_started_at_index;
  task.usage = state.usage;
  task.treeUsage = state.tree_usage;
  for (const { item } of state.inputs) validatorState.ids.add(item.id);
  addItems(validatorState, task, state);
  for (const execution of state.executions) {
    const call = task.calls.get(execution.call_id);
    validatorState.ids.add(execution.execution_id);
    validatorState.idempotencyKeys.set(execution.idempotency_key, execution.call_id);
    if (call === undefined) continue;
    call.execution = {
      id: execution.execution_id,
      attempt: execution.attempt,
      effect: execution.effect,
      idempotencyKey: execution.idempotency_key,
      isRunning: execution.outcome === undefined,
    };
  }
  return task;
}

function addItems(validatorState: ValidatorState, task: TrackedTask, state: TaskState): void {
  for (const [index, item] of state.output.entries()) {
    validatorState.ids.add(item.id);
    const isOpen = item.type !== "retracted" && item.status === "in_progress";
    const base: TrackedItemBase = {
      id: item.id,
      index,
      state: item.type === "retracted" ? "retracted" : isOpen ? "open" : "closed",
      isCited: false,
      openPart: undefined,
      isRestored: isOpen,
    };
    switch (item.type) {
      case "reasoning":
        task.items.push({
          ...base,
          type: "reasoning",
          summary: [...item.summary],
          rawParts: [...(item.content ?? [])],
        });
        break;
      case "tool_call": {
        const call: TrackedCall = {
          ...createTrackedCall(item, index),
          ...base,
          arguments: item.arguments,
          areArgumentsDone: !isOpen,
          isComplete: !isOpen && (item.status !== "incomplete" || item.outcome !== undefined),
          hasOutcome: item.outcome !== undefined,
        };
        task.items.push(call);
        task.calls.set(item.call_id, call);
        validatorState.ids.add(item.call_id);
        break;
      }
      case "tool_result": {
        const call = task.calls.get(item.call_id);
        const blocks = item.block_list as Block[];
        if (call === undefined) {
          task.items.push({ ...base, type: "retracted" });
          break;
        }
        const result: TrackedResult = { ...base, type: "tool_result", call, blocks: [...blocks] };
        call.result = result;
        task.items.push(result);
        for (const { id } of blocks) if (typeof id === "number") task.unreferencedNumbers.add(id);
        break;
      }
      case "message":
        task.items.push({ ...base, type: "message", blocks: [...item.block_list] });
        break;
      default:
        task.items.push({ ...base, type: "retracted" });
    }
  }
}
