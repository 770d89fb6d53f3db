/** What is to be placed: a node with its height, and what stands under it, in order. */
export interface Placeable {
  readonly id: string;
  readonly children: readonly string[];
  readonly height: number;
}

export interface Spacing {
  /** Of every node. */
  readonly width: number;
  /** Between branches, from side to side. */
  readonly beside: number;
  /** Above an only child, and above each of several: a chain is drawn closer. */
  readonly below: number;
  readonly belowBranch: number;
}

export interface Placed {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

export interface Layout {
  /** Parents before their children, from left to right; by id. */
  readonly places: ReadonlyMap<string, Placed>;
  readonly width: number;
  readonly height: number;
}

/**
 * Places every node once, below its parent, without overlaps: children side by side, and a parent over the middle of its
 * first and last. What is narrow goes beside what is wide at another height (van der Ploeg, "Drawing non-layered tidy trees
 * in linear time", 2013). Nothing recurs: a conversation may be thousands of nodes deep.
 */
export function layoutTree(
  roots: readonly string[],
  nodeOf: (id: string) => Placeable | undefined,
  spacing: Spacing,
): Layout {
  const { top, order } = boxesOf(roots, nodeOf, spacing);
  for (const box of order.toReversed()) settle(box);
  const places = new Map<string, Placed>();
  let [left, right, height] = [Infinity, -Infinity, 0];
  place(top);
  for (const box of order) {
    if (box === top) continue;
    left = Math.min(left, box.x);
    right = Math.max(right, box.x + spacing.width);
    height = Math.max(height, box.y + box.height);
  }
  for (const { id, x, y, height: own } of order)
    if (id !== undefined) places.set(id, { id, x: x - left, y, height: own });
  return { places, width: places.size === 0 ? 0 : right - left, height };
}

/** Sides count from the left, the room between branches included. */
interface Box {
  /** Undefined: of no node; the roots stand under it. */
  readonly id: string | undefined;
  readonly width: number;
  readonly height: number;
  readonly y: number;
  readonly children: Box[];
  x: number;
  /** Against its parent's, and what all under it are shifted by. */
  own: number;
  shift: number;
  /** Spread over the children between two that were pushed apart. */
  change: number;
  step: number;
  /** Where the outline goes on below a side that ends, and by how much that is shifted. */
  leftThread: Box | undefined;
  rightThread: Box | undefined;
  /** The lowest on each side, and its shift against this. */
  lowestLeft: Box;
  lowestRight: Box;
  leftShift: number;
  rightShift: number;
}

function boxesOf(
  roots: readonly string[],
  nodeOf: (id: string) => Placeable | undefined,
  { width, beside, below, belowBranch }: Spacing,
): { top: Box; order: Box[] } {
  const seen = new Set<string>();
  const top = newBox(undefined, width + beside, 0, 0);
  const order: Box[] = [];
  const ahead: { box: Box; ids: readonly string[] }[] = [{ box: top, ids: roots }];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { box, ids } = next;
    order.push(box);
    const gap = box === top ? 0 : ids.length > 1 ? belowBranch : below;
    const under: typeof ahead = [];
    for (const id of ids) {
      const node = nodeOf(id);
      if (node === undefined || seen.has(id)) continue;
      seen.add(id);
      const child = newBox(id, width + beside, node.height, box.y + box.height + gap);
      box.children.push(child);
      under.push({ box: child, ids: node.children });
    }
    ahead.push(...under.toReversed());
  }
  return { top, order };
}

function newBox(id: string | undefined, width: number, height: number, y: number): Box {
  const box: Omit<Box, "lowestLeft" | "lowestRight"> = {
    id,
    width,
    height,
    y,
    children: [],
    x: 0,
    own: 0,
    shift: 0,
    change: 0,
    step: 0,
    leftThread: undefined,
    rightThread: undefined,
    leftShift: 0,
    rightShift: 0,
  };
  return Object.assign(box, { lowestLeft: box as Box, lowestRight: box as Box });
}

