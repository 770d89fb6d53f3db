import type { AnswerNode, UserNode } from "@deltawire/tasks/chats";
import { useNow } from "../list/now.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { chatWords } from "./words.ts";

/** What was said of a node: whether the model is told it, and whether somebody wants to find it again. */
export function Marks({
  node,
  isBookmarked,
  isOutdated,
}: {
  node: UserNode | AnswerNode;
  isBookmarked: boolean;
  isOutdated: boolean;
}) {
  const words = useWords(chatWords);
  const mark = (icon: IconName, text: string, hint: string) => (
    <span className="chat-mark" title={hint}>
      <Icon name={icon} small />
      {text}
    </span>
  );
  return (
    <>
      {isOutdated && mark("warning", words.outdated, words.outdatedHint)}
      {isBookmarked && mark("book", words.bookmarked, words.bookmarked)}
      {node.hidden && mark("hide", words.hidden, words.hiddenHint)}
      {node.pinned && !node.hidden && mark("pin", words.pinned, words.pinnedHint)}
    </>
  );
}

export function When({ iso }: { iso: string }) {
  const format = useFormat();
  const now = useNow();
  return (
    <time className="chat-when" dateTime={iso} title={format.exactly(iso)}>
      {format.when(iso, now)}
    </time>
  );
}
