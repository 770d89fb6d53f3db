import type { Chat, ChatNode } from "../shapes.ts";

/** What one change made of a chat: all but its nodes whole, and the nodes that it touched. */
export interface ChatPatch {
  /** Of the change, as the store numbers them. */
  readonly stamp: number;
  readonly chat: Omit<Chat, "nodes">;
  readonly nodes: Readonly<Record<string, ChatNode>>;
  readonly gone: readonly string[];
}

/** Edits share the nodes that they leave alone, so what differs by identity is what changed. */
export function patchBetween(before: Chat, after: Chat, stamp: number): ChatPatch {
  const { nodes, ...chat } = after;
  return {
    stamp,
    chat,
    nodes: Object.fromEntries(
      Object.entries(nodes).filter(([id, node]) => before.nodes[id] !== node),
    ),
    gone: Object.keys(before.nodes).filter((id) => !Object.hasOwn(nodes, id)),
  };
}

export function applyPatch(chat: Chat, patch: ChatPatch): Chat {
  const gone = new Set(patch.gone);
  const kept = Object.entries(chat.nodes).filter(([id]) => !gone.has(id));
  return { ...patch.chat, nodes: { ...Object.fromEntries(kept), ...patch.nodes } };
}
