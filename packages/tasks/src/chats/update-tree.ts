import type { Chat, ChatNode } from "./chat-types.ts";
import { findNode, pathTo } from "./chat-path.ts";

/* Immutable updates of the tree. Unchanged parts are reused. */

export function withNodes(chat: Chat, nodes: readonly ChatNode[]): Chat {
  const nodesById = Object.fromEntries(nodes.map((node) => [node.node_id, node]));
  return { ...chat, nodes: { ...chat.nodes, ...nodesById } };
}

/** Removes nodes and their entries in `chosen`. */
export function withoutNodes(chat: Chat, ids: ReadonlySet<string>): Chat {
  return { ...chat, nodes: omitKeys(chat.nodes, ids), chosen: omitKeys(chat.chosen, ids) };
}

export function withChildren(chat: Chat, parent: string | null, children: readonly string[]): Chat {
  if (parent === null) return { ...chat, roots: children };
  const node = findNode(chat, parent);
  return node === undefined ? chat : withNodes(chat, [{ ...node, children }]);
}

/** Sets the chosen child. `undefined`: the parent has no children. */
export function withChosen(chat: Chat, parent: string | null, child: string | undefined): Chat {
  const key = parent ?? "";
  if (child === undefined) return { ...chat, chosen: omitKeys(chat.chosen, new Set([key])) };
  return { ...chat, chosen: { ...chat.chosen, [key]: child } };
}

/** Moves the current path to a node. Below the node, the path does not change. */
export function withPathTo(chat: Chat, nodeId: string): Chat {
  const choices = pathTo(chat, nodeId).map(({ parent, node_id }) => [parent ?? "", node_id]);
  return { ...chat, chosen: { ...chat.chosen, ...Object.fromEntries(choices) } };
}

function omitKeys<Value>(
  record: Readonly<Record<string, Value>>,
  keys: ReadonlySet<string>,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.has(key)));
}
