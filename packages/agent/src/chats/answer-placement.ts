import { nextNodeOnPath, findNode } from "@deltawire/tasks/chats";
import type { Chat, ChatEdit, ChatNode, NewAnswer, UserNode } from "@deltawire/tasks/chats";
import { ChatError } from "./chat-error.ts";

/** Returns the edit that adds an answer to a message. */
export type AnswerPlacement = (chat: Chat, message: UserNode, answer: NewAnswer) => ChatEdit;

export const appendAnswer: AnswerPlacement = (_chat, message, answer) => ({
  type: "add_answer",
  parent: message.node_id,
  answer,
});

/** Adds a version of the answer on the current path, or inserts the answer between the message and its successor. */
export const addVersionOrInsert: AnswerPlacement = (chat, message, answer) => {
  const next = nextNodeOnPath(chat, message.node_id);
  if (next === undefined) return appendAnswer(chat, message, answer);
  if (next.kind === "answer") return { type: "add_answer_version", node_id: next.node_id, answer };
  return { type: "insert_answer", after: message.node_id, answer };
};

/** Adds a version of an existing answer. */
export function placeAsVersion(node_id: string): AnswerPlacement {
  return (_chat, _message, answer) => ({ type: "add_answer_version", node_id, answer });
}

/** Returns the node. Throws a ChatError if it does not exist. */
export function requireNode(chat: Chat, nodeId: string): ChatNode {
  const node = findNode(chat, nodeId);
  if (node === undefined)
    throw new ChatError("node_not_found", `unknown message "${nodeId.slice(0, 100)}"`);
  return node;
}

/** Returns the message. Throws if it is hidden, because hidden messages are not sent to models. */
export function requireVisible(message: UserNode): UserNode {
  if (!message.hidden) return message;
  throw new ChatError("invalid_position", "the message is excluded from context; include it first");
}
