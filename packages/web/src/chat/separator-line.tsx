import type { SeparatorNode } from "@deltawire/tasks/chats";
import { IconButton } from "../parts/button.tsx";
import { useWords } from "../words/use-words.ts";
import { elementId, useThread } from "./thread.ts";
import { chatWords } from "./words.ts";

export function SeparatorLine({ node, isMarked }: { node: SeparatorNode; isMarked: boolean }) {
  const words = useWords(chatWords);
  const { chat } = useThread();
  const remove = () => void chat.deleteNode(node.node_id, "keep");
  return (
    <div
      id={elementId(node.node_id)}
      className="chat-separator"
      data-marked={isMarked || undefined}
      data-node={node.node_id}
      tabIndex={-1}
    >
      <span>{words.separatorText}</span>
      <IconButton icon="close" small label={words.deleteSeparator} onClick={remove} />
    </div>
  );
}
