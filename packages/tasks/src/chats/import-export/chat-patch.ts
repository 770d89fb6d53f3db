import type { Chat, ChatNode } from "../chat-types.ts";

/** A change of a chat: all fields except the nodes, and the changed nodes. */
export interface ChatPatch {
  /** Stamp of the change, assigned by the store. */
  readonly stamp: number;
  readonly chat: Omit<Chat, "nodes">;
  readonly nodes: Readonly<Record<string, ChatNode>>;
  /** Ids of the deleted nodes. */
  readonly deleted_node_ids: readonly string[];
}

/** Compares nodes by identity: edits share the nodes that they do not change. */
export function diffChats(before: Chat, after: Chat, stamp: number): ChatPatch {
  const { nodes, ...chat } = after;
  return {
    stamp,
    chat,
    nodes: Object.fromEntries(
      Object.entries(nodes).filter(([id, node]) => before.nodes[id] !== node),
    ),
    deleted_node_ids: Object.keys(before.nodes).filter((id) => !Object.hasOwn(nodes, id)),
  };
}

export function applyChatPatch(chat: Chat, patch: ChatPatch): Chat {
  const deletedIds = new Set(patch.deleted_node_ids);
  const remainingNodes = Object.entries(chat.nodes).filter(([id]) => !deletedIds.has(id));
  return { ...patch.chat, nodes: { ...Object.fromEntries(remainingNodes), ...patch.nodes } };
}
