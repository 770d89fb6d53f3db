import type { Edited, EditWorld, Removal } from "./edit.ts";
import { childrenOf, chosenChild, nodeOf, shownUnder, subtreeOf } from "./path.ts";
import { refused, stillRunning, unknownNode } from "./refusal.ts";
import { withChildren, withChosen, withNodes, withoutNodes } from "./replace-in-tree.ts";
import { isRunning } from "./running.ts";
import type { Chat, ChatNode } from "./shapes.ts";

/** `children`: what stands under it goes too, or moves up to its place. */
export function deleteNode(
  chat: Chat,
  nodeId: string,
  children: "delete" | "keep",
  world: EditWorld,
): Edited {
  const node = nodeOf(chat, nodeId);
  if (node === undefined) return unknownNode(nodeId);
  return children === "delete" ? deleteBranch(chat, node, world) : deleteAlone(chat, node, world);
}

function deleteBranch(chat: Chat, node: ChatNode, world: EditWorld): Edited {
  const branch = subtreeOf(chat, node.node_id);
  if (isRunning(node)) return stillRunning();
  if (branch.some(isRunning))
    return refused("still_running", "an answer under it is still running: stop that first");
  return takenOut(chat, node, branch, [], world);
}

function deleteAlone(chat: Chat, node: ChatNode, world: EditWorld): Edited {
  if (isRunning(node)) return stillRunning();
  const kept = node.children.flatMap((id) => nodeOf(chat, id) ?? []);
  if (kept.some(({ kind }) => kind === "answer"))
    return refused(
      "illegal_place",
      "its answer cannot stand without the message: delete the answer too",
    );
  if (node.parent === null && kept.some(({ kind }) => kind === "separator"))
    return refused(
      "illegal_place",
      "a separator would stand first, with nothing before it: delete the separator too",
    );
  return takenOut(chat, node, [node], kept, world);
}

/** Of what stood in its place the path takes what it took before, else the nearest earlier branch, else the next. */
function takenOut(
  chat: Chat,
  node: ChatNode,
  gone: readonly ChatNode[],
  kept: readonly ChatNode[],
  world: EditWorld,
): Edited {
  const { node_id, parent } = node;
  const ids = new Set(gone.map((one) => one.node_id));
  const siblings = childrenOf(chat, parent);
  const index = siblings.indexOf(node_id);
  const keptIds = kept.map((child) => child.node_id);
  const rest = siblings.toSpliced(index, 1, ...keptIds);
  const wasChosen = chosenChild(chat, parent) === node_id;
  const bookmarked = chat.bookmarks.some((id) => ids.has(id));
  let after = withoutNodes(chat, ids);
  if (kept.length > 0)
    after = withNodes(
      after,
      kept.map((child) => ({ ...child, parent })),
    );
  after = withChildren(after, parent, rest);
  if (bookmarked) after = { ...after, bookmarks: chat.bookmarks.filter((id) => !ids.has(id)) };
  if (wasChosen) {
    const next = kept.length > 0 ? chosenChild(chat, node_id) : (rest[index - 1] ?? rest[index]);
    after = withChosen(after, parent, next);
  }
  const removal: Removal = {
    removal_id: world.newId("removal"),
    removed_at: world.now(),
    what: "nodes",
    nodes: gone,
    chosen: Object.fromEntries(Object.entries(chat.chosen).filter(([id]) => ids.has(id))),
    bookmarks: bookmarked ? chat.bookmarks : [],
    index,
    kept_children: keptIds,
    ...(wasChosen && kept.length === 0 ? { instead: shownUnder(after, parent) } : {}),
  };
  return { ok: true, chat: after, removal };
}
