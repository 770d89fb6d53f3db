import { TaskError } from "./error.ts";
import type { OutputItem } from "./items.ts";
import type { TaskState, TaskTree, TaskView } from "./state.ts";

/**
 * What the public sees of a task, the root where none is named: sub-agents inside the results of the calls that asked
 * for them, nothing that was taken back.
 */
export function taskView(state: TaskTree, taskId: string = state.root_task_id): TaskView {
  const task = taskOf(state, taskId);
  if (task === undefined) throw new TaskError("unreadable", `there is no task ${taskId}`);
  const view: TaskView = {
    task_id: taskId,
    status: task.status,
    output: publicItems(state, task, [taskId]),
    usage: task.usage,
    references: state.references
      .filter((reference) => reference.task_id === taskId)
      .map(({ task_id: _own, ...reference }) => reference),
    approvals: state.approvals.filter((approval) => isWithin(state, approval.task_id, taskId)),
  };
  if (task.retry !== undefined) view.retry = task.retry;
  if (task.error !== undefined) view.error = task.error;
  return view;
}

/** `path` leads here from the task that is looked at: a log that runs in a circle is not followed round it. */
function publicItems(state: TaskTree, task: TaskState, path: readonly string[]): OutputItem[] {
  return task.output.flatMap((item) =>
    item.type === "retracted" ? [] : publicItem(state, task, item, path),
  );
}

/** The item; a result with what the sub-agent of its call did. */
export function publicItem(
  state: TaskTree,
  task: TaskState,
  item: OutputItem,
  path: readonly string[] = [task.task_id],
): OutputItem {
  if (item.type !== "tool_result") return item;
  const child = taskOf(state, item.call_id);
  if (child?.info.parent_task_id !== task.task_id || path.includes(child.task_id)) return item;
  const nested = publicItems(state, child, [...path, child.task_id]);
  return { ...item, block_list: [...item.block_list, ...nested] };
}

function isWithin(state: TaskTree, taskId: string, ancestorId: string): boolean {
  if (ancestorId === state.root_task_id) return true;
  const path: string[] = [];
  for (let id: string | undefined = taskId; id !== undefined && !path.includes(id);) {
    if (id === ancestorId) return true;
    path.push(id);
    id = taskOf(state, id)?.info.parent_task_id;
  }
  return false;
}

function taskOf(state: TaskTree, id: string): TaskState | undefined {
  return Object.hasOwn(state.tasks, id) ? state.tasks[id] : undefined;
}
