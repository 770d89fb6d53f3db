import type { Tree, TreeItem } from "./tree-of.ts";

/** Where an arrow leads from a node; undefined: nowhere, or the key is none of these. */
export function stepFrom(tree: Tree, id: string, key: string): string | undefined {
  const item = tree.get(id);
  if (item === undefined) return undefined;
  switch (key) {
    case "ArrowUp":
      return item.parent;
    case "ArrowDown":
      return childOf(tree, item);
    case "ArrowLeft":
      return besideOf(tree, item)[item.place - 2];
    case "ArrowRight":
      return besideOf(tree, item)[item.place];
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
export function aroundOf(tree: Tree, id: string): string[] {
  const item = tree.get(id);
  if (item === undefined) return [];
  return [item.parent, ...besideOf(tree, item), ...item.children].filter(
    (each) => each !== undefined && each !== id,
  ) as string[];
}

function firstOnPath(tree: Tree): string | undefined {
  return [...tree.values()].find(({ isOnPath }) => isOnPath)?.id;
}

/** The one that the chat shows, else the first. */
function childOf(tree: Tree, { children }: TreeItem): string | undefined {
  return children.find((id) => tree.get(id)?.isOnPath === true) ?? children[0];
}

function besideOf(tree: Tree, { parent, level }: TreeItem): readonly string[] {
  if (parent !== undefined) return tree.get(parent)?.children ?? [];
  return [...tree.values()].filter((each) => each.level === level).map(({ id }) => id);
}
