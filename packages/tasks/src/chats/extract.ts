import type { EditWorld, Refusal } from "./edit.ts";
import { newChat } from "./new-chat.ts";
import { nodeOf, subtreeOf } from "./path.ts";
import { refused, unknownNode } from "./refusal.ts";
import { isRunning } from "./running.ts";
import type { Chat } from "./shapes.ts";

/** A message and all that stands under it as a chat of its own. The old one keeps them. */
export function extractSubtree(
  chat: Chat,
  nodeId: string,
  world: EditWorld,
): { readonly ok: true; readonly chat: Chat } | Refusal {
  const root = nodeOf(chat, nodeId);
  if (root === undefined) return unknownNode(nodeId);
  if (root.kind === "answer")
    return refused(
      "illegal_place",
      "a chat cannot begin with an answer: extract its message instead",
    );
  if (root.kind === "separator")
    return refused(
      "illegal_place",
      "a chat cannot begin with a separator: extract a message after it instead",
    );
  const nodes = subtreeOf(chat, nodeId);
  if (nodes.some(isRunning))
    return refused("still_running", "an answer in it is still running: stop it first");
  const ids = new Set(nodes.map(({ node_id }) => node_id));
  const chosen = Object.entries(chat.chosen).filter(([id]) => ids.has(id));
  const { settings, tags, title, title_by } = chat;
  return {
    ok: true,
    chat: {
      ...newChat({ title, settings, tags }, world),
      title_by,
      nodes: {
        ...Object.fromEntries(nodes.map((node) => [node.node_id, node])),
        [nodeId]: { ...root, parent: null },
      },
      roots: [nodeId],
      chosen: Object.fromEntries([["", nodeId], ...chosen]),
      bookmarks: chat.bookmarks.filter((id) => ids.has(id)),
    },
  };
}
