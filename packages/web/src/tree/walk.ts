import type { Layout, Placed } from "./layout.ts";
import { cardWidth } from "./sizes.ts";
import type { Tree, TreeItem } from "./tree-of.ts";

/**
 * Where an arrow leads from a node: to what stands there in the picture, which has the same left and right in all languages.
 * Undefined: nowhere, or the key is none of these.
 */
export function stepFrom(tree: Tree, layout: Layout, id: string, key: string): string | undefined {
  const item = tree.get(id);
  const place = layout.places.get(id);
  if (item === undefined || place === undefined) return undefined;
  switch (key) {
    case "ArrowUp":
      return item.parent;
    case "ArrowDown":
      return childBelow(tree, layout, item, place);
    case "ArrowLeft":
      return nearestBeside(layout, place, (other) => place.x - other.x);
    case "ArrowRight":
      return nearestBeside(layout, place, (other) => other.x - place.x);
    case "Home":
      return firstOnPath(tree);
    case "End":
      return lastOnPath(tree);
    default:
      return undefined;
  }
}

/** The end of what is shown in the chat, where somebody who comes from there looks first. */
export function lastOnPath(tree: Tree): string | undefined {
  return [...tree.values()].findLast(({ isOnPath }) => isOnPath)?.id;
}

/** What a step can lead to: it has to be there to be gone to, in sight or not. */
export function aroundOf(tree: Tree, layout: Layout, id: string): string[] {
  const item = tree.get(id);
  if (item === undefined) return [];
  const drawnBeside = [
    stepFrom(tree, layout, id, "ArrowLeft"),
    stepFrom(tree, layout, id, "ArrowRight"),
  ];
  const all = new Set([item.parent, ...drawnBeside, ...besideOf(tree, item), ...item.children]);
  return [...all].filter((each) => each !== undefined && each !== id) as string[];
}

function firstOnPath(tree: Tree): string | undefined {
  return [...tree.values()].find(({ isOnPath }) => isOnPath)?.id;
}

/** The child that is nearest to straight below. Of two that are as near: the one that the chat shows, else the first. */
function childBelow(
  tree: Tree,
  { places }: Layout,
  { children }: TreeItem,
  from: Placed,
): string | undefined {
  let nearest: { id: string; aside: number } | undefined;
  for (const id of children) {
    const aside = Math.round(Math.abs((places.get(id)?.x ?? Infinity) - from.x));
    const isAsNear = aside === nearest?.aside && tree.get(id)?.isOnPath === true;
    if (nearest === undefined || aside < nearest.aside || isAsNear) nearest = { id, aside };
  }
  return nearest?.id;
}

/**
 * The nearest node to one side, at the same height if there is one: a cousin too. What is further up or down than aside is not
 * in that direction.
 */
function nearestBeside(
  { places }: Layout,
  from: Placed,
  distanceTo: (other: Placed) => number,
): string | undefined {
  let nearest: { id: string; cost: number } | undefined;
  for (const other of places.values()) {
    const distance = distanceTo(other);
    const apart = Math.max(other.y - (from.y + from.height), from.y - (other.y + other.height), 0);
    if (distance < cardWidth || apart > distance) continue;
    const offset = Math.abs(middleOf(other) - middleOf(from));
    // Another height counts more than a longer way; among those beside one another the middle decides.
    const cost = distance + apart * 4 + offset / 1000;
    if (nearest === undefined || cost < nearest.cost) nearest = { id: other.id, cost };
  }
  return nearest?.id;
}

function middleOf({ y, height }: Placed): number {
  return y + height / 2;
}

function besideOf(tree: Tree, { parent, level }: TreeItem): readonly string[] {
  if (parent !== undefined) return tree.get(parent)?.children ?? [];
  return [...tree.values()].filter((each) => each.level === level).map(({ id }) => id);
}
