import type { Edited } from "./edit.ts";
import { nodeOf, pathTo } from "./path.ts";
import { unknownNode } from "./refusal.ts";
import type { Chat } from "./shapes.ts";

export function chooseBranch(chat: Chat, nodeId: string): Edited {
  if (nodeOf(chat, nodeId) === undefined) return unknownNode(nodeId);
  return { ok: true, chat: choosePathTo(chat, nodeId) };
}

/** The current path goes through a node that is there, and on from it as it did before. */
export function choosePathTo(chat: Chat, nodeId: string): Chat {
  const choices = pathTo(chat, nodeId).map(({ parent, node_id }) => [parent ?? "", node_id]);
  return { ...chat, chosen: { ...chat.chosen, ...Object.fromEntries(choices) } };
}
