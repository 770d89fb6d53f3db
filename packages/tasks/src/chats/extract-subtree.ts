import type { EditEnvironment, EditRejection } from "./edit.ts";
import { createChat } from "./create-chat.ts";
import { findNode, collectSubtree } from "./chat-path.ts";
import { rejectEdit, rejectUnknownNode } from "./edit-rejection.ts";
import { isRunning } from "./running-answers.ts";
import type { Chat } from "./chat-types.ts";

/** Copies a message and everything below it into a new chat. The original chat does not change. */
export function extractSubtree(
  chat: Chat,
  nodeId: string,
  environment: EditEnvironment,
): { readonly ok: true; readonly chat: Chat } | EditRejection {
  const root = findNode(chat, nodeId);
  if (root === undefined) return rejectUnknownNode(nodeId);
  if (root.kind === "answer")
    return rejectEdit(
      "invalid_position",
      "a chat cannot begin with an answer: extract its message instead",
    );
  if (root.kind === "separator")
    return rejectEdit(
      "invalid_position",
      "a chat cannot begin with a separator: extract a message after it instead",
    );
  const nodes = collectSubtree(chat, nodeId);
  if (nodes.some(isRunning))
    return rejectEdit(
      "still_running",
      "an answer below this message is still running; stop it first",
    );
  const ids = new Set(nodes.map(({ node_id }) => node_id));
  const chosen = Object.entries(chat.chosen).filter(([id]) => ids.has(id));
  const { settings, tags, title, title_by } = chat;
  return {
    ok: true,
    chat: {
      ...createChat({ title, settings, tags }, environment),
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
