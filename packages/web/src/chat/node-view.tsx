import { memo } from "react";
import type { ChatNode } from "@deltawire/tasks/chats";
import { unreachable } from "../unreachable.ts";
import { AnswerFrame } from "./answer-frame.tsx";
import { SeparatorLine } from "./separator-line.tsx";
import { UserMessage } from "./user-message.tsx";

export interface NodeProps<Node extends ChatNode> {
  node: Node;
  above: ChatNode | undefined;
  below: ChatNode | undefined;
  branches: readonly string[];
  /** Written for another version of what is above. */
  isOutdated: boolean;
  /** Somebody came to see it. */
  isMarked: boolean;
  isBookmarked: boolean;
}

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
