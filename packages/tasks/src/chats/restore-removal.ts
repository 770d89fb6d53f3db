import { assertNever } from "../error.ts";
import type { EditResult, EditRejection, Removal, RemovedNodes, RemovedVersion } from "./edit.ts";
import { getChildIds, getChosenChild, findNode, listShownBelow } from "./chat-path.ts";
import { rejectEdit } from "./edit-rejection.ts";
import { withChildren, withChosen, withNodes } from "./update-tree.ts";
import type { Chat } from "./chat-types.ts";
import { withVersions } from "./edit-versions.ts";

/**
 * Undoes a deletion. Immediately afterwards, this restores the chat exactly. Later, it restores as much as still fits.
 *
 * The current path does not change, with two exceptions: a part that was on the path returns to it if the path there has not
 * changed since the deletion; and a node whose children moved up returns to the path if the path goes through one of these
 * children. Everything else is restored as another branch or version.
 */
export function restoreRemoval(chat: Chat, removal: Removal): EditResult {
  switch (removal.type) {
    case "nodes":
      return restoreNodes(chat, removal);
    case "version":
      return restoreVersion(chat, removal);
    default:
      return assertNever(removal);
  }
}

function restoreNodes(chat: Chat, removal: RemovedNodes): EditResult {
  const [first, ...descendants] = removal.nodes;
  if (first === undefined) return rejectRestore("the removal contains no nodes");
  const { node_id, parent } = first;
  if (parent !== null && findNode(chat, parent) === undefined)
    return rejectRestore("the message above is deleted; restore that message first");
  if (removal.nodes.some((node) => findNode(chat, node.node_id) !== undefined))
    return rejectRestore("this is already restored");

  const siblings = getChildIds(chat, parent);
  const movedChildren = removal.kept_children.filter((id) => siblings.includes(id));
  const haveChildrenMoved = removal.kept_children.length > 0;
  const returnedChildren = movedChildren.flatMap((id) => findNode(chat, id) ?? []);
  const newSiblings = siblings
    .filter((id) => !movedChildren.includes(id))
    .toSpliced(removal.index, 0, node_id);
  let changedChat = withNodes(chat, [
    haveChildrenMoved ? { ...first, children: movedChildren } : first,
    ...descendants,
    ...returnedChildren.map((child) => ({ ...child, parent: node_id })),
  ]);
  changedChat = withChildren(changedChat, parent, newSiblings);
  changedChat = { ...changedChat, chosen: { ...changedChat.chosen, ...removal.chosen } };

  const current = getChosenChild(chat, parent);
  const isPathThroughChild = current !== undefined && movedChildren.includes(current);
  if (haveChildrenMoved) {
    const before = Object.hasOwn(removal.chosen, node_id) ? removal.chosen[node_id] : undefined;
    const next = [isPathThroughChild ? current : before].find((id) =>
      movedChildren.some((child) => child === id),
    );
    changedChat = withChosen(changedChat, node_id, next ?? movedChildren.at(-1));
  }
  const isUntouched =
    removal.instead !== undefined && areListsEqual(removal.instead, listShownBelow(chat, parent));
  if (isUntouched || isPathThroughChild || current === undefined)
    changedChat = withChosen(changedChat, parent, node_id);
  if (removal.bookmarks.length > 0)
    changedChat = { ...changedChat, bookmarks: restoreBookmarks(chat.bookmarks, removal) };
  return { ok: true, chat: changedChat, node_id };
}

function areListsEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}

/** Inserts each restored bookmark after the bookmark that preceded it before the deletion. */
function restoreBookmarks(
  bookmarks: readonly string[],
  { bookmarks: before, nodes }: RemovedNodes,
): readonly string[] {
  const restoredIds = new Set(nodes.map(({ node_id }) => node_id));
  let mergedBookmarks = bookmarks;
  for (const [index, id] of before.entries()) {
    if (!restoredIds.has(id)) continue;
    const earlier = before.slice(0, index).findLast((other) => mergedBookmarks.includes(other));
    const position = earlier === undefined ? 0 : mergedBookmarks.indexOf(earlier) + 1;
    mergedBookmarks = mergedBookmarks.toSpliced(position, 0, id);
  }
  return mergedBookmarks;
}

function restoreVersion(chat: Chat, removal: RemovedVersion): EditResult {
  const { version, index, instead } = removal;
  const node = findNode(chat, removal.node_id);
  if (node === undefined || node.kind === "separator")
    return rejectRestore("the message of this version is deleted; restore that message first");
  const hasVersion = (id: string): boolean =>
    node.versions.some(({ version_id }) => version_id === id);
  if (hasVersion(version.version_id)) return rejectRestore("this is already restored");
  if ("output" in version !== (node.kind === "answer"))
    return rejectRestore("the version does not belong to this message");
  if ("continues" in version && version.continues !== undefined && !hasVersion(version.continues))
    return rejectRestore(
      "the version that this one continues is deleted; restore that version first",
    );
  const versions = [...node.versions].toSpliced(index, 0, version);
  const chosenId = instead === node.version ? version.version_id : node.version;
  return {
    ok: true,
    chat: withNodes(chat, [withVersions(node, versions, chosenId)]),
    node_id: node.node_id,
    version_id: version.version_id,
  };
}

function rejectRestore(reason: string): EditRejection {
  return rejectEdit("cannot_restore", reason);
}
