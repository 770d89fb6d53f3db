import type { EditResult } from "./edit.ts";
import { findNode } from "./chat-path.ts";
import { rejectEdit, rejectUnknownNode } from "./edit-rejection.ts";
import { withPathTo, withNodes } from "./update-tree.ts";
import type { Chat } from "./chat-types.ts";

export function chooseBranch(chat: Chat, nodeId: string): EditResult {
  if (findNode(chat, nodeId) === undefined) return rejectUnknownNode(nodeId);
  return { ok: true, chat: withPathTo(chat, nodeId) };
}

export function pinNode(chat: Chat, nodeId: string, pinned: boolean): EditResult {
  return setMark(chat, nodeId, "pinned", pinned);
}

export function hideNode(chat: Chat, nodeId: string, hidden: boolean): EditResult {
  return setMark(chat, nodeId, "hidden", hidden);
}

export function bookmarkNode(chat: Chat, nodeId: string, value: boolean): EditResult {
  if (findNode(chat, nodeId) === undefined) return rejectUnknownNode(nodeId);
  if (chat.bookmarks.includes(nodeId) === value) return { ok: true, chat };
  const bookmarks = value
    ? [...chat.bookmarks, nodeId]
    : chat.bookmarks.filter((id) => id !== nodeId);
  return { ok: true, chat: { ...chat, bookmarks } };
}

function setMark(
  chat: Chat,
  nodeId: string,
  mark: "pinned" | "hidden",
  value: boolean,
): EditResult {
  const node = findNode(chat, nodeId);
  if (node === undefined) return rejectUnknownNode(nodeId);
  if (node.kind === "separator")
    return rejectEdit(
      "invalid_position",
      "a separator is never sent to the model, so it cannot be pinned or hidden; delete it instead",
    );
  if (node[mark] === value) return { ok: true, chat };
  return { ok: true, chat: withNodes(chat, [{ ...node, [mark]: value }]) };
}
