import { unreachable } from "../error.ts";
import type { Edited, Refusal, Removal, RemovedNodes, RemovedVersion } from "./edit.ts";
import { childrenOf, chosenChild, nodeOf, shownUnder } from "./path.ts";
import { refused } from "./refusal.ts";
import { withChildren, withChosen, withNodes } from "./replace-in-tree.ts";
import type { Chat } from "./shapes.ts";
import { withVersions } from "./versions.ts";

/**
 * Right after a delete all is as if it had not been; later on, as much of that as still has its place.
 * What is shown stays shown, but for what the delete itself has put there: what was chosen when it went is chosen again
 * only if everything in its place is still as the delete left it. A node whose children moved up stands on the path if
 * that goes through one of them, which it takes back. All else comes back beside the path.
 */
export function restore(chat: Chat, removal: Removal): Edited {
  switch (removal.what) {
    case "nodes":
      return restoreNodes(chat, removal);
    case "version":
      return restoreVersion(chat, removal);
    default:
      return unreachable(removal);
  }
}

function restoreNodes(chat: Chat, removal: RemovedNodes): Edited {
  const [first, ...under] = removal.nodes;
  if (first === undefined) return cannotRestore("there is nothing to restore");
  const { node_id, parent } = first;
  if (parent !== null && nodeOf(chat, parent) === undefined)
    return cannotRestore("what it stood under is gone: restore that first");
  if (removal.nodes.some((node) => nodeOf(chat, node.node_id) !== undefined))
    return cannotRestore("it is there already");

  const siblings = childrenOf(chat, parent);
  const kept = removal.kept_children.filter((id) => siblings.includes(id));
  const moved = removal.kept_children.length > 0;
  const back = kept.flatMap((id) => nodeOf(chat, id) ?? []);
  const placed = siblings.filter((id) => !kept.includes(id)).toSpliced(removal.index, 0, node_id);
  let after = withNodes(chat, [
    moved ? { ...first, children: kept } : first,
    ...under,
    ...back.map((child) => ({ ...child, parent: node_id })),
  ]);
  after = withChildren(after, parent, placed);
  after = { ...after, chosen: { ...after.chosen, ...removal.chosen } };

  const current = chosenChild(chat, parent);
  const through = current !== undefined && kept.includes(current);
  if (moved) {
    const before = Object.hasOwn(removal.chosen, node_id) ? removal.chosen[node_id] : undefined;
    const next = [through ? current : before].find((id) => kept.some((one) => one === id));
    after = withChosen(after, node_id, next ?? kept.at(-1));
  }
  const untouched =
    removal.instead !== undefined && isSame(removal.instead, shownUnder(chat, parent));
  if (untouched || through || current === undefined) after = withChosen(after, parent, node_id);
  if (removal.bookmarks.length > 0)
    after = { ...after, bookmarks: bookmarksAgain(chat.bookmarks, removal) };
  return { ok: true, chat: after, node_id };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index]);
}

/** Each behind the one that it followed. */
function bookmarksAgain(
  bookmarks: readonly string[],
  { bookmarks: before, nodes }: RemovedNodes,
): readonly string[] {
  const back = new Set(nodes.map(({ node_id }) => node_id));
  let merged = bookmarks;
  for (const [at, id] of before.entries()) {
    if (!back.has(id)) continue;
    const earlier = before.slice(0, at).findLast((other) => merged.includes(other));
    const place = earlier === undefined ? 0 : merged.indexOf(earlier) + 1;
    merged = merged.toSpliced(place, 0, id);
  }
  return merged;
}

function restoreVersion(chat: Chat, removal: RemovedVersion): Edited {
  const { version, index, instead } = removal;
  const node = nodeOf(chat, removal.node_id);
  if (node === undefined || node.kind === "separator")
    return cannotRestore("the message that it was a version of is gone: restore that first");
  const has = (id: string): boolean => node.versions.some(({ version_id }) => version_id === id);
  if (has(version.version_id)) return cannotRestore("it is there already");
  if ("output" in version !== (node.kind === "answer"))
    return cannotRestore("it is no version of this message");
  if ("continues" in version && version.continues !== undefined && !has(version.continues))
    return cannotRestore("the version that it goes on from is gone: restore that first");
  const versions = [...node.versions].toSpliced(index, 0, version);
  const chosen = instead === node.version ? version.version_id : node.version;
  return {
    ok: true,
    chat: withNodes(chat, [withVersions(node, versions, chosen)]),
    node_id: node.node_id,
    version_id: version.version_id,
  };
}

function cannotRestore(reason: string): Refusal {
  return refused("cannot_restore", reason);
}
