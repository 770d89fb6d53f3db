import { approvedArguments } from "./arguments-hash.ts";
import type { Block } from "./items.ts";
import {
  LogNotes,
  newCallNotes,
  newTaskNotes,
  type AnyItem,
  type CallNotes,
  type ResultNotes,
  type TaskNotes,
} from "./log-notes.ts";
import type { TaskState, TaskTree } from "./state.ts";

/** The notes with which a log is gone on with. */
export function notesOf(tree: TaskTree): LogNotes {
  const notes = new LogNotes();
  notes.root = tree.root_task_id;
  notes.head = tree.head;
  notes.takenOver = true;
  for (const state of Object.values(tree.tasks)) addTask(notes, tree, state);
  for (const { task_id, reference_id, item_id } of tree.references) {
    const task = notes.tasks.get(task_id);
    if (task === undefined) continue;
    task.references += 1;
    task.unreferenced.delete(reference_id);
    const cited = task.items.find((item) => item.id === item_id);
    if (cited !== undefined) cited.cited = true;
  }
  for (const { task_id, status, resolution, ...approval } of tree.approvals) {
    const task = notes.tasks.get(task_id);
    if (task === undefined) continue;
    const call = approval.call_id === undefined ? undefined : task.calls.get(approval.call_id);
    const pending = status === "pending";
    notes.approvals.set(approval.approval_id, { task, approval, call, pending });
    notes.ids.add(approval.approval_id);
    if (resolution?.decision === "abort") task.aborted = true;
    if (call === undefined) continue;
    if (pending) call.pending += 1;
    if (approval.kind !== "call") continue;
    const isApproved = resolution?.decision === "approve";
    call.approval = pending ? "pending" : isApproved ? "approved" : "refused";
    if (isApproved) call.approved = approvedArguments(approval, resolution);
  }
  return notes;
}

/** Parents first, in whatever order the tasks stand. */
function addTask(notes: LogNotes, tree: TaskTree, state: TaskState): TaskNotes {
  const known = notes.tasks.get(state.task_id);
  if (known !== undefined) return known;
  const above = tree.tasks[state.info.parent_task_id ?? ""];
  const parent = above === undefined ? undefined : addTask(notes, tree, above);
  const task = newTaskNotes(state.task_id, parent, state.info);
  notes.tasks.set(task.id, task);
  notes.ids.add(task.id);
  parent?.children.push(task);
  const asked = parent?.calls.get(task.id);
  if (asked !== undefined) asked.child = task;
  task.status = state.status;
  task.epoch = state.epoch;
  task.round = state.round;
  task.roundDone = state.round === 0 || state.round_done;
  task.roundFrom = state.round_started_at_index;
  task.usage = state.usage;
  task.treeUsage = state.tree_usage;
  for (const { item } of state.inputs) notes.ids.add(item.id);
  addItems(notes, task, state);
  for (const execution of state.executions) {
    const call = task.calls.get(execution.call_id);
    notes.ids.add(execution.execution_id);
    notes.keys.set(execution.idempotency_key, execution.call_id);
    if (call === undefined) continue;
    call.execution = {
      id: execution.execution_id,
      attempt: execution.attempt,
      effect: execution.effect,
      key: execution.idempotency_key,
      running: execution.outcome === undefined,
    };
  }
  return task;
}

function addItems(notes: LogNotes, task: TaskNotes, state: TaskState): void {
  for (const [index, item] of state.output.entries()) {
    notes.ids.add(item.id);
    const open = item.type !== "retracted" && item.status === "in_progress";
    const base: AnyItem = {
      id: item.id,
      index,
      state: item.type === "retracted" ? "retracted" : open ? "open" : "closed",
      cited: false,
      part: undefined,
      restored: open,
    };
    switch (item.type) {
      case "reasoning":
        task.items.push({
          ...base,
          type: "reasoning",
          summary: [...item.summary],
          raw: [...(item.content ?? [])],
        });
        break;
      case "tool_call": {
        const call: CallNotes = {
          ...newCallNotes(item, index),
          ...base,
          arguments: item.arguments,
          argumentsDone: !open,
          whole: !open && (item.status !== "incomplete" || item.outcome !== undefined),
          settled: item.outcome !== undefined,
        };
        task.items.push(call);
        task.calls.set(item.call_id, call);
        notes.ids.add(item.call_id);
        break;
      }
      case "tool_result": {
        const call = task.calls.get(item.call_id);
        const blocks = item.block_list as Block[];
        if (call === undefined) {
          task.items.push({ ...base, type: "retracted" });
          break;
        }
        const result: ResultNotes = { ...base, type: "tool_result", call, blocks: [...blocks] };
        call.result = result;
        task.items.push(result);
        for (const { id } of blocks) if (typeof id === "number") task.unreferenced.add(id);
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
