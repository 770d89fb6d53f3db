import { memo } from "react";
import type { ChatNode, SeparatorNode } from "@deltawire/tasks/chats";
import { IconButton } from "../parts/button.tsx";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { AnswerFrame } from "./answer-frame.tsx";
import { elementId, useThread } from "./thread.ts";
import { UserMessage } from "./user-message.tsx";
import type { NodeProps } from "./groups.ts";
import { chatWords } from "./words.ts";

/** Drawn again only when something of it is another. */
export const NodeView = memo(function NodeView({ node, ...rest }: NodeProps<ChatNode>) {
  switch (node.kind) {
    case "user":
      return <UserMessage node={node} {...rest} />;
    case "answer":
      return <AnswerFrame node={node} {...rest} />;
    case "separator":
      return <SeparatorLine node={node} isMarked={rest.isMarked} />;
    default:
      return unreachable(node);
  }
});

function SeparatorLine({ node, isMarked }: { node: SeparatorNode; isMarked: boolean }) {
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
