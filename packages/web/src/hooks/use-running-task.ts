import type { TaskTree } from "@deltawire/tasks";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import { cell } from "../cell.ts";
import { usePicked } from "./use-cell.ts";
import { usePage } from "./use-page.ts";

type Task = NonNullable<TaskTree["tasks"][string]>;

/** Returns what `pick` finds in the live task of an answer; undefined unless the answer is running. */
export function useRunningTask<Picked>(
  version: AnswerVersion | undefined,
  pick: (task: Task) => Picked,
): Picked | undefined {
  const page = usePage();
  const taskId = version?.status === "running" ? version.task_id : undefined;
  return usePicked(taskId === undefined ? noTree : page.taskTree(taskId), (tree) => {
    const task = tree?.tasks[taskId ?? ""];
    return task === undefined ? undefined : pick(task);
  });
}

const noTree = cell<TaskTree | undefined>(undefined);
