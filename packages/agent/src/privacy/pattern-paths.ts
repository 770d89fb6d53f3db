import { OddPattern, type PatternNode } from "./pattern-parser.ts";

/** How many steps the search for two ways may take: some tens of milliseconds. */
const mostSteps = 1_000_000;
/** An exact count is written out as long as there are fewer positions than these. */
const mostPositions = 400;

/**
 * The ways of a pattern through a text: each of its characters is a position, and the edges tell which may follow which.
 * `{4}` is written out four times; `{2,5}` is a loop here. An edge that comes about in two ways, as in `(a+)+`, is double.
 */
interface Paths {
  /** The source of each position. */
  positions: string[];
  /** By position: what may follow, and in how many ways. */
  edges: Map<number, number>[];
}

interface Ends {
  first: number[];
  last: number[];
  canBeEmpty: boolean;
}

export interface PatternPaths {
  canBeEmpty: boolean;
  /**
   * A text can be walked through in a loop of the pattern in two ways: then there are four for two rounds, and a billion
   * for thirty.
   */
  twoWaysAround: boolean;
  /** A character for each position, where there is one among those that were tried. */
  characters: string[];
}

/** Throws an OddPattern where nothing can be said. */
export function pathsOf(node: PatternNode): PatternPaths {
  const paths: Paths = { positions: [], edges: [] };
  const looks: PatternNode[] = [];
  const { canBeEmpty } = join(node, paths, looks);
  const fits = fitsOf(paths.positions);
  const within = looks.map(pathsOf);
  return {
    canBeEmpty,
    twoWaysAround: isAmbiguous(paths, fits) || within.some(({ twoWaysAround }) => twoWaysAround),
    characters: [...fits, ...within.map(({ characters }) => characters)].flatMap(
      (fitting) => fitting.find((one) => /^[!-~]$/.test(one)) ?? fitting[0] ?? [],
    ),
  };
}

function join(node: PatternNode, paths: Paths, looks: PatternNode[]): Ends {
  switch (node.is) {
    case "empty":
      return { first: [], last: [], canBeEmpty: true };
    case "look":
      looks.push(node.body);
      return { first: [], last: [], canBeEmpty: true };
    case "character": {
      const position = paths.positions.push(node.source) - 1;
      paths.edges.push(new Map());
      return { first: [position], last: [position], canBeEmpty: false };
    }
    case "choice": {
      const ends = node.options.map((option) => join(option, paths, looks));
      return {
        first: ends.flatMap(({ first }) => first),
        last: ends.flatMap(({ last }) => last),
        canBeEmpty: ends.some(({ canBeEmpty }) => canBeEmpty),
      };
    }
    case "sequence": {
      let before: Ends = { first: [], last: [], canBeEmpty: true };
      for (const part of node.parts) {
        const own = join(part, paths, looks);
        connect(before.last, own.first, paths);
        before = {
          first: before.canBeEmpty ? [...before.first, ...own.first] : before.first,
          last: own.canBeEmpty ? [...before.last, ...own.last] : own.last,
          canBeEmpty: before.canBeEmpty && own.canBeEmpty,
        };
      }
      return before;
    }
    case "repeat": {
      const { body, min, max } = node;
      const before = paths.positions.length;
      const ends = join(body, paths, looks);
      if (max > 1 && ends.canBeEmpty) throw new OddPattern("it repeats what may be empty");
      const size = paths.positions.length - before;
      if (max > 1 && min === max && before + size * max < mostPositions) {
        let { last } = ends;
        for (let count = 1; count < max; count += 1) {
          const next = join(body, paths, looks);
          connect(last, next.first, paths);
          last = next.last;
        }
        return { ...ends, last };
      }
      if (max > 1) connect(ends.last, ends.first, paths);
      return { ...ends, canBeEmpty: ends.canBeEmpty || min === 0 };
    }
    default:
      throw new OddPattern("it has a part that is not known");
  }
}

function connect(last: readonly number[], first: readonly number[], { edges }: Paths): void {
  for (const from of last)
    for (const to of first) edges[from]?.set(to, (edges[from].get(to) ?? 0) + 1);
}

function isAmbiguous({ edges, positions }: Paths, fits: readonly string[][]): boolean {
  const sets = fits.map((fitting) => new Set(fitting));
  const overlaps = sets.map((set) =>
    fits.map((others) => others.some((character) => set.has(character))),
  );
  const reach = edges.map((_, from) => reachableFrom(from, edges));
  let steps = 0;
  for (const [start, around] of reach.entries()) {
    if (!around.has(start)) continue;
    const isInLoop = (position: number): boolean =>
      around.has(position) && reach[position]?.has(start) === true;
    const seen = new Set<number>();
    const pairs: [number, number][] = [[start, start]];
    for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
      const [a, b] = pair;
      for (const [nextA, waysA] of edges[a] ?? []) {
        if (!isInLoop(nextA)) continue;
        if (a === b && waysA > 1) return true;
        for (const nextB of edges[b]?.keys() ?? []) {
          if ((steps += 1) > mostSteps) throw new OddPattern("it is too complicated");
          // At the start the two ways part; where they meet again they can go on to the start together.
          if (a === b && nextA >= nextB) continue;
          if (!isInLoop(nextB) || overlaps[nextA]?.[nextB] !== true) continue;
          if (nextA === nextB) return true;
          const key = nextA * positions.length + nextB;
          if (seen.has(key)) continue;
          seen.add(key);
          pairs.push([nextA, nextB]);
        }
      }
    }
  }
  return false;
}

function reachableFrom(from: number, edges: readonly Map<number, number>[]): Set<number> {
  const found = new Set<number>();
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const next of edges[at]?.keys() ?? [])
      if (!found.has(next)) {
        found.add(next);
        open.push(next);
      }
  return found;
}

/** Characters of every sort; what a pattern names itself is added. */
const samples = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...Array.from("\u00A0éßøŁЯяΩω中文あア한١१１ａ，。：·€™—“😀\u0301\u200B\u2028\uFFFC"),
];

/** The characters of each position, of those that are tried. */
function fitsOf(positions: readonly string[]): string[][] {
  const named = positions.flatMap((source) => Array.from(source).filter((one) => one > "\u007F"));
  const characters = [...new Set([...samples, ...named])];
  const known = new Map<string, string[]>();
  return positions.map((source) => {
    const fitting =
      known.get(source) ?? characters.filter((character) => oneCharacter(source).test(character));
    known.set(source, fitting);
    return fitting;
  });
}

function oneCharacter(source: string): RegExp {
  try {
    return new RegExp(`^${source}$`, "u");
  } catch {
    return new RegExp(`^${source}$`);
  }
}
