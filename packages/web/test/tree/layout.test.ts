import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../../test/work-time.ts";
import { layoutTree, type Placeable, type Spacing } from "../../src/tree/layout.ts";

const spacing: Spacing = { width: 200, beside: 20, below: 10, belowBranch: 40 };

describe("the picture of a tree", () => {
  test("a chain is one column, each node close below the one before", () => {
    const { places, width, height } = layoutOf([null, 0, 1, 2]);
    expect([...places.values()].map(({ x, y }) => [x, y])).toEqual([
      [0, 0],
      [0, 60],
      [0, 120],
      [0, 180],
    ]);
    expect({ width, height }).toEqual({ width: 200, height: 230 });
  });

  test("a parent stands over the middle of its children, with more room below", () => {
    const { places } = layoutOf([null, 0, 0, 0]);
    expect([...places.values()].map(({ x, y }) => [x, y])).toEqual([
      [220, 0],
      [0, 90],
      [220, 90],
      [440, 90],
    ]);
  });

  test("a short branch stands close to a long one that is wide further down", () => {
    const { width } = layoutOf([null, 0, 0, 1, 3, 3, 3]);
    expect(width).toBeLessThan(4 * 200);
  });

  test("several roots stand side by side", () => {
    const { places } = layoutOf([null, null]);
    expect([...places.values()].map(({ x, y }) => [x, y])).toEqual([
      [0, 0],
      [220, 0],
    ]);
  });

  test("an empty chat has an empty picture", () => {
    expect(layoutOf([])).toEqual({ places: new Map(), width: 0, height: 0 });
  });

  test("every node is placed once, below its parent, centred over its children, and touches no other", () => {
    fc.assert(
      fc.property(trees, (parents) => {
        const nodes = nodesOf(parents);
        const { places, width, height } = layoutTree(
          rootsOf(parents),
          (id) => nodes.get(id),
          spacing,
        );
        expect(places.size).toBe(parents.length);
        const all = [...places.values()];
        for (const place of all) {
          const node = nodes.get(place.id);
          const under = (node?.children ?? []).flatMap((id) => places.get(id) ?? []);
          for (const child of under) expect(child.y).toBeGreaterThan(place.y + place.height - 1);
          const [first, last] = [under[0] ?? place, under.at(-1) ?? place];
          expect(place.x).toBeCloseTo((first.x + last.x) / 2, 4);
          for (const [index, child] of under.entries())
            expect(child.x).toBeGreaterThan(under[index - 1]?.x ?? -Infinity);
          expect(place.x).toBeGreaterThan(-0.01);
          expect(place.x + spacing.width).toBeLessThan(width + 0.01);
          expect(place.y + place.height).toBeLessThan(height + 0.01);
        }
        for (const [index, one] of all.entries())
          for (const other of all.slice(index + 1)) {
            const beside =
              one.x + spacing.width + spacing.beside <= other.x + 0.01 ||
              other.x + spacing.width + spacing.beside <= one.x + 0.01;
            const apart = one.y + one.height <= other.y || other.y + other.height <= one.y;
            expect(beside || apart, `${one.id} and ${other.id} overlap`).toBe(true);
          }
      }),
      { numRuns: 300 },
    );
  });

  test("a node that two parents name is drawn once", () => {
    const twice = new Map<string, Placeable>([
      ["a", { id: "a", children: ["b", "b"], height: 50 }],
      ["b", { id: "b", children: ["a"], height: 50 }],
    ]);
    const { places } = layoutTree(["a"], (id) => twice.get(id), spacing);
    expect([...places.keys()]).toEqual(["a", "b"]);
  });

  test("a conversation of 50,000 nodes, one below the other, is placed without recursion", () => {
    const { places, width } = layoutOf([null, ...Array.from({ length: 49_999 }, (_, i) => i)]);
    expect(places.size).toBe(50_000);
    expect(width).toBe(spacing.width);
  });

  test("100,000 nodes, half of them branches, take a moment: the time is linear", () => {
    const parents = combOf(100_000);
    let placed = 0;
    const took = workTime(() => (placed = layoutOf(parents).places.size));
    expect(placed).toBe(100_000);
    expect(took).toBeLessThan(5_000);
  });
});

/** Each tree as the index of the parent of each node; null: a root. */
const trees = fc
  .array(fc.option(fc.nat(), { freq: 12 }), { maxLength: 60 })
  .map((raw) => raw.map((value, index) => (value === null || index === 0 ? null : value % index)));

/** A spine whose every node has a leaf beside it. */
function combOf(count: number): (number | null)[] {
  return Array.from({ length: count }, (_, index) =>
    index === 0 ? null : index % 2 === 1 ? Math.max(index - 2, 0) + (index > 1 ? 1 : 0) : index - 2,
  );
}

function layoutOf(parents: readonly (number | null)[]) {
  const nodes = nodesOf(parents);
  return layoutTree(rootsOf(parents), (id) => nodes.get(id), spacing);
}

function rootsOf(parents: readonly (number | null)[]): string[] {
  return parents.flatMap((parent, index) => (parent === null ? [`n${index}`] : []));
}

function nodesOf(parents: readonly (number | null)[]): Map<string, Placeable> {
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
