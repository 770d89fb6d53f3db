import { runSync } from "../event-loop.ts";
import {
  accept,
  buildAutomaton,
  PatternLimits,
  PatternTooLargeError,
  type Automaton,
} from "./automaton.ts";
import { CharacterClasses } from "./character-classes.ts";
import {
  parsePattern,
  UnsupportedPatternError,
  type Assertion,
  type PatternNode,
} from "./parse-pattern.ts";

/** Counts the cost of patterns in steps of roughly ten nanoseconds. */
export interface StepCounter {
  steps: number;
}

/** Search steps that take as long as one build step. */
const stepsPerBuildStep = 10;

/** Thrown if a search exceeds its limits of steps or memory. Depends on pattern and text, not on the machine. */
export class SearchTooComplexError extends Error {}

/** Limit for the steps of one search, of roughly ten nanoseconds each. Characters with a cached state are not counted. */
const maxSteps = 2_000_000;
/** Size of a state cache, in bytes, above which the next search starts with an empty one. */
const maxCacheSize = 1_000_000;
/** Maximum number of entries of a transition table, of two bytes each. */
const maxTableSize = 4 * 1024 * 1024;
/** State ids have 16 bits, one of which is set if a match starts. */
const maxStates = 0x7f_ff;
const charactersPerStep = 64 * 1024;
const noPage = new Uint16Array(0);

/**
 * A JavaScript regular expression that searches in time linear in the length of the text, for every pattern and text. It
 * finds the same matches as `RegExp`, but has no capture groups and no backreferences.
 *
 * A search reads the text twice. The first pass goes backward and records for each index which positions of the pattern
 * can be completed from there, as states of a lazily built DFA. The second pass goes forward from each start of a match and
 * takes the first edge that can be completed, so it never backtracks. It needs two bytes for each character of the text,
 * three if the pattern has assertions, and two or three more for each lookaround.
 */
export class LinearPattern {
  readonly #dfa: LazyDfa;
  /** Every match starts with this text. */
  readonly #prefix: string;
  /** True if the pattern matches the empty string. */
  readonly matchesEmpty: boolean;

  /**
   * `flags` may be `i`, `m`, `s` and `u`. Throws a SyntaxError for an invalid pattern, an UnsupportedPatternError for
   * backreferences and other flags, and a PatternTooLargeError. Adds the cost to `counter`.
   */
  constructor(pattern: string, flags: string, counter?: StepCounter) {
    void new RegExp(pattern, flags);
    if (/[^imsu]/.test(flags)) throw new UnsupportedPatternError(`unsupported flag in "${flags}"`);
    const node = parsePattern(pattern, flags);
    this.matchesEmpty = isNullable(node);
    this.#prefix = findLiteralPrefix(node);
    const limits = new PatternLimits();
    try {
      this.#dfa = new LazyDfa(node, { isUnicode: flags.includes("u"), isForward: false, limits });
    } finally {
      if (counter !== undefined) counter.steps += limits.steps * stepsPerBuildStep;
    }
  }

