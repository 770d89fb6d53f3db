import type { TaskInput } from "@deltawire/tasks";
import { Icon } from "../parts/icon.tsx";
import { usePicked } from "../state/cell.ts";
import { usePage } from "../state/page.ts";
import { useWords } from "../words/words.ts";
import { composerWords } from "./composer-words.ts";

/** What was said to the answer that runs and has not reached the model yet. */
export function ToldList({ taskId }: { taskId: string }) {
  const page = usePage();
  const words = useWords(composerWords);
  const waiting = usePicked(page.taskTree(taskId), (tree) =>
    (tree?.tasks[taskId]?.inputs ?? none).filter(({ taken_at }) => taken_at === undefined),
  );
  if (waiting.length === 0) return null;
  return (
    <ul className="chat-told" aria-label={words.waiting}>
      {waiting.map((input) => (
        <li key={input.item.id}>
          <Icon name={input.delivery === "queue" ? "queue" : "send"} small />
          <span className="chat-told-words" dir="auto">
            {wordsOf(input)}
          </span>
          <small>{input.delivery === "queue" ? words.queued : words.toldNext}</small>
        </li>
      ))}
    </ul>
  );
}

const none: readonly TaskInput[] = [];

function wordsOf({ item }: TaskInput): string {
  return item.content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
}
