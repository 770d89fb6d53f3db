import type { Edited } from "./edit.ts";
import { nodeOf } from "./path.ts";
import { refused, unknownNode } from "./refusal.ts";
import { choosePathTo, withNodes } from "./replace-in-tree.ts";
import type { Chat } from "./shapes.ts";

export function chooseBranch(chat: Chat, nodeId: string): Edited {
  if (nodeOf(chat, nodeId) === undefined) return unknownNode(nodeId);
  return { ok: true, chat: choosePathTo(chat, nodeId) };
}

export function pinNode(chat: Chat, nodeId: string, pinned: boolean): Edited {
  return marked(chat, nodeId, "pinned", pinned);
}

export function hideNode(chat: Chat, nodeId: string, hidden: boolean): Edited {
  return marked(chat, nodeId, "hidden", hidden);
}

export function bookmarkNode(chat: Chat, nodeId: string, value: boolean): Edited {
  if (nodeOf(chat, nodeId) === undefined) return unknownNode(nodeId);
  if (chat.bookmarks.includes(nodeId) === value) return { ok: true, chat };
  const bookmarks = value
    ? [...chat.bookmarks, nodeId]
    : chat.bookmarks.filter((id) => id !== nodeId);
  return { ok: true, chat: { ...chat, bookmarks } };
}

function marked(chat: Chat, nodeId: string, mark: "pinned" | "hidden", value: boolean): Edited {
  const node = nodeOf(chat, nodeId);
  if (node === undefined) return unknownNode(nodeId);
  if (node.kind === "separator")
    return refused(
      "illegal_place",
      "a separator is never told to the model, so it can be neither pinned nor hidden: delete it instead",
    );
  if (node[mark] === value) return { ok: true, chat };
  return { ok: true, chat: withNodes(chat, [{ ...node, [mark]: value }]) };
}
