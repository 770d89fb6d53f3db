import type { Chat } from "@deltawire/tasks/chats";
import {
  layoutTree,
  type TreeLayout,
  type PositionedNode,
  type TreeSpacing,
} from "./tree-layout.ts";
import type { ViewArea } from "./viewport.ts";
import type { ChatTree } from "./chat-tree.ts";

export const cardWidth = 228;
const cardHeight = 74;
const separatorHeight = 22;

const spacing: TreeSpacing = {
  width: cardWidth,
  betweenBranches: 24,
  aboveOnlyChild: 16,
  aboveSiblings: 44,
};

/** Positions all nodes of a chat. */
export function layoutChatTree(roots: Chat["roots"], tree: ChatTree): TreeLayout {
  return layoutTree(
    roots,
    (id) => {
      const item = tree.get(id);
      if (item === undefined) return undefined;
      return { ...item, height: item.kind === "separator" ? separatorHeight : cardHeight };
    },
    spacing,
  );
}

export function toViewArea({ x, y, height }: PositionedNode): ViewArea {
  return { x, y, width: cardWidth, height };
}

/** Returns SVG path data for the edges on the current path, or, if `isOnCurrentPath` is false, for all others. */
export function buildEdgePath(
  tree: ChatTree,
  layout: TreeLayout,
  isOnCurrentPath: boolean,
): string {
  let d = "";
  for (const { id, parent, isOnPath } of tree.values()) {
    if (parent === undefined || isOnPath !== isOnCurrentPath) continue;
    const parentPosition = layout.positions.get(parent);
    const position = layout.positions.get(id);
    if (parentPosition === undefined || position === undefined) continue;
    const startX = parentPosition.x + cardWidth / 2;
    const startY = parentPosition.y + parentPosition.height;
    const endX = position.x + cardWidth / 2;
    const middleY = (startY + position.y) / 2;
    d +=
      Math.abs(startX - endX) < 0.5
        ? `M${startX} ${startY}V${position.y}`
        : `M${startX} ${startY}C${startX} ${middleY} ${endX} ${middleY} ${endX} ${position.y}`;
  }
  return d;
}

/** Returns SVG path data for all cards of one style, to draw thousands of cards as a few shapes when zoomed out. */
export function buildCardPath(
  tree: ChatTree,
  layout: TreeLayout,
  style: "path" | "user" | "answer" | "failed" | "running",
): string {
  let d = "";
  for (const item of tree.values()) {
    if (toCardStyle(item) !== style) continue;
    const position = layout.positions.get(item.id);
    if (position !== undefined)
      d += `M${position.x} ${position.y}h${cardWidth}v${position.height}h${-cardWidth}z`;
  }
  return d;
}

export const cardStyles = ["user", "answer", "path", "failed", "running"] as const;

function toCardStyle({
  state,
  isOnPath,
  kind,
}: {
  state: string | undefined;
  isOnPath: boolean;
  kind: string;
}) {
  if (state === "failed" || state === "timedOut") return "failed";
  if (state === "answering" || state === "waiting") return "running";
  if (isOnPath) return "path";
  return kind === "answer" ? "answer" : "user";
}
