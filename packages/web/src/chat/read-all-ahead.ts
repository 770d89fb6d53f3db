import type { ChatNode } from "@deltawire/tasks/chats";
import { whenIdle } from "../markdown/idle.ts";
import type { ReadMarkdown } from "../markdown/read-markdown.ts";
import { readAhead } from "./find-in-chat.ts";

/** At a quarter of the speed still short. */
const atOnceMs = 4;

/** Before a letter is typed, from the end on, which is what people see. What it returns ends that. */
export function readAllAhead(path: readonly ChatNode[], read: ReadMarkdown): () => void {
  let left = path.length;
  const some = () => {
    const until = performance.now() + atOnceMs;
    while (left > 0 && performance.now() < until) {
      left -= 1;
      const node = path[left];
      if (node !== undefined) readAhead(node, read);
    }
    if (left > 0) stop = whenIdle(some);
  };
  let stop = whenIdle(some);
  return () => stop();
}
