import type { Assertion, CharacterSet, PatternNode } from "./parse-pattern.ts";

/** Target of an edge that completes the match. */
export const accept = -1;

/** A step to another position. All `conditions` (bits, by index of the assertion) must hold between the two characters. */
interface Edge {
  readonly to: number;
  readonly conditions: number;
}

/**
 * A pattern as a position automaton (Glushkov's, an NFA without empty transitions): each of its characters is a position,
 * and `edges` lists which positions may follow, in the order in which a backtracking matcher would try them. The last
 * position is the start; it has no character.
 */
export interface Automaton {
  readonly sets: readonly CharacterSet[];
  /** By position: index into `sets`. */
  readonly setByPosition: readonly number[];
  readonly edges: readonly (readonly Edge[])[];
  readonly assertions: readonly Assertion[];
  readonly start: number;
}

/** Thrown for a valid pattern that is too large. */
export class PatternTooLargeError extends Error {}

const maxPositions = 5000;
const maxEdges = 100_000;
/** Each assertion doubles the number of transitions per character. */
const maxAssertions = 6;
/** Each lookaround scans the complete text once more. */
const maxLookarounds = 6;
/** A step takes a few hundred nanoseconds. Counts parts of the pattern, with repetitions expanded, and edges between them. */
const maxBuildSteps = 200_000;

/** Tracks the size of a pattern, including its lookarounds. Throws a PatternTooLargeError if a limit is exceeded. */
export class PatternLimits {
  /** Steps used for building the automaton so far. */
  steps = 0;
  #positions = 0;
  #edges = 0;
  #lookarounds = 0;

  /** Also counts parts that consume nothing: nested repetitions of them double with each level. */
  addSteps(count: number): void {
    this.steps += count;
    if (this.steps > maxBuildSteps)
      throw new PatternTooLargeError("has too many parts after expanding its repetitions");
  }

