import type { Snapshot } from "./events.ts";
import { equalJson } from "./json.ts";
import { emptyTree } from "./reducer.ts";
import { stateHash } from "./state-hash.ts";
import type { TaskState, TaskTree } from "./state.ts";
import { taskView } from "./view.ts";

/** All that a client needs to go on with the event after `as_of`. */
export function snapshotOf(state: TaskTree, sha256?: (text: string) => string): Snapshot {
  const { head, tasks, references, approvals } = state;
  return {
    as_of: head,
    tasks: { ...tasks },
    references: [...references],
    approvals: [...approvals],
    state_hash: stateHash(taskView(state), sha256),
  };
}

/** Items of `before` that the snapshot repeats stay the same objects, so that a page need not draw them again. */
export function treeOf(snapshot: Snapshot, before: TaskTree = emptyTree): TaskTree {
  const { as_of, tasks, references, approvals } = snapshot;
  const root_task_id = Object.values(tasks)[0]?.info.root_task_id ?? "";
  return withItemsOf({ root_task_id, head: as_of, tasks, references, approvals }, before);
}

/** The tree with the items and inputs of `before` where they are equal. */
export function withItemsOf(tree: TaskTree, before: TaskTree): TaskTree {
  const tasks = Object.entries(tree.tasks).map(
    ([id, task]) => [id, withOutputOf(task, before.tasks[id])] as const,
  );
  return { ...tree, tasks: Object.fromEntries(tasks) };
}

function withOutputOf(task: TaskState, before: TaskState | undefined): TaskState {
  if (before === undefined) return task;
  const output = task.output.map((item, index) => {
    const old = before.output[index];
    return old !== undefined && equalJson(old, item) ? old : item;
  });
  const inputs = equalJson(before.inputs, task.inputs) ? before.inputs : task.inputs;
  return { ...task, output, inputs };
}
