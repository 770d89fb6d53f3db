import { TaskError } from "./error.ts";
import type { OutputItem } from "./items.ts";
import type { TaskState, TaskTree, TaskView } from "./state.ts";

/**
 * Builds the public view of a task; default: the root. The items of sub-agents are nested in the results of their calls, and
 * retracted items are omitted. Throws a TaskError with the code "unreadable" if the task does not exist.
 */
export function buildTaskView(state: TaskTree, taskId: string = state.root_task_id): TaskView {
  const task = findTask(state, taskId);
  if (task === undefined) throw new TaskError("unreadable", `unknown task ${taskId}`);
  const view: TaskView = {
    task_id: taskId,
    status: task.status,
    output: toPublicItems(state, task, [taskId]),
    usage: task.usage,
    references: state.references
      .filter((reference) => reference.task_id === taskId)
      .map(({ task_id: _taskId, ...reference }) => reference),
    approvals: state.approvals.filter((approval) =>
      isSelfOrDescendant(state, approval.task_id, taskId),
    ),
  };
  if (task.retry !== undefined) view.retry = task.retry;
  if (task.error !== undefined) view.error = task.error;
  return view;
}

/** `path`: the ids from the viewed task down to `task`, to stop at cycles in a malformed log. */
function toPublicItems(state: TaskTree, task: TaskState, path: readonly string[]): OutputItem[] {
  return task.output.flatMap((item) =>
    item.type === "retracted" ? [] : toPublicItem(state, task, item, path),
  );
}

/** Returns the item; a result includes the items of the sub-agent that its call started. */
export function toPublicItem(
  state: TaskTree,
  task: TaskState,
  item: OutputItem,
  path: readonly string[] = [task.task_id],
): OutputItem {
  if (item.type !== "tool_result") return item;
  // The task of a sub-agent has the id of the call that started it.
  const child = findTask(state, item.call_id);
  if (child?.info.parent_task_id !== task.task_id || path.includes(child.task_id)) return item;
  const nestedItems = toPublicItems(state, child, [...path, child.task_id]);
  return { ...item, block_list: [...item.block_list, ...nestedItems] };
}

/** True if the task is the ancestor itself or a task below it. */
function isSelfOrDescendant(state: TaskTree, taskId: string, ancestorId: string): boolean {
  if (ancestorId === state.root_task_id) return true;
  const path: string[] = [];
  for (let id: string | undefined = taskId; id !== undefined && !path.includes(id);) {
    if (id === ancestorId) return true;
    path.push(id);
    id = findTask(state, id)?.info.parent_task_id;
  }
  return false;
}

function findTask(state: TaskTree, id: string): TaskState | undefined {
  return Object.hasOwn(state.tasks, id) ? state.tasks[id] : undefined;
}