  addPosition(): void {
    this.#positions += 1;
    if (this.#positions > maxPositions)
      throw new PatternTooLargeError(
        `has more than ${maxPositions} characters after expanding its repetitions; use smaller counts`,
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
 * Builds the automaton of a pattern. Throws a PatternTooLargeError. `isReversed` is for matching from right to left, as in
 * a lookbehind.
 */
export function buildAutomaton(
  node: PatternNode,
  limits: PatternLimits,
  isReversed: boolean,
): Automaton {
  return new AutomatonBuilder(limits, isReversed).build(node);
}

/** A possible next step, under conditions: a position, or the steps of another list. */
type Step =
  | { readonly to: number; readonly conditions: number }
  | { readonly list: Step[]; readonly conditions: number };

class AutomatonBuilder {
  readonly #limits: PatternLimits;
  readonly #isReversed: boolean;
  readonly #sets: CharacterSet[] = [];
  readonly #setIndexes = new Map<string, number>();
  readonly #setByPosition: number[] = [];
  readonly #followingSteps: Step[][] = [];
  readonly #assertions: Assertion[] = [];
  readonly #assertionIndexes = new Map<unknown, number>();

  constructor(limits: PatternLimits, isReversed: boolean) {
    this.#limits = limits;
    this.#isReversed = isReversed;
  }

  build(node: PatternNode): Automaton {
    const startSteps = this.#buildFirstSteps(node, [{ to: accept, conditions: 0 }]);
    const edges = [...this.#followingSteps, startSteps].map((list) => {
      const flattened = this.#flatten(list);
      this.#limits.addEdges(flattened.length);
      return flattened;
    });
    return {
      sets: this.#sets,
      setByPosition: this.#setByPosition,
      edges,
      assertions: this.#assertions,
      start: edges.length - 1,
    };
  }

  /** Returns the first steps of a node that is followed by `next`. */
  #buildFirstSteps(node: PatternNode, next: Step[]): Step[] {
    this.#limits.addSteps(1);
    switch (node.kind) {
      case "empty":
        return next;
      case "character": {
        this.#limits.addPosition();
        const to = this.#setByPosition.push(this.#addSet(node.set)) - 1;
        this.#followingSteps.push(next);
        return [{ to, conditions: 0 }];
      }
      case "assertion":
        return [{ list: next, conditions: 1 << this.#addAssertion(node.assertion) }];
      case "sequence": {
        const parts = this.#isReversed ? node.parts : node.parts.toReversed();
        return parts.reduce((steps, part) => this.#buildFirstSteps(part, steps), next);
      }
      case "choice":
        return node.options.map((option) => ({
          list: this.#buildFirstSteps(option, next),
          conditions: 0,
        }));
      case "repeat":
        return this.#buildRepeatSteps(node, next);
      default:
        throw new PatternTooLargeError("has an unknown part");
    }
  }

  #buildRepeatSteps(
    { body, min, max, isLazy }: PatternNode & { kind: "repeat" },
    next: Step[],
  ): Step[] {
    let steps = next;
    if (max === Infinity) {
      const loop: Step[] = [];
      loop.push(...this.#buildOptionalSteps(body, loop, next, isLazy));
      steps = loop;
    } else
      for (let count = min; count < max; count += 1) {
        const positionCount = this.#setByPosition.length;
        steps = this.#buildOptionalSteps(body, steps, next, isLazy);
        if (this.#setByPosition.length === positionCount) break; // `body` cannot consume a character
      }
    for (let count = 0; count < min; count += 1) {
      const positionCount = this.#setByPosition.length;
      steps = this.#buildFirstSteps(body, steps);
      if (this.#setByPosition.length === positionCount) break;
    }
    return steps;
  }

  /** Returns the steps of an optional repetition. As in `RegExp`, an optional repetition must consume something. */
  #buildOptionalSteps(
    body: PatternNode,
    repeatSteps: Step[],
    next: Step[],
    isLazy: boolean,
  ): Step[] {
    const end: Step[] = [];
    const bodySteps = this.#flatten(this.#buildFirstSteps(body, end), end);
    end.push({ list: repeatSteps, conditions: 0 });
    const skipStep: Step = { list: next, conditions: 0 };
    return isLazy ? [skipStep, ...bodySteps] : [...bodySteps, skipStep];
  }

  #addSet(set: CharacterSet): number {
    const key = `${set.flags}/${set.source}`;
    const knownIndex = this.#setIndexes.get(key);
    if (knownIndex !== undefined) return knownIndex;
    const index = this.#sets.push(set) - 1;
    this.#setIndexes.set(key, index);
    return index;
  }

  #addAssertion(assertion: Assertion): number {
    const key = assertion.kind === "look" ? assertion : JSON.stringify(assertion);
    const knownIndex = this.#assertionIndexes.get(key);
    if (knownIndex !== undefined) return knownIndex;
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
   * Returns edges to all positions reachable from a list without passing through `end`, in order. An edge is omitted if an
   * earlier one leads to the same position under the same or fewer conditions.
   */
  #flatten(list: Step[], end?: Step[]): Edge[] {
    const edges: Edge[] = [];
    const seen = new Map<Step[] | number, number[]>();
    /** Records a target. False if it was already recorded under the same or fewer conditions. */
    const tryAdd = (target: Step[] | number, conditions: number): boolean => {
      const recordedConditions = seen.get(target);
      if (recordedConditions === undefined) seen.set(target, [conditions]);
      else if (recordedConditions.some((fewer) => (fewer & conditions) === fewer)) return false;
      else recordedConditions.push(conditions);
      return true;
    };
    const stack: { list: Step[]; index: number; conditions: number }[] = [
      { list, index: 0, conditions: 0 },
    ];
    if (list === end) return edges;
    tryAdd(list, 0);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const step = top.list[top.index];
      if (step === undefined) {
        stack.pop();
        continue;
      }
      top.index += 1;
      this.#limits.addSteps(1);
      const conditions = top.conditions | step.conditions;
      if ("list" in step) {
        if (step.list !== end && tryAdd(step.list, conditions))
          stack.push({ list: step.list, index: 0, conditions });
      } else if (tryAdd(step.to, conditions)) edges.push({ to: step.to, conditions });
    }
    return edges;
  }
}
