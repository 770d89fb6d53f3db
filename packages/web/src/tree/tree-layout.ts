/** A node to be positioned. */
export interface LayoutNode {
  readonly id: string;
  readonly children: readonly string[];
  readonly height: number;
}

export interface TreeSpacing {
  /** Width of every node. */
  readonly width: number;
  /** Horizontal gap between branches. */
  readonly betweenBranches: number;
  /** Vertical gap above an only child. */
  readonly aboveOnlyChild: number;
  /** Vertical gap above siblings. */
  readonly aboveSiblings: number;
}

export interface PositionedNode {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

export interface TreeLayout {
  /** By id, in pre-order. */
  readonly positions: ReadonlyMap<string, PositionedNode>;
  readonly width: number;
  readonly height: number;
}

/**
 * Computes a tidy tree layout: children side by side below their parent, and the parent centered above its first and last
 * child. Subtrees are packed as closely as their contours allow (van der Ploeg, "Drawing non-layered tidy trees in linear
 * time", 2013). Not recursive, because a chat may be thousands of nodes deep.
 */
export function layoutTree(
  roots: readonly string[],
  getNode: (id: string) => LayoutNode | undefined,
  spacing: TreeSpacing,
): TreeLayout {
  const { top, order } = buildBoxes(roots, getNode, spacing);
  for (const box of order.toReversed()) arrangeSubtrees(box);
  const positions = new Map<string, PositionedNode>();
  let [left, right, height] = [Infinity, -Infinity, 0];
  assignPositions(top);
  for (const box of order) {
    if (box === top) continue;
    left = Math.min(left, box.x);
    right = Math.max(right, box.x + spacing.width);
    height = Math.max(height, box.y + box.height);
  }
  for (const { id, x, y, height: nodeHeight } of order)
    if (id !== undefined) positions.set(id, { id, x: x - left, y, height: nodeHeight });
  return { positions, width: positions.size === 0 ? 0 : right - left, height };
}

/** Working state of the algorithm. x coordinates are left edges; `width` includes the gap between branches. */
interface LayoutBox {
  /** Undefined for the artificial parent of all roots. */
  readonly id: string | undefined;
  readonly width: number;
  readonly height: number;
  readonly y: number;
  readonly children: LayoutBox[];
  x: number;
  /** x relative to the subtree ("prelim" in the paper). */
  prelim: number;
  /** Shift of the complete subtree ("mod" in the paper). */
  shift: number;
  /** `change` and `step` distribute a shift over the siblings in between ("change" and "shift" in the paper). */
  change: number;
  step: number;
  /** The next box of the left or right contour, for a box without children. */
  leftThread: LayoutBox | undefined;
  rightThread: LayoutBox | undefined;
  /** The lowest box of each contour, and its shift relative to this box. */
  lowestLeft: LayoutBox;
  lowestRight: LayoutBox;
  leftShift: number;
  rightShift: number;
}

function buildBoxes(
  roots: readonly string[],
  getNode: (id: string) => LayoutNode | undefined,
  { width, betweenBranches, aboveOnlyChild, aboveSiblings }: TreeSpacing,
): { top: LayoutBox; order: LayoutBox[] } {
  const seen = new Set<string>();
  const top = createBox(undefined, width + betweenBranches, 0, 0);
  const order: LayoutBox[] = [];
  const stack: { box: LayoutBox; ids: readonly string[] }[] = [{ box: top, ids: roots }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { box, ids } = next;
    order.push(box);
    const gap = box === top ? 0 : ids.length > 1 ? aboveSiblings : aboveOnlyChild;
    const children: typeof stack = [];
    for (const id of ids) {
      const node = getNode(id);
      if (node === undefined || seen.has(id)) continue;
      seen.add(id);
      const child = createBox(id, width + betweenBranches, node.height, box.y + box.height + gap);
      box.children.push(child);
      children.push({ box: child, ids: node.children });
    }
    stack.push(...children.toReversed());
  }
  return { top, order };
}

function createBox(id: string | undefined, width: number, height: number, y: number): LayoutBox {
  const box: Omit<LayoutBox, "lowestLeft" | "lowestRight"> = {
    id,
    width,
    height,
    y,
    children: [],
    x: 0,
    prelim: 0,
    shift: 0,
    change: 0,
    step: 0,
    leftThread: undefined,
    rightThread: undefined,
    leftShift: 0,
    rightShift: 0,
  };
  return Object.assign(box, { lowestLeft: box as LayoutBox, lowestRight: box as LayoutBox });
}

/** Packs the children's subtrees, which are already arranged, and centers the box above them. */
function arrangeSubtrees(box: LayoutBox): void {
  const [first] = box.children;
  const last = box.children.at(-1);
  if (first === undefined || last === undefined) return;
  let heights = addLowest(getBottom(first.lowestLeft), 0, undefined);
  for (const [index, child] of box.children.entries()) {
    if (index === 0) continue;
    const lowest = getBottom(child.lowestRight);
    pushApart(box, index, heights);
    heights = addLowest(lowest, index, heights);
  }
  const left = first.prelim + first.shift;
  const right = last.prelim + last.shift + last.width;
  box.prelim = (left + right) / 2 - box.width / 2;
  box.lowestLeft = first.lowestLeft;
  box.leftShift = first.leftShift;
  box.lowestRight = last.lowestRight;
  box.rightShift = last.rightShift;
}

/** Linked list of the siblings whose subtrees reach below those of all siblings to their right, the lowest one last. */
interface ContourHeights {
  readonly lowest: number;
  readonly index: number;
  readonly next: ContourHeights | undefined;
}

function addLowest(
  lowest: number,
  index: number,
  heights: ContourHeights | undefined,
): ContourHeights {
  let next = heights;
  while (next !== undefined && lowest >= next.lowest) next = next.next;
  return { lowest, index, next };
}

/** Moves a child to the right until its subtree does not overlap those of the siblings before it. */
function pushApart(parent: LayoutBox, index: number, contourHeights: ContourHeights): void {
  let heights: ContourHeights | undefined = contourHeights;
  const previousSibling = parent.children[index - 1];
  const child = parent.children[index];
  if (previousSibling === undefined || child === undefined) return;
  // The right contour of the siblings before the child, and the left contour of the child.
  let right: LayoutBox | undefined = previousSibling;
  let rightShift = previousSibling.shift;
  let left: LayoutBox | undefined = child;
  let leftShift = child.shift;
  while (right !== undefined && left !== undefined) {
    if (heights !== undefined && getBottom(right) > heights.lowest) heights = heights.next;
    const overlap = rightShift + right.prelim + right.width - (leftShift + left.prelim);
    if (overlap > 0) {
      leftShift += overlap;
      moveSubtree(parent, index, heights?.index ?? 0, overlap);
    }
    const [rightBottom, leftBottom] = [getBottom(right), getBottom(left)];
    if (rightBottom <= leftBottom) {
      right = getNextOnRight(right);
      if (right !== undefined) rightShift += right.shift;
    }
    if (rightBottom >= leftBottom) {
      left = getNextOnLeft(left);
      if (left !== undefined) leftShift += left.shift;
    }
  }
  if (right === undefined && left !== undefined) threadLeft(parent, index, left, leftShift);
  else if (right !== undefined && left === undefined) threadRight(parent, index, right, rightShift);
}

/** Moves a child to the right, and the siblings between `leftIndex` and the child proportionally. */
function moveSubtree(parent: LayoutBox, index: number, leftIndex: number, distance: number): void {
  const child = parent.children[index];
  if (child === undefined) return;
  child.shift += distance;
  child.leftShift += distance;
  child.rightShift += distance;
  const gapCount = index - leftIndex;
  const next = parent.children[leftIndex + 1];
  if (gapCount <= 1 || next === undefined) return;
  next.step += distance / gapCount;
  child.step -= distance / gapCount;
  child.change -= distance - distance / gapCount;
}

function getNextOnLeft(box: LayoutBox): LayoutBox | undefined {
  return box.children[0] ?? box.leftThread;
}

function getNextOnRight(box: LayoutBox): LayoutBox | undefined {
  return box.children.at(-1) ?? box.rightThread;
}

function getBottom({ y, height }: LayoutBox): number {
  return y + height;
}

/** Continues the left contour, which ends above that of the child. */
function threadLeft(parent: LayoutBox, index: number, below: LayoutBox, shift: number): void {
  const [first] = parent.children;
  const child = parent.children[index];
  if (first === undefined || child === undefined) return;
  const lowest = first.lowestLeft;
  lowest.leftThread = below;
  const difference = shift - below.shift - first.leftShift;
  lowest.shift += difference;
  lowest.prelim -= difference;
  first.lowestLeft = child.lowestLeft;
  first.leftShift = child.leftShift;
}

/** Continues the right contour of the child, which ends above that of the siblings before it. */
function threadRight(parent: LayoutBox, index: number, below: LayoutBox, shift: number): void {
  const previousSibling = parent.children[index - 1];
  const child = parent.children[index];
  if (previousSibling === undefined || child === undefined) return;
  const lowest = child.lowestRight;
  lowest.rightThread = below;
  const difference = shift - below.shift - child.rightShift;
  lowest.shift += difference;
  lowest.prelim -= difference;
  child.lowestRight = previousSibling.lowestRight;
  child.rightShift = previousSibling.rightShift;
}

function assignPositions(top: LayoutBox): void {
  const stack = [{ box: top, left: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { box } = next;
    box.x = next.left + box.prelim;
    let [step, change] = [0, 0];
    for (const child of box.children) {
      step += child.step;
      change += step + child.change;
      child.shift += change;
      stack.push({ box: child, left: next.left + child.shift });
    }
  }
}
