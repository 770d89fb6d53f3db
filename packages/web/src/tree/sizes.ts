import type { Chat } from "@deltawire/tasks/chats";
import { layoutTree, type Layout, type Placed, type Spacing } from "./layout.ts";
import type { Area } from "./sight.ts";
import type { Tree } from "./tree-of.ts";

export const cardWidth = 228;
const cardHeight = 74;
const barHeight = 22;

const spacing: Spacing = { width: cardWidth, beside: 24, below: 16, belowBranch: 44 };

/** Where the nodes of a chat stand in its picture. */
export function layoutOf(roots: Chat["roots"], tree: Tree): Layout {
  return layoutTree(
    roots,
    (id) => {
      const item = tree.get(id);
      if (item === undefined) return undefined;
      return { ...item, height: item.kind === "separator" ? barHeight : cardHeight };
    },
    spacing,
  );
}

export function areaOf({ x, y, height }: Placed): Area {
  return { x, y, width: cardWidth, height };
}

/** The lines from parents to children, as one shape: those of the path, or the others. */
export function edgesIn(tree: Tree, layout: Layout, ofPath: boolean): string {
  let shape = "";
  for (const { id, parent, isOnPath } of tree.values()) {
    if (parent === undefined || isOnPath !== ofPath) continue;
    const [from, to] = [layout.places.get(parent), layout.places.get(id)];
    if (from === undefined || to === undefined) continue;
    const x = from.x + cardWidth / 2;
    const end = to.x + cardWidth / 2;
    const y = from.y + from.height;
    const middle = (y + to.y) / 2;
    shape +=
      Math.abs(x - end) < 0.5
        ? `M${x} ${y}V${to.y}`
        : `M${x} ${y}C${x} ${middle} ${end} ${middle} ${end} ${to.y}`;
  }
  return shape;
}

/** All cards of one look as one shape, for a picture of thousands that is seen from far away. */
export function cardsIn(
  tree: Tree,
  layout: Layout,
  look: "path" | "user" | "answer" | "failed" | "running",
): string {
  let shape = "";
  for (const item of tree.values()) {
    if (lookOf(item) !== look) continue;
    const place = layout.places.get(item.id);
    if (place !== undefined)
      shape += `M${place.x} ${place.y}h${cardWidth}v${place.height}h${-cardWidth}z`;
  }
  return shape;
}

export const looks = ["user", "answer", "path", "failed", "running"] as const;

function lookOf({
  says,
  isOnPath,
  kind,
}: {
  says: string | undefined;
  isOnPath: boolean;
  kind: string;
}) {
  if (says === "failed" || says === "timedOut") return "failed";
  if (says === "answering" || says === "waiting") return "running";
  if (isOnPath) return "path";
  return kind === "answer" ? "answer" : "user";
}