/** Brings the subtrees of its children, which are settled, as close together as they go, and itself over their middle. */
function settle(box: Box): void {
  const [first] = box.children;
  const last = box.children.at(-1);
  if (first === undefined || last === undefined) return;
  let heights = withLowest(bottomOf(first.lowestLeft), 0, undefined);
  for (const [index, child] of box.children.entries()) {
    if (index === 0) continue;
    const lowest = bottomOf(child.lowestRight);
    pushApart(box, index, heights);
    heights = withLowest(lowest, index, heights);
  }
  box.own = (first.own + first.shift + last.own + last.shift + last.width) / 2 - box.width / 2;
  box.lowestLeft = first.lowestLeft;
  box.leftShift = first.leftShift;
  box.lowestRight = last.lowestRight;
  box.rightShift = last.rightShift;
}

/** Of the subtrees on the left those that still reach down to somewhere, the lowest last. */
interface Heights {
  readonly lowest: number;
  readonly index: number;
  readonly next: Heights | undefined;
}

function withLowest(lowest: number, index: number, heights: Heights | undefined): Heights {
  let next = heights;
  while (next !== undefined && lowest >= next.lowest) next = next.next;
  return { lowest, index, next };
}

function pushApart(parent: Box, index: number, known: Heights): void {
  let heights: Heights | undefined = known;
  const before = parent.children[index - 1];
  const child = parent.children[index];
  if (before === undefined || child === undefined) return;
  let right: Box | undefined = before;
  let rightAt = before.shift;
  let left: Box | undefined = child;
  let leftAt = child.shift;
  while (right !== undefined && left !== undefined) {
    if (heights !== undefined && bottomOf(right) > heights.lowest) heights = heights.next;
    const distance = rightAt + right.own + right.width - (leftAt + left.own);
    if (distance > 0) {
      leftAt += distance;
      moveSubtree(parent, index, heights?.index ?? 0, distance);
    }
    const [rightBottom, leftBottom] = [bottomOf(right), bottomOf(left)];
    if (rightBottom <= leftBottom) {
      right = nextOnRight(right);
      if (right !== undefined) rightAt += right.shift;
    }
    if (rightBottom >= leftBottom) {
      left = nextOnLeft(left);
      if (left !== undefined) leftAt += left.shift;
    }
  }
  if (right === undefined && left !== undefined) threadLeft(parent, index, left, leftAt);
  else if (right !== undefined && left === undefined) threadRight(parent, index, right, rightAt);
}

function moveSubtree(parent: Box, index: number, from: number, distance: number): void {
  const child = parent.children[index];
  if (child === undefined) return;
  child.shift += distance;
  child.leftShift += distance;
  child.rightShift += distance;
  const apart = index - from;
  const after = parent.children[from + 1];
  if (apart <= 1 || after === undefined) return;
  after.step += distance / apart;
  child.step -= distance / apart;
  child.change -= distance - distance / apart;
}

function nextOnLeft(box: Box): Box | undefined {
  return box.children[0] ?? box.leftThread;
}

function nextOnRight(box: Box): Box | undefined {
  return box.children.at(-1) ?? box.rightThread;
}

function bottomOf({ y, height }: Box): number {
  return y + height;
}

function threadLeft(parent: Box, index: number, below: Box, at: number): void {
  const [first] = parent.children;
  const child = parent.children[index];
  if (first === undefined || child === undefined) return;
  const low = first.lowestLeft;
  low.leftThread = below;
  const difference = at - below.shift - first.leftShift;
  low.shift += difference;
  low.own -= difference;
  first.lowestLeft = child.lowestLeft;
  first.leftShift = child.leftShift;
}

function threadRight(parent: Box, index: number, below: Box, at: number): void {
  const before = parent.children[index - 1];
  const child = parent.children[index];
  if (before === undefined || child === undefined) return;
  const low = child.lowestRight;
  low.rightThread = below;
  const difference = at - below.shift - child.rightShift;
  low.shift += difference;
  low.own -= difference;
  child.lowestRight = before.lowestRight;
  child.rightShift = before.rightShift;
}

function place(top: Box): void {
  const ahead = [{ box: top, left: 0 }];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { box } = next;
    box.x = next.left + box.own;
    let [step, change] = [0, 0];
    for (const child of box.children) {
      step += child.step;
      change += step + child.change;
      child.shift += change;
      ahead.push({ box: child, left: next.left + child.shift });
    }
  }
}
