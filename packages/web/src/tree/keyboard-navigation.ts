import type { TreeLayout, PositionedNode } from "./tree-layout.ts";
import { cardWidth } from "./chat-tree-layout.ts";
import type { ChatTree, ChatTreeItem } from "./chat-tree.ts";

/**
 * Returns the node that a key (arrows, Home, End) moves to, or undefined if there is none or for any other key. Left and right
 * are as drawn: the tree is not mirrored in right-to-left languages.
 */
export function navigateFrom(
  tree: ChatTree,
  layout: TreeLayout,
  id: string,
  key: string,
): string | undefined {
  const item = tree.get(id);
  const position = layout.positions.get(id);
  if (item === undefined || position === undefined) return undefined;
  switch (key) {
    case "ArrowUp":
      return item.parent;
    case "ArrowDown":
      return findNearestChild(tree, layout, item, position);
    case "ArrowLeft":
      return findNearestInDirection(layout, position, (other) => position.x - other.x);
    case "ArrowRight":
      return findNearestInDirection(layout, position, (other) => other.x - position.x);
    case "Home":
      return findFirstItemOnPath(tree);
    case "End":
      return findLastItemOnPath(tree);
    default:
      return undefined;
  }
}

/** Returns the last message of the current path. It has the initial focus, because users come from there. */
export function findLastItemOnPath(tree: ChatTree): string | undefined {
  return [...tree.values()].findLast(({ isOnPath }) => isOnPath)?.id;
}

/** Lists the nodes that one key press can reach. They must be mounted to receive the focus, visible or not. */
export function listReachableNodes(tree: ChatTree, layout: TreeLayout, id: string): string[] {
  const item = tree.get(id);
  if (item === undefined) return [];
  const neighbors = [
    navigateFrom(tree, layout, id, "ArrowLeft"),
    navigateFrom(tree, layout, id, "ArrowRight"),
  ];
  const ids = new Set([item.parent, ...neighbors, ...getSiblingIds(tree, item), ...item.children]);
  return [...ids].filter((other) => other !== undefined && other !== id) as string[];
}

function findFirstItemOnPath(tree: ChatTree): string | undefined {
  return [...tree.values()].find(({ isOnPath }) => isOnPath)?.id;
}

/**
 * Returns the child with the smallest horizontal distance. If several are equally near, prefers the one on the current
 * path, then the first.
 */
function findNearestChild(
  tree: ChatTree,
  { positions }: TreeLayout,
  { children }: ChatTreeItem,
  parentPosition: PositionedNode,
): string | undefined {
  let nearest: { id: string; distance: number } | undefined;
  for (const id of children) {
    const distance = Math.round(Math.abs((positions.get(id)?.x ?? Infinity) - parentPosition.x));
    const winsTie = distance === nearest?.distance && tree.get(id)?.isOnPath === true;
    if (nearest === undefined || distance < nearest.distance || winsTie) nearest = { id, distance };
  }
  return nearest?.id;
}

/**
 * Returns the nearest node to one side, of any parent, preferably at the same height. Nodes whose vertical distance is
 * greater than the horizontal one do not count.
 */
function findNearestInDirection(
  { positions }: TreeLayout,
  origin: PositionedNode,
  getDistance: (other: PositionedNode) => number,
): string | undefined {
  let nearest: { id: string; cost: number } | undefined;
  for (const other of positions.values()) {
    const distance = getDistance(other);
    const verticalGap = Math.max(
      other.y - (origin.y + origin.height),
      origin.y - (other.y + other.height),
      0,
    );
    if (distance < cardWidth || verticalGap > distance) continue;
    const centerOffset = Math.abs(getVerticalCenter(other) - getVerticalCenter(origin));
    // A vertical gap costs more than horizontal distance; the vertical center breaks ties.
    const cost = distance + verticalGap * 4 + centerOffset / 1000;
    if (nearest === undefined || cost < nearest.cost) nearest = { id: other.id, cost };
  }
  return nearest?.id;
}

function getVerticalCenter({ y, height }: PositionedNode): number {
  return y + height / 2;
}

function getSiblingIds(tree: ChatTree, { parent, level }: ChatTreeItem): readonly string[] {
  if (parent !== undefined) return tree.get(parent)?.children ?? [];
  return [...tree.values()].filter((other) => other.level === level).map(({ id }) => id);
}
