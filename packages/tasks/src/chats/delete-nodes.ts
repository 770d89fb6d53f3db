import type { EditResult, EditEnvironment, Removal } from "./edit.ts";
import {
  getChildIds,
  getChosenChild,
  findNode,
  listShownBelow,
  collectSubtree,
} from "./chat-path.ts";
import { rejectEdit, rejectStillRunning, rejectUnknownNode } from "./edit-rejection.ts";
import { withChildren, withChosen, withNodes, withoutNodes } from "./update-tree.ts";
import { isRunning } from "./running-answers.ts";
import type { Chat, ChatNode } from "./chat-types.ts";

/** Deletes a node. `children`: whether all nodes below it are deleted too, or its children move up to its parent. */
export function deleteNode(
  chat: Chat,
  nodeId: string,
  children: "delete" | "keep",
  environment: EditEnvironment,
): EditResult {
  const node = findNode(chat, nodeId);
  if (node === undefined) return rejectUnknownNode(nodeId);
  return children === "delete"
    ? deleteBranch(chat, node, environment)
    : deleteKeepingChildren(chat, node, environment);
}

function deleteBranch(chat: Chat, node: ChatNode, environment: EditEnvironment): EditResult {
  const branch = collectSubtree(chat, node.node_id);
  if (isRunning(node)) return rejectStillRunning();
  if (branch.some(isRunning))
    return rejectEdit(
      "still_running",
      "an answer below this message is still running; stop it first",
    );
  return removeFromTree(chat, node, branch, [], environment);
}

function deleteKeepingChildren(
  chat: Chat,
  node: ChatNode,
  environment: EditEnvironment,
): EditResult {
  if (isRunning(node)) return rejectStillRunning();
  const movedChildren = node.children.flatMap((id) => findNode(chat, id) ?? []);
  if (movedChildren.some(({ kind }) => kind === "answer"))
    return rejectEdit(
      "invalid_position",
      "an answer cannot exist without its message; delete the answer too",
    );
  if (node.parent === null && movedChildren.some(({ kind }) => kind === "separator"))
    return rejectEdit(
      "invalid_position",
      "a chat cannot begin with a separator; delete the separator too",
    );
  return removeFromTree(chat, node, [node], movedChildren, environment);
}

/**
 * Removes the nodes. If `node` was the chosen child of its parent, its own chosen child is chosen instead if its children move up,
 * otherwise its previous sibling, or the next one if there is none.
 */
function removeFromTree(
  chat: Chat,
  node: ChatNode,
  removedNodes: readonly ChatNode[],
  movedChildren: readonly ChatNode[],
  environment: EditEnvironment,
): EditResult {
  const { node_id, parent } = node;
  const ids = new Set(removedNodes.map((removedNode) => removedNode.node_id));
  const siblings = getChildIds(chat, parent);
  const index = siblings.indexOf(node_id);
  const movedChildIds = movedChildren.map((child) => child.node_id);
  const newSiblings = siblings.toSpliced(index, 1, ...movedChildIds);
  const wasChosen = getChosenChild(chat, parent) === node_id;
  const hasBookmark = chat.bookmarks.some((id) => ids.has(id));
  let changedChat = withoutNodes(chat, ids);
  if (movedChildren.length > 0)
    changedChat = withNodes(
      changedChat,
      movedChildren.map((child) => ({ ...child, parent })),
    );
  changedChat = withChildren(changedChat, parent, newSiblings);
  if (hasBookmark)
    changedChat = { ...changedChat, bookmarks: chat.bookmarks.filter((id) => !ids.has(id)) };
  if (wasChosen) {
    const next =
      movedChildren.length > 0
        ? getChosenChild(chat, node_id)
        : (newSiblings[index - 1] ?? newSiblings[index]);
    changedChat = withChosen(changedChat, parent, next);
  }
  const removal: Removal = {
    removal_id: environment.newId("removal"),
    removed_at: environment.now(),
    type: "nodes",
    nodes: removedNodes,
    chosen: Object.fromEntries(Object.entries(chat.chosen).filter(([id]) => ids.has(id))),
    bookmarks: hasBookmark ? chat.bookmarks : [],
    index,
    kept_children: movedChildIds,
    ...(wasChosen && movedChildren.length === 0
      ? { instead: listShownBelow(changedChat, parent) }
      : {}),
  };
  return { ok: true, chat: changedChat, removal };
}
