import type { Assertion, CharacterSet, PatternNode } from "./parse-pattern.ts";

/** Where an edge leads when the pattern has matched. */
export const accept = -1;

/** A step to another position. All `conditions` (bits, by index of the assertion) must hold between the two characters. */
interface Edge {
  readonly to: number;
  readonly conditions: number;
}

/**
 * A pattern as a position automaton (Glushkov's, an NFA without empty steps): each of its characters is a position, and `edges` lists which positions may
 * follow, in the order in which a backtracking matcher would try them. The last position is the start; it has no character.
 */
export interface Automaton {
  readonly sets: readonly CharacterSet[];
  /** By position: index into `sets`. */
  readonly setOf: readonly number[];
  readonly edges: readonly (readonly Edge[])[];
  readonly assertions: readonly Assertion[];
  readonly start: number;
}

/** A pattern that is valid and too large to be used. */
export class PatternTooLargeError extends Error {}

const maxPositions = 5000;
const maxEdges = 100_000;
/** Each doubles the number of cases for a character. */
const maxAssertions = 6;
/** Each reads the complete text once more. */
const maxLookarounds = 6;
/** Of some hundred nanoseconds each: parts of the pattern, with repetitions written out, and steps between them. */
const maxBuildSteps = 200_000;

/** Counts the size of a pattern, with all lookarounds in it. Throws a PatternTooLargeError if there is too much. */
export class PatternLimits {
  /** What it has taken to build the automaton so far. */
  steps = 0;
  #positions = 0;
  #edges = 0;
  #lookarounds = 0;

  /** Parts that consume nothing cost time, too: nested repetitions of them double with each level. */
  addSteps(count: number): void {
    this.steps += count;
    if (this.steps > maxBuildSteps)
      throw new PatternTooLargeError("has too many parts with its repetitions written out");
  }