  /** False if the text certainly contains no match. Takes much less time than a search. */
  mayMatch(text: string): boolean {
    return text.includes(this.#prefix);
  }

  /** True if the text contains a match. Throws a SearchTooComplexError. Adds the cost to `counter`. */
  test(text: string, counter?: StepCounter): boolean {
    if (!this.mayMatch(text)) return false;
    const budget = { steps: maxSteps };
    try {
      return runSync(this.#dfa.search(text, budget)).hasMatch;
    } finally {
      if (counter !== undefined) counter.steps += maxSteps - budget.steps;
    }
  }

  /** Returns start and end of each non-empty match, in one flat array. Throws a SearchTooComplexError. */
  findAll(text: string): number[] {
    return runSync(this.findAllSteps(text));
  }

  /** Like `findAll`, in steps of a few milliseconds. Several searches may be interleaved. */
  *findAllSteps(text: string): Generator<void, number[]> {
    if (!this.mayMatch(text)) return [];
    const search = yield* this.#dfa.search(text);
    const spans: number[] = [];
    if (!search.hasMatch) return spans;
    let pauseAt = charactersPerStep;
    for (let index = 0; index <= text.length;) {
      if (index >= pauseAt) {
        pauseAt = index + charactersPerStep;
        yield;
      }
      const end = search.startsAt(index) ? yield* this.#dfa.findMatchEnd(search, index) : -1;
      if (end > index) {
        spans.push(index, end);
        index = end;
      } else index += this.#dfa.getCharacterLength(text, index);
    }
    return spans;
  }
}

/**
 * Compiles with the flag `u`, or without it if the pattern is only valid without it, such as `a]` or `\-`. Throws the same
 * errors as LinearPattern; does not drop `u` if that changes an escape: `\p{L}` would silently match the text "p{L}".
 */
export function compileLinearPattern(
  pattern: string,
  flags: string,
  counter?: StepCounter,
): LinearPattern {
  try {
    return new LinearPattern(pattern, `${flags}u`, counter);
  } catch (error) {
    if (!(error instanceof SyntaxError) || unicodeEscapePattern.test(pattern)) throw error;
    return new LinearPattern(pattern, flags, counter);
  }
}

const unicodeEscapePattern = /(?<!\\)(?:\\\\)*\\[pPu]\{/;

export { PatternTooLargeError, UnsupportedPatternError };

/** The positions of the pattern that can be completed from an index of the text. */
interface State {
  /** Odd if a match starts there. */
  readonly id: number;
  readonly positions: readonly number[];
  /** By position: 1 if `positions` contains it. */
  readonly membership: Uint8Array;
}

/**
 * The states built so far. Interleaved searches share a cache, which only grows. A search uses the same cache until its
 * end, since ids of states are only valid in their own cache.
 */
class StateCache {
  readonly states: State[] = [];
  readonly byKey = new Map<string, State>();
  /** By state and symbol: the id plus 1 of the state one character before; 0 if not computed yet. */
  table = new Uint16Array(0);
  /** Number of symbols for which a row of `table` has space. */
  stride = 16;
  /** Selected edges, by state, symbol and position. */
  readonly choices = new Map<number, number>();
  /** Approximate size in bytes. */
  size = 0;

  add(positions: readonly number[], membership: Uint8Array, isStart: boolean, key: string): State {
    if (this.states.length >= maxStates) throw new SearchTooComplexError("too many states");
    const state: State = { id: this.states.length * 2 + (isStart ? 1 : 0), positions, membership };
    this.states.push(state);
    this.byKey.set(key, state);
    this.size += membership.length + positions.length * 8 + 64;
    return state;
  }

  setTransition(fromId: number, symbol: number, toId: number): void {
    while (symbol >= this.stride) this.#resize(this.stride * 2);
    const index = (fromId >> 1) * this.stride + symbol;
    if (index >= this.table.length || (toId >> 1) * this.stride >= this.table.length)
      this.#resize(this.stride);
    this.table[index] = toId + 1;
  }

  #resize(stride: number): void {
    const size = stride * Math.max(16, this.states.length * 2);
    if (size > maxTableSize) throw new SearchTooComplexError("too many transitions");
    const table = new Uint16Array(size);
    const rows = this.table.length / this.stride;
    for (let row = 0; row < rows; row += 1)
      table.set(this.table.subarray(row * this.stride, (row + 1) * this.stride), row * stride);
    this.size += (size - this.table.length) * 2;
    this.table = table;
    this.stride = stride;
  }
}

/** One search of one text. */
class Search {
  readonly text: string;
  readonly cache: StateCache;
  /** Remaining steps of a search and its lookarounds. */
  readonly budget: { steps: number };
  /** By index: the assertions that hold there, as bits. Undefined if the pattern has none. */
  conditions: Uint8Array | undefined;
  /** By index: the id of its state. */
  readonly stateIds: Uint16Array;
  hasMatch = false;

  constructor(text: string, cache: StateCache, budget: { steps: number }) {
    this.text = text;
    this.cache = cache;
    this.budget = budget;
    this.stateIds = new Uint16Array(text.length + 1);
  }

  startsAt(index: number): boolean {
    return ((this.stateIds[index] ?? 0) & 1) === 1;
  }

  useSteps(steps: number): void {
    this.budget.steps -= steps;
    if (this.budget.steps < 0) throw new SearchTooComplexError("the search needs too many steps");
  }
}

interface DfaOptions {
  readonly isUnicode: boolean;
  /** Lookbehinds match their body from right to left, so that their first pass goes forward. */
  readonly isForward: boolean;
  readonly limits: PatternLimits;
}

class LazyDfa {
  readonly #automaton: Automaton;
  readonly #isUnicode: boolean;
  readonly #isForward: boolean;
  readonly #classes: CharacterClasses;
  /** By position: each preceding position followed by the conditions of the edge, in one flat array. */
  readonly #incomingEdges: number[][];
  /** The positions that can complete the match, in the same form. */
  readonly #acceptingEdges: number[] = [];
  /** By index of the assertion; undefined if the assertion is not a lookaround. */
  readonly #lookarounds: (LazyDfa | undefined)[];
  /** Number of combinations of assertions. */
  readonly #combinations: number;
  #cache = new StateCache();

  constructor(node: PatternNode, { isUnicode, isForward, limits }: DfaOptions) {
    const automaton = buildAutomaton(node, limits, isForward);
    this.#automaton = automaton;
    this.#isUnicode = isUnicode;
    this.#isForward = isForward;
    this.#classes = new CharacterClasses(automaton.sets);
    this.#combinations = 1 << automaton.assertions.length;
    this.#incomingEdges = automaton.edges.map(() => []);
    for (const [from, edges] of automaton.edges.entries())
      for (const { to, conditions } of edges)
        (to === accept ? this.#acceptingEdges : (this.#incomingEdges[to] ?? [])).push(
          from,
          conditions,
        );
    this.#lookarounds = automaton.assertions.map((assertion) =>
      assertion.kind === "look"
        ? new LazyDfa(assertion.body, { isUnicode, isForward: assertion.isBehind, limits })
        : undefined,
    );
  }

  /** Runs the first pass over the text. */
  *search(text: string, budget = { steps: maxSteps }): Generator<void, Search> {
    if (this.#cache.size > maxCacheSize) this.#cache = new StateCache();
    const search = new Search(text, this.#cache, budget);
    try {
      search.conditions = yield* this.#computeConditions(text, budget);
      let index = this.#isForward ? 0 : text.length;
      const end = text.length - index;
      search.stateIds[index] = this.#getStateBefore(
        search,
        [],
        -1,
        search.conditions?.[index] ?? 0,
      ).id;
      search.hasMatch = search.startsAt(index);
      while (index !== end) {
        const stop = this.#isForward
          ? Math.min(end, index + charactersPerStep)
          : Math.max(end, index - charactersPerStep);
        index = this.#scanText(search, index, stop);
        yield;
      }
    } catch (error) {
      this.#resetCache(search.cache);
      throw error;
    }
    return search;
  }

  getCharacterLength(text: string, index: number): number {
    return this.#isUnicode && (text.codePointAt(index) ?? 0) > 0xff_ff ? 2 : 1;
  }

  /** Runs the second pass for the match that starts at `start`. Returns the end of the match. */
  *findMatchEnd(search: Search, start: number): Generator<void, number> {
    const cursor = { index: start, position: this.#automaton.start };
    try {
      while (!this.#followMatch(search, cursor, cursor.index + charactersPerStep)) yield;
    } catch (error) {
      this.#resetCache(search.cache);
      throw error;
    }
    return cursor.index;
  }

  /** Continues the first pass from `start` to `stop`, or one unit further in a surrogate pair. Returns the index reached. */
  #scanText(search: Search, start: number, stop: number): number {
    const { text, cache, stateIds, conditions } = search;
    const isForward = this.#isForward;
    const isUnicode = this.#isUnicode;
    const combinations = this.#combinations;
    const classes = this.#classes;
    let index = start;
    let id = stateIds[index] ?? 0;
    let seenIds = 0; // combined, to find out whether any of them is odd
    let pageNumber = -1;
    let page: Uint16Array = noPage;
    let { table, stride } = cache;
    while (isForward ? index < stop : index > stop) {
      let code: number;
      if (isForward) {
        code = isUnicode ? (text.codePointAt(index) ?? 0) : text.charCodeAt(index);
        index += code > 0xff_ff ? 2 : 1;
      } else {
        index -= 1;
        code = text.charCodeAt(index);
        if (isUnicode && (code & 0xfc00) === 0xdc00 && index > 0) {
          const high = text.charCodeAt(index - 1);
          if ((high & 0xfc00) === 0xd800) {
            index -= 1;
            code = (high - 0xd800) * 0x400 + (code - 0xdc00) + 0x1_00_00;
          }
        }
      }
      if (code >> 8 !== pageNumber) {
        pageNumber = code >> 8;
        page = classes.getPage(pageNumber);
      }
      const cachedClass = page[code & 0xff] ?? 0;
      const characterClass = cachedClass === 0 ? classes.classify(code) : cachedClass - 1;
      const heldConditions = conditions === undefined ? 0 : (conditions[index] ?? 0);
      const symbol = characterClass * combinations + heldConditions;
      const cachedEntry = symbol < stride ? (table[(id >> 1) * stride + symbol] ?? 0) : 0;
      if (cachedEntry === 0) {
        const { positions = [] } = cache.states[id >> 1] ?? {};
        const state = this.#getStateBefore(search, positions, characterClass, heldConditions);
        cache.setTransition(id, symbol, state.id);
        ({ table, stride } = cache);
        ({ id } = state);
      } else id = cachedEntry - 1;
      stateIds[index] = id;
      seenIds |= id;
    }
    if ((seenIds & 1) === 1) search.hasMatch = true;
    return index;
  }

  /** Follows a match to its end, or to `stop`. True if the end is reached. */
  #followMatch(search: Search, cursor: { index: number; position: number }, stop: number): boolean {
    const { text, cache, stateIds, conditions } = search;
    const { edges } = this.#automaton;
    while (cursor.index < stop) {
      const { index, position } = cursor;
      const length = this.getCharacterLength(text, index);
      const nextState = cache.states[(stateIds[index + length] ?? 0) >> 1];
      const code = length === 2 ? (text.codePointAt(index) ?? 0) : text.charCodeAt(index);
      const characterClass = index < text.length ? this.#classes.classify(code) : -1;
      const heldConditions = conditions === undefined ? 0 : (conditions[index] ?? 0);
      const candidates = edges[position] ?? [];
      let nextPosition: number | undefined;
      if (candidates.length <= 8)
        nextPosition = this.#selectEdge(position, nextState, characterClass, heldConditions);
      else {
        const symbol = (characterClass + 1) * this.#combinations + heldConditions;
        const key = ((nextState?.id ?? 0) * maxTableSize + symbol) * edges.length + position;
        nextPosition = cache.choices.get(key);
        if (nextPosition === undefined) {
          nextPosition = this.#selectEdge(position, nextState, characterClass, heldConditions);
          search.useSteps(candidates.length);
          cache.choices.set(key, nextPosition);
          cache.size += 32;
        }
      }
      if (nextPosition === accept) return true;
      cursor.position = nextPosition;
      cursor.index = index + length;
    }
    return false;
  }

  #selectEdge(
    position: number,
    nextState: State | undefined,
    characterClass: number,
    heldConditions: number,
  ): number {
    for (const { to, conditions } of this.#automaton.edges[position] ?? []) {
      if ((conditions & heldConditions) !== conditions) continue;
      if (to === accept) return accept;
      if (
        characterClass >= 0 &&
        nextState?.membership[to] === 1 &&
        this.#accepts(to, characterClass)
      )
        return to;
    }
    throw new Error("internal error: the two passes of a search disagree");
  }

  /** Returns the state before a character, given its class and the conditions that hold. The class is -1 at the end of the text. */
  #getStateBefore(
    search: Search,
    followingPositions: readonly number[],
    characterClass: number,
    heldConditions: number,
  ): State {
    const { edges, start } = this.#automaton;
    const positions: number[] = [];
    const membership = new Uint8Array(edges.length);
    const add = (pairs: readonly number[]): void => {
      for (let index = 0; index < pairs.length; index += 2) {
        const [from = 0, conditions = 0] = [pairs[index], pairs[index + 1]];
        if ((conditions & heldConditions) !== conditions || membership[from] === 1) continue;
        membership[from] = 1;
        positions.push(from);
      }
      search.useSteps(pairs.length);
    };
    add(this.#acceptingEdges);
    for (const position of followingPositions)
      if (position !== start && this.#accepts(position, characterClass))
        add(this.#incomingEdges[position] ?? []);
    search.useSteps(followingPositions.length + membership.length / 8 + 32);
    const key = positions.toSorted((a, b) => a - b).join();
    return (
      search.cache.byKey.get(key) ??
      search.cache.add(positions, membership, membership[start] === 1, key)
    );
  }

  #accepts(position: number, characterClass: number): boolean {
    return this.#classes.accepts(characterClass, this.#automaton.setByPosition[position] ?? 0);
  }

  /** Returns which assertions hold at each index of the text, as bits. Undefined if the pattern has none. */
  *#computeConditions(
    text: string,
    budget: { steps: number },
  ): Generator<void, Uint8Array | undefined> {
    const { assertions } = this.#automaton;
    if (assertions.length === 0) return undefined;
    const conditions = new Uint8Array(text.length + 1);
    for (const [assertionIndex, assertion] of assertions.entries()) {
      const bit = 1 << assertionIndex;
      const lookaroundSearch = yield* (
        this.#lookarounds[assertionIndex]?.search(text, budget) ?? noLookaround()
      );
      const holds = createAssertionTest(assertion, text, lookaroundSearch);
      for (let start = 0; start <= text.length; start += charactersPerStep) {
        const end = Math.min(start + charactersPerStep, text.length + 1);
        for (let index = start; index < end; index += 1)
          if (holds(index)) conditions[index] = (conditions[index] ?? 0) | bit;
        yield;
      }
    }
    return conditions;
  }

  /** Discards the cache after a failed search. */
  #resetCache(cache: StateCache): void {
    if (this.#cache === cache) this.#cache = new StateCache();
  }
}

// eslint-disable-next-line require-yield -- stands in for a lookaround search, which yields
function* noLookaround(): Generator<void, undefined> {
  return undefined;
}

function createAssertionTest(
  assertion: Assertion,
  text: string,
  lookaround: Search | undefined,
): (index: number) => boolean {
  switch (assertion.kind) {
    case "text_start":
      return (index) => index === 0;
    case "text_end":
      return (index) => index === text.length;
    case "line_start":
      return (index) => index === 0 || isLineTerminator(text.charCodeAt(index - 1));
    case "line_end":
      return (index) => index === text.length || isLineTerminator(text.charCodeAt(index));
    case "word_boundary": {
      const foldsSpecialCases = assertion.flags === "iu";
      const isWord = (index: number): boolean =>
        isWordUnit(text.charCodeAt(index), foldsSpecialCases);
      return (index) => (isWord(index - 1) !== isWord(index)) !== assertion.isNegated;
    }
    case "look":
      return (index) => lookaround?.startsAt(index) !== assertion.isNegated;
    default:
      throw new UnsupportedPatternError("unknown assertion");
  }
}

function isLineTerminator(code: number): boolean {
  return code === 10 || code === 13 || code === 0x2028 || code === 0x2029;
}

/** True for characters of `\w`; with the flags `i` and `u` also those that fold to s or k. False for NaN, outside of the text. */
function isWordUnit(code: number, foldsSpecialCases: boolean): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    (foldsSpecialCases && (code === 0x017f || code === 0x212a))
  );
}

function isNullable(node: PatternNode): boolean {
  switch (node.kind) {
    case "character":
      return false;
    case "sequence":
      return node.parts.every(isNullable);
    case "choice":
      return node.options.some(isNullable);
    case "repeat":
      return node.min === 0 || isNullable(node.body);
    default:
      return true;
  }
}

function findLiteralPrefix(node: PatternNode): string {
  let prefix = "";
  for (const part of node.kind === "sequence" ? node.parts : [node]) {
    if (part.kind !== "character") break;
    const { source, flags } = part.set;
    const isLiteral = !flags.includes("i") && /^(?:[^\\.[]|\\[^\w])$/su.test(source);
    if (!isLiteral) break;
    prefix += source.replace(/^\\/, "");
  }
  return prefix;
}
