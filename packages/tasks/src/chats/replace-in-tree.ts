import type { Chat, ChatNode } from "./shapes.ts";
import { nodeOf, pathTo } from "./path.ts";

/* A chat with something else in a place of its tree. All that is not named stays the very same object. */

export function withNodes(chat: Chat, nodes: readonly ChatNode[]): Chat {
  const replaced = Object.fromEntries(nodes.map((node) => [node.node_id, node]));
  return { ...chat, nodes: { ...chat.nodes, ...replaced } };
}

/** And without what was chosen under them. */
export function withoutNodes(chat: Chat, ids: ReadonlySet<string>): Chat {
  return { ...chat, nodes: without(chat.nodes, ids), chosen: without(chat.chosen, ids) };
}

export function withChildren(chat: Chat, parent: string | null, children: readonly string[]): Chat {
  if (parent === null) return { ...chat, roots: children };
  const node = nodeOf(chat, parent);
  return node === undefined ? chat : withNodes(chat, [{ ...node, children }]);
}

/** `undefined` where nothing stands under the parent. */
export function withChosen(chat: Chat, parent: string | null, child: string | undefined): Chat {
  const key = parent ?? "";
  if (child === undefined) return { ...chat, chosen: without(chat.chosen, new Set([key])) };
  return { ...chat, chosen: { ...chat.chosen, [key]: child } };
}

/** The current path goes through a node that is there, and on from it as it did before. */
export function choosePathTo(chat: Chat, nodeId: string): Chat {
  const choices = pathTo(chat, nodeId).map(({ parent, node_id }) => [parent ?? "", node_id]);
  return { ...chat, chosen: { ...chat.chosen, ...Object.fromEntries(choices) } };
}

function without<Value>(
  record: Readonly<Record<string, Value>>,
  keys: ReadonlySet<string>,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.has(key)));
}