  addPosition(): void {
    this.#positions += 1;
    if (this.#positions > maxPositions)
      throw new PatternTooLargeError(
        `has more than ${maxPositions} characters with its repetitions written out; use smaller counts`,
      );
  }

  addEdges(count: number): void {
    this.#edges += count;
    if (this.#edges > maxEdges) throw new PatternTooLargeError("has too many alternatives");
  }

  addLookaround(): void {
    this.#lookarounds += 1;
    if (this.#lookarounds > maxLookarounds)
      throw new PatternTooLargeError(`has more than ${maxLookarounds} lookarounds`);
  }
}

/**
 * Builds the automaton of a pattern. Throws a PatternTooLargeError. `isReversed`: for a match from the right to the left, as
 * in a lookbehind.
 */
export function buildAutomaton(
  node: PatternNode,
  limits: PatternLimits,
  isReversed: boolean,
): Automaton {
  return new AutomatonBuilder(limits, isReversed).build(node);
}

/** What may come next, in order: a character, or whatever another list has, under conditions. */
type Step =
  | { readonly to: number; readonly conditions: number }
  | { readonly list: Step[]; readonly conditions: number };

class AutomatonBuilder {
  readonly #limits: PatternLimits;
  readonly #isReversed: boolean;
  readonly #sets: CharacterSet[] = [];
  readonly #setIndexes = new Map<string, number>();
  readonly #setOf: number[] = [];
  readonly #next: Step[][] = [];
  readonly #assertions: Assertion[] = [];
  readonly #assertionIndexes = new Map<unknown, number>();

  constructor(limits: PatternLimits, isReversed: boolean) {
    this.#limits = limits;
    this.#isReversed = isReversed;
  }

  build(node: PatternNode): Automaton {
    const first = this.#steps(node, [{ to: accept, conditions: 0 }]);
    const edges = [...this.#next, first].map((list) => {
      const found = this.#flattened(list);
      this.#limits.addEdges(found.length);
      return found;
    });
    return {
      sets: this.#sets,
      setOf: this.#setOf,
      edges,
      assertions: this.#assertions,
      start: edges.length - 1,
    };
  }

  /** The first steps of a node that `next` follows. */
  #steps(node: PatternNode, next: Step[]): Step[] {
    this.#limits.addSteps(1);
    switch (node.is) {
      case "empty":
        return next;
      case "character": {
        this.#limits.addPosition();
        const to = this.#setOf.push(this.#setIndex(node.set)) - 1;
        this.#next.push(next);
        return [{ to, conditions: 0 }];
      }
      case "assertion":
        return [{ list: next, conditions: 1 << this.#assertionIndex(node.assertion) }];
      case "sequence": {
        const parts = this.#isReversed ? node.parts : node.parts.toReversed();
        return parts.reduce((steps, part) => this.#steps(part, steps), next);
      }
      case "choice":
        return node.options.map((option) => ({ list: this.#steps(option, next), conditions: 0 }));
      case "repeat":
        return this.#repeat(node, next);
      default:
        throw new PatternTooLargeError("has a part that is not known");
    }
  }

  #repeat({ body, min, max, isLazy }: PatternNode & { is: "repeat" }, next: Step[]): Step[] {
    let steps = next;
    if (max === Infinity) {
      const loop: Step[] = [];
      loop.push(...this.#option(body, loop, next, isLazy));
      steps = loop;
    } else
      for (let count = min; count < max; count += 1) {
        const before = this.#setOf.length;
        steps = this.#option(body, steps, next, isLazy);
        if (this.#setOf.length === before) break; // it consumes nothing
      }
    for (let count = 0; count < min; count += 1) {
      const before = this.#setOf.length;
      steps = this.#steps(body, steps);
      if (this.#setOf.length === before) break;
    }
    return steps;
  }

  /** Once more, or not. As in `RegExp` a repetition that is not required must consume something. */
  #option(body: PatternNode, again: Step[], next: Step[], isLazy: boolean): Step[] {
    const end: Step[] = [];
    const once = this.#flattened(this.#steps(body, end), end);
    end.push({ list: again, conditions: 0 });
    const rest: Step = { list: next, conditions: 0 };
    return isLazy ? [rest, ...once] : [...once, rest];
  }

  #setIndex(set: CharacterSet): number {
    const key = `${set.flags}/${set.source}`;
    const known = this.#setIndexes.get(key);
    if (known !== undefined) return known;
    const index = this.#sets.push(set) - 1;
    this.#setIndexes.set(key, index);
    return index;
  }

  #assertionIndex(assertion: Assertion): number {
    const key = assertion.kind === "look" ? assertion : JSON.stringify(assertion);
    const known = this.#assertionIndexes.get(key);
    if (known !== undefined) return known;
    if (this.#assertions.length >= maxAssertions)
      throw new PatternTooLargeError(
        `has more than ${maxAssertions} different anchors, boundaries and lookarounds`,
      );
    if (assertion.kind === "look") this.#limits.addLookaround();
    const index = this.#assertions.push(assertion) - 1;
    this.#assertionIndexes.set(key, index);
    return index;
  }

  /**
   * All characters that a list leads to without passing through `end`, in its order. An edge is left out if one before it
   * leads there under no more conditions.
   */
  #flattened(list: Step[], end?: Step[]): Edge[] {
    const edges: Edge[] = [];
    const seen = new Map<Step[] | number, number[]>();
    const isCovered = (what: Step[] | number, conditions: number): boolean => {
      const known = seen.get(what);
      if (known === undefined) seen.set(what, [conditions]);
      else if (known.some((fewer) => (fewer & conditions) === fewer)) return true;
      else known.push(conditions);
      return false;
    };
    const open: { list: Step[]; at: number; conditions: number }[] = [
      { list, at: 0, conditions: 0 },
    ];
    if (list === end) return edges;
    isCovered(list, 0);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const step = top.list[top.at];
      if (step === undefined) {
        open.pop();
        continue;
      }
      top.at += 1;
      this.#limits.addSteps(1);
      const conditions = top.conditions | step.conditions;
      if ("list" in step) {
        if (step.list !== end && !isCovered(step.list, conditions))
          open.push({ list: step.list, at: 0, conditions });
      } else if (!isCovered(step.to, conditions)) edges.push({ to: step.to, conditions });
    }
    return edges;
  }
}
