import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import { layoutTree, type LayoutNode, type TreeSpacing } from "../../src/tree/tree-layout.ts";

const spacing: TreeSpacing = {
  width: 200,
  betweenBranches: 20,
  aboveOnlyChild: 10,
  aboveSiblings: 40,
};

describe("the layout of a tree", () => {
  test("puts a chain into one column with small gaps", () => {
    const { positions, width, height } = layoutParents([null, 0, 1, 2]);
    expect([...positions.values()].map(({ x, y }) => [x, y])).toEqual([
      [0, 0],
      [0, 60],
      [0, 120],
      [0, 180],
    ]);
    expect({ width, height }).toEqual({ width: 200, height: 230 });
  });

  test("centers a parent above its children, with a larger gap", () => {
    const { positions } = layoutParents([null, 0, 0, 0]);
    expect([...positions.values()].map(({ x, y }) => [x, y])).toEqual([
      [220, 0],
      [0, 90],
      [220, 90],
      [440, 90],
    ]);
  });

  test("packs a short branch close to one that is wide further down", () => {
    const { width } = layoutParents([null, 0, 0, 1, 3, 3, 3]);
    expect(width).toBeLessThan(4 * 200);
  });

  test("puts several roots side by side", () => {
    const { positions } = layoutParents([null, null]);
    expect([...positions.values()].map(({ x, y }) => [x, y])).toEqual([
      [0, 0],
      [220, 0],
    ]);
  });

  test("of an empty chat is empty", () => {
    expect(layoutParents([])).toEqual({ positions: new Map(), width: 0, height: 0 });
  });

  test("positions every node once, below its parent, centered above its children, without overlaps", () => {
    fc.assert(
      fc.property(trees, (parents) => {
        const nodes = createNodes(parents);
        const { positions, width, height } = layoutTree(
          getRoots(parents),
          (id) => nodes.get(id),
          spacing,
        );
        expect(positions.size).toBe(parents.length);
        const all = [...positions.values()];
        for (const position of all) {
          const node = nodes.get(position.id);
          const children = (node?.children ?? []).flatMap((id) => positions.get(id) ?? []);
          for (const child of children)
            expect(child.y).toBeGreaterThan(position.y + position.height - 1);
          const [first, last] = [children[0] ?? position, children.at(-1) ?? position];
          expect(position.x).toBeCloseTo((first.x + last.x) / 2, 4);
          for (const [index, child] of children.entries())
            expect(child.x).toBeGreaterThan(children[index - 1]?.x ?? -Infinity);
          expect(position.x).toBeGreaterThan(-0.01);
          expect(position.x + spacing.width).toBeLessThan(width + 0.01);
          expect(position.y + position.height).toBeLessThan(height + 0.01);
        }
        for (const [index, a] of all.entries())
          for (const b of all.slice(index + 1)) {
            const isBeside =
              a.x + spacing.width + spacing.betweenBranches <= b.x + 0.01 ||
              b.x + spacing.width + spacing.betweenBranches <= a.x + 0.01;
            const isAboveOrBelow = a.y + a.height <= b.y || b.y + b.height <= a.y;
            expect(isBeside || isAboveOrBelow, `${a.id} and ${b.id} overlap`).toBe(true);
          }
      }),
      { numRuns: 300 },
    );
  });

  test("positions a node once, even if it has several parents", () => {
    const nodes = new Map<string, LayoutNode>([
      ["a", { id: "a", children: ["b", "b"], height: 50 }],
      ["b", { id: "b", children: ["a"], height: 50 }],
    ]);
    const { positions } = layoutTree(["a"], (id) => nodes.get(id), spacing);
    expect([...positions.keys()]).toEqual(["a", "b"]);
  });

  test("of a chain of 50,000 nodes does not overflow the stack", () => {
    const { positions, width } = layoutParents([
      null,
      ...Array.from({ length: 49_999 }, (_, i) => i),
    ]);
    expect(positions.size).toBe(50_000);
    expect(width).toBe(spacing.width);
  });

  test("of 100,000 nodes with 50,000 branches takes linear time", () => {
    const parents = createComb(100_000);
    let count = 0;
    const cpuMs = measureCpuTime(() => (count = layoutParents(parents).positions.size));
    expect(count).toBe(100_000);
    expect(cpuMs).toBeLessThan(5_000);
  });
});

/** Trees as lists of the parent index of each node; null for a root. */
const trees = fc
  .array(fc.option(fc.nat(), { freq: 12 }), { maxLength: 60 })
  .map((raw) => raw.map((value, index) => (value === null || index === 0 ? null : value % index)));

/** Creates a chain in which every node has an additional leaf. */
function createComb(count: number): (number | null)[] {
  return Array.from({ length: count }, (_, index) =>
    index === 0 ? null : index % 2 === 1 ? Math.max(index - 2, 0) + (index > 1 ? 1 : 0) : index - 2,
  );
}

function layoutParents(parents: readonly (number | null)[]) {
  const nodes = createNodes(parents);
  return layoutTree(getRoots(parents), (id) => nodes.get(id), spacing);
}

function getRoots(parents: readonly (number | null)[]): string[] {
  return parents.flatMap((parent, index) => (parent === null ? [`n${index}`] : []));
}

function createNodes(parents: readonly (number | null)[]): Map<string, LayoutNode> {
  const children = parents.map((): string[] => []);
  for (const [index, parent] of parents.entries())
    if (parent !== null) children[parent]?.push(`n${index}`);
  return new Map(
    children.map((ids, index) => [
      `n${index}`,
      { id: `n${index}`, children: ids, height: index % 7 === 6 ? 20 : 50 },
    ]),
  );
}
