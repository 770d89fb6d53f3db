import type { TaskTree } from "@deltawire/tasks";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { firstWordsIn } from "./lines.ts";

/** The first words of an answer that runs. They are drawn again while there are few, and not with every word after that. */
export function useLiveWords(taskId: string): string {
  const page = usePage();
  return usePicked(page.taskTree(taskId), firstSaid);
}

export function firstSaid(tree: TaskTree | undefined): string {
  if (tree === undefined || !Object.hasOwn(tree.tasks, tree.root_task_id)) return "";
  for (const item of tree.tasks[tree.root_task_id]?.output ?? []) {
    if (item.type !== "message") continue;
    for (const block of item.block_list) {
      const words = block.type === "text" ? firstWordsIn(block.text) : "";
      if (words !== "") return words;
    }
  }
  return "";
}
