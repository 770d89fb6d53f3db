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
  const { as_of, references, approvals } = snapshot;
  const tasks = Object.entries(snapshot.tasks).map(
    ([id, task]) => [id, withItemsOf(before.tasks[id], task)] as const,
  );
  return {
    root_task_id: tasks[0]?.[1].info.root_task_id ?? "",
    head: as_of,
    tasks: Object.fromEntries(tasks),
    references,
    approvals,
  };
}

function withItemsOf(before: TaskState | undefined, task: TaskState): TaskState {
  if (before === undefined) return task;
  const output = task.output.map((item, index) => {
    const old = before.output[index];
    return old !== undefined && equalJson(old, item) ? old : item;
  });
  return { ...task, output };
}
