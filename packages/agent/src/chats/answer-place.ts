import { nextOnPath, nodeOf } from "@deltawire/tasks/chats";
import type { Chat, ChatEdit, ChatNode, NewAnswer, UserNode } from "@deltawire/tasks/chats";
import { ChatError } from "./chat-error.ts";

/** Where an answer goes, once it is known what it answers. */
export type Place = (chat: Chat, message: UserNode, answer: NewAnswer) => ChatEdit;

export const append: Place = (_chat, message, answer) => ({
  type: "add_answer",
  parent: message.node_id,
  answer,
});

/** In place of the answer on the path, or between the message and what follows it. */
export const updateOrInsert: Place = (chat, message, answer) => {
  const after = nextOnPath(chat, message.node_id);
  if (after === undefined) return append(chat, message, answer);
  if (after.kind === "answer")
    return { type: "add_answer_version", node_id: after.node_id, answer };
  return { type: "insert_answer", after: message.node_id, answer };
};

/** Another version of an answer that is there. */
export function asVersionOf(node_id: string): Place {
  return (_chat, _message, answer) => ({ type: "add_answer_version", node_id, answer });
}

export function nodeIn(chat: Chat, nodeId: string): ChatNode {
  const node = nodeOf(chat, nodeId);
  if (node === undefined)
    throw new ChatError("unknown_node", `there is no message "${nodeId.slice(0, 100)}"`);
  return node;
}

/** What is hidden is told to no model. */
export function shown(message: UserNode): UserNode {
  if (!message.hidden) return message;
  throw new ChatError("illegal_place", "the message is hidden from models: show it first");
}
