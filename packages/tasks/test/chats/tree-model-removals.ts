import type { ChatEdit, EditRejectionCode } from "@deltawire/tasks/chats";
import {
  findParent,
  getNode,
  listNodes,
  type ModelNode,
  type ModelParent,
  type ModelTree,
} from "./tree-model.ts";

/** A deletion, with the tree before and after it. */
export interface ModelRemoval {
  edit: Extract<ChatEdit, { type: "delete_node" | "delete_version" }>;
  before: ModelTree;
  after: ModelTree;
}

/** Returns the rejection of a restore: its position no longer exists, or it was restored before. */
export function expectedRestoreRejection(
  tree: ModelTree,
  removal: ModelRemoval,
): EditRejectionCode | undefined {
  const { edit, before } = removal;
  const deleted = getNode(before, edit.node_id);
  const ids = new Set(listNodes(tree).map(({ id }) => id));
  if (edit.type === "delete_version") {
    if (!ids.has(deleted.id)) return "cannot_restore";
    const versions = getNode(tree, deleted.id).versions.map(({ id }) => id);
    const continues = getVersion(deleted, edit.version_id)?.continues;
    const isLost = continues !== undefined && !versions.includes(continues);
    return versions.includes(edit.version_id) || isLost ? "cannot_restore" : undefined;
  }
  const parentId = findParentId(before, deleted);
  const isLost = parentId !== undefined && !ids.has(parentId);
  return isLost || listRemoved(removal).some(({ id }) => ids.has(id))
    ? "cannot_restore"
    : undefined;
}

export function restoreInModel(tree: ModelTree, removal: ModelRemoval): void {
  const { edit, before, after } = removal;
  const deleted = getNode(before, edit.node_id);
  if (edit.type === "delete_version") {
    const node = getNode(tree, deleted.id);
    const version = getVersion(deleted, edit.version_id);
    if (version) node.versions.splice(deleted.versions.indexOf(version), 0, { ...version });
    const isUnchanged = node.shown === getNode(after, deleted.id).shown;
    if (deleted.shown === edit.version_id && isUnchanged) node.shown = edit.version_id;
    return;
  }
  const parentId = findParentId(before, deleted);
  const parent = parentId === undefined ? tree : getNode(tree, parentId);
  const parentAfter = parentId === undefined ? after : getNode(after, parentId);
  const wasChosen = findParent(before, deleted).chosen === deleted.id;
  const isUnchanged = String(listShownIds(parent)) === String(listShownIds(parentAfter));

  const node = structuredClone(deleted);
  const movedIds = edit.children === "keep" ? deleted.children.map(({ id }) => id) : [];
  const returned = parent.children.filter(({ id }) => movedIds.includes(id));
  returned.sort((a, b) => movedIds.indexOf(a.id) - movedIds.indexOf(b.id));
  if (movedIds.length > 0) {
    node.children = returned;
    const candidates = [parent.chosen, deleted.chosen, returned.at(-1)?.id];
    node.chosen = candidates.find((id) => returned.some((one) => one.id === id));
  }
  parent.children = parent.children.filter((one) => !returned.includes(one));
  parent.children.splice(findParent(before, deleted).children.indexOf(deleted), 0, node);
  const isPathThroughChild = returned.some(({ id }) => id === parent.chosen);
  if (parent.chosen === undefined || isPathThroughChild || (wasChosen && isUnchanged))
    parent.chosen = node.id;
  for (const { id } of listRemoved(removal).toSorted(createBookmarkOrder(before)))
    restoreBookmark(tree, before, id);
}

/** Returns the ids of the versions and separators on the path. */
export function listShownIds({ children, chosen }: ModelParent): string[] {
  const next = children.find(({ id }) => id === chosen);
  return next === undefined ? [] : [next.shown ?? next.id, ...listShownIds(next)];
}

function listRemoved({ edit, before }: ModelRemoval): ModelNode[] {
  const node = getNode(before, edit.node_id);
  return edit.type === "delete_node" && edit.children === "keep"
    ? [node]
    : [node, ...listNodes(node)];
}

function findParentId(tree: ModelTree, node: ModelNode): string | undefined {
  const parent = findParent(tree, node);
  return parent === tree ? undefined : (parent as ModelNode).id;
}

function getVersion(node: ModelNode, versionId: string): ModelNode["versions"][number] | undefined {
  return node.versions.find(({ id }) => id === versionId);
}

function createBookmarkOrder({ bookmarks }: ModelTree) {
  return (a: ModelNode, b: ModelNode): number => bookmarks.indexOf(a.id) - bookmarks.indexOf(b.id);
}

/** Inserts the bookmark after the nearest one that preceded it and still exists. */
function restoreBookmark(
  { bookmarks }: ModelTree,
  { bookmarks: bookmarksBefore }: ModelTree,
  id: string,
): void {
  const index = bookmarksBefore.indexOf(id);
  if (index === -1) return;
  const earlier = bookmarksBefore.slice(0, index).findLast((one) => bookmarks.includes(one));
  bookmarks.splice(earlier === undefined ? 0 : bookmarks.indexOf(earlier) + 1, 0, id);
}
