import type { Snapshot } from "./events.ts";
import { isJsonEqual } from "./json.ts";
import { emptyTree } from "./reducer.ts";
import { computeStateHash } from "./state-hash.ts";
import type { TaskState, TaskTree } from "./state.ts";
import { buildTaskView } from "./task-view.ts";

/** Returns everything that a client needs to continue with the event after `as_of`. */
export function createSnapshot(state: TaskTree, sha256?: (text: string) => string): Snapshot {
  const { head, tasks, references, approvals } = state;
  return {
    as_of: head,
    tasks: { ...tasks },
    references: [...references],
    approvals: [...approvals],
    state_hash: computeStateHash(buildTaskView(state), sha256),
  };
}

/** Reuses equal items of `previous`, so that a page does not rerender them. */
export function snapshotToTree(snapshot: Snapshot, previous: TaskTree = emptyTree): TaskTree {
  const { as_of, tasks, references, approvals } = snapshot;
  const root_task_id = Object.values(tasks)[0]?.info.root_task_id ?? "";
  return reuseItems({ root_task_id, head: as_of, tasks, references, approvals }, previous);
}

/** Returns the tree with the item and input objects of `previous` where they are equal. */
export function reuseItems(tree: TaskTree, previous: TaskTree): TaskTree {
  const tasks = Object.entries(tree.tasks).map(
    ([id, task]) => [id, reuseOutput(task, previous.tasks[id])] as const,
  );
  return { ...tree, tasks: Object.fromEntries(tasks) };
}

function reuseOutput(task: TaskState, previous: TaskState | undefined): TaskState {
  if (previous === undefined) return task;
  const output = task.output.map((item, index) => {
    const old = previous.output[index];
    return old !== undefined && isJsonEqual(old, item) ? old : item;
  });
  const inputs = isJsonEqual(previous.inputs, task.inputs) ? previous.inputs : task.inputs;
  return { ...task, output, inputs };
}
