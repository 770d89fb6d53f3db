import { runAtOnce } from "../event-loop.ts";
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

/** Counts what patterns cost, in steps of some ten nanoseconds. */
export interface StepCounter {
  steps: number;
}

/** Steps of a search that one step of compiling takes as long as. */
const stepsPerBuildStep = 10;

/** A search that needed more steps or memory than it may take. It depends on pattern and texts, not on the machine. */
export class SearchTooComplexError extends Error {}

/** Steps of one search that build states, of some ten nanoseconds each. Characters whose state is cached are not counted. */
const maxSteps = 2_000_000;
/** Size of a state cache, in bytes, from which on the next search starts with an empty one. */
const maxCacheSize = 1_000_000;
/** Entries of a transition table, of two bytes each. */
const maxTableSize = 4 * 1024 * 1024;
/** Ids of states have 16 bits, one of which tells whether a match begins. */
const maxStates = 0x7f_ff;
const charactersPerStep = 64 * 1024;
const noPage = new Uint16Array(0);

/**
 * A regular expression of JavaScript that searches in time linear in the length of the text, whatever pattern and text
 * are. It finds what `RegExp` finds, except that it captures no groups and has no backreferences.
 *
 * A search reads the text twice. The first pass goes backwards and notes for each place which positions of the pattern
 * can be completed from there, as states of a DFA that is built lazily. The second walks forward from each place where a
 * match begins, and takes the first edge that can be completed: it never has to turn back. It needs two bytes for each
 * character of the text, three if the pattern has assertions, and two or three more for each lookaround.
 */
export class LinearPattern {
  readonly #dfa: LazyDfa;
  /** Every match begins with it. */
  readonly #prefix: string;
  /** True if it matches the empty text. */
  readonly canBeEmpty: boolean;

  /**
   * `flags`: any of `i`, `m`, `s` and `u`. Throws a SyntaxError for what is no pattern, an UnsupportedPatternError for
   * backreferences and other flags, and a PatternTooLargeError. Adds what it takes to `counter`.
   */
  constructor(pattern: string, flags: string, counter?: StepCounter) {
    void new RegExp(pattern, flags);
    if (/[^imsu]/.test(flags)) throw new UnsupportedPatternError(`one of the flags "${flags}"`);
    const node = parsePattern(pattern, flags);
    this.canBeEmpty = isNullable(node);
    this.#prefix = literalPrefix(node);
    const limits = new PatternLimits();
    try {
      this.#dfa = new LazyDfa(node, { isUnicode: flags.includes("u"), isForward: false, limits });
    } finally {
      if (counter !== undefined) counter.steps += limits.steps * stepsPerBuildStep;
    }
  }

  /** False if the text certainly contains no match. Cheap. */
  mayBeIn(text: string): boolean {
    return text.includes(this.#prefix);
  }

  /** True if the text contains a match. Throws a SearchTooComplexError. Adds what it takes to `counter`. */
  test(text: string, counter?: StepCounter): boolean {
    if (!this.mayBeIn(text)) return false;
    const budget = { steps: maxSteps };
    try {
      return runAtOnce(this.#dfa.search(text, budget)).hasMatch;
    } finally {
      if (counter !== undefined) counter.steps += maxSteps - budget.steps;
    }
  }

  /** Starts and ends of all matches that are not empty, in turn. Throws a SearchTooComplexError. */
  findAll(text: string): number[] {
    return runAtOnce(this.findAllSteps(text));
  }

  /** The same in steps of a few milliseconds. Several searches may take turns. */
  *findAllSteps(text: string): Generator<void, number[]> {
    if (!this.mayBeIn(text)) return [];
    const search = yield* this.#dfa.search(text);
    const spans: number[] = [];
    if (!search.hasMatch) return spans;
    let pauseAt = charactersPerStep;
    for (let at = 0; at <= text.length;) {
      if (at >= pauseAt) {
        pauseAt = at + charactersPerStep;
        yield;
      }
      const end = search.startsAt(at) ? yield* this.#dfa.matchEnd(search, at) : -1;
      if (end > at) {
        spans.push(at, end);
        at = end;
      } else at += this.#dfa.lengthAt(text, at);
    }
    return spans;
  }
}

/**
 * Compiles with the flag `u`, or without it where the pattern is valid only without, as `a]` or `\-`. Throws as LinearPattern
 * does; also for escapes that mean something else without `u`: `\p{L}` would silently match the text "p{L}".
 */
export function compileLinear(
  pattern: string,
  flags: string,
  counter?: StepCounter,
): LinearPattern {
  try {
    return new LinearPattern(pattern, `${flags}u`, counter);
  } catch (error) {
    if (!(error instanceof SyntaxError) || unicodeEscape.test(pattern)) throw error;
    return new LinearPattern(pattern, flags, counter);
  }
}

const unicodeEscape = /(?<!\\)(?:\\\\)*\\[pPu]\{/;

export { PatternTooLargeError, UnsupportedPatternError };

/** Positions of the pattern that can be completed from a place of the text. */
interface State {
  /** Odd if a match begins there. */
  readonly id: number;
  readonly positions: readonly number[];
  readonly has: Uint8Array;
}

/**
 * The states that were built so far. Searches that take turns share one: it only grows. A search that started with a cache
 * uses it to its end, since its ids mean nothing in another.
 */
class StateCache {
  readonly states: State[] = [];
  readonly byKey = new Map<string, State>();
  /** By state and symbol: the id and 1 of the state one character before; 0 if it is not known yet. */
  table = new Uint16Array(0);
  stride = 16;
  readonly choices = new Map<number, number>();
  /** In bytes, about. */
  size = 0;

  add(positions: readonly number[], has: Uint8Array, isStart: boolean, key: string): State {
    if (this.states.length >= maxStates) throw new SearchTooComplexError("too many states");
    const state: State = { id: this.states.length * 2 + (isStart ? 1 : 0), positions, has };
    this.states.push(state);
    this.byKey.set(key, state);
    this.size += has.length + positions.length * 8 + 64;
    return state;
  }

  setTransition(from: number, symbol: number, to: number): void {
    while (symbol >= this.stride) this.#resize(this.stride * 2);
    const at = (from >> 1) * this.stride + symbol;
    if (at >= this.table.length || (to >> 1) * this.stride >= this.table.length)
      this.#resize(this.stride);
    this.table[at] = to + 1;
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
  /** Steps that are left, for a search and those of its lookarounds. */
  readonly budget: { steps: number };
  /** By place: which assertions hold there, as bits. Undefined if the pattern has none. */
  conditions: Uint8Array | undefined;
  /** By place: the id of its state. */
  readonly stateIds: Uint16Array;
  hasMatch = false;

  constructor(text: string, cache: StateCache, budget: { steps: number }) {
    this.text = text;
    this.cache = cache;
    this.budget = budget;
    this.stateIds = new Uint16Array(text.length + 1);
  }

  startsAt(at: number): boolean {
    return ((this.stateIds[at] ?? 0) & 1) === 1;
  }

  count(steps: number): void {
    this.budget.steps -= steps;
    if (this.budget.steps < 0) throw new SearchTooComplexError("the search needs too many steps");
  }
}

interface DfaOptions {
  readonly isUnicode: boolean;
  /** Lookbehinds read their body from the right to the left, so that their first pass goes forward. */
  readonly isForward: boolean;
  readonly limits: PatternLimits;
}

class LazyDfa {
  readonly #automaton: Automaton;
  readonly #isUnicode: boolean;
  readonly #isForward: boolean;
  readonly #classes: CharacterClasses;
  /** By position: the positions before it, each with the conditions of the edge, in turn. */
  readonly #previous: number[][];
  readonly #accepting: number[] = [];
  /** By index of the assertion, for those that are lookarounds. */
  readonly #lookarounds: (LazyDfa | undefined)[];
  /** How many combinations of assertions there are. */
  readonly #combinations: number;
  #cache = new StateCache();

  constructor(node: PatternNode, { isUnicode, isForward, limits }: DfaOptions) {
    const automaton = buildAutomaton(node, limits, isForward);
    this.#automaton = automaton;
    this.#isUnicode = isUnicode;
    this.#isForward = isForward;
    this.#classes = new CharacterClasses(automaton.sets);
    this.#combinations = 1 << automaton.assertions.length;
    this.#previous = automaton.edges.map(() => []);
    for (const [from, edges] of automaton.edges.entries())
      for (const { to, conditions } of edges)
        (to === accept ? this.#accepting : (this.#previous[to] ?? [])).push(from, conditions);
    this.#lookarounds = automaton.assertions.map((one) =>
      one.kind === "look"
        ? new LazyDfa(one.body, { isUnicode, isForward: one.isBehind, limits })
        : undefined,
    );
  }

  /** The first pass over a text. */
  *search(text: string, budget = { steps: maxSteps }): Generator<void, Search> {
    if (this.#cache.size > maxCacheSize) this.#cache = new StateCache();
    const search = new Search(text, this.#cache, budget);
    try {
      search.conditions = yield* this.#conditionsOf(text, budget);
      let at = this.#isForward ? 0 : text.length;
      const end = text.length - at;
      search.stateIds[at] = this.#stateBefore(search, [], -1, search.conditions?.[at] ?? 0).id;
      search.hasMatch = search.startsAt(at);
      while (at !== end) {
        const stop = this.#isForward
          ? Math.min(end, at + charactersPerStep)
          : Math.max(end, at - charactersPerStep);
        at = this.#scan(search, at, stop);
        yield;
      }
    } catch (error) {
      this.#drop(search.cache);
      throw error;
    }
    return search;
  }

  lengthAt(text: string, at: number): number {
    return this.#isUnicode && (text.codePointAt(at) ?? 0) > 0xff_ff ? 2 : 1;
  }

  /** The second pass, of one match: where it ends. */
  *matchEnd(search: Search, from: number): Generator<void, number> {
    const walk = { at: from, position: this.#automaton.start };
    try {
      while (!this.#walk(search, walk, walk.at + charactersPerStep)) yield;
    } catch (error) {
      this.#drop(search.cache);
      throw error;
    }
    return walk.at;
  }

  /** Reads on to `stop` or the character behind it. Returns where it is then. */
  #scan(search: Search, from: number, stop: number): number {
    const { text, cache, stateIds, conditions } = search;
    const isForward = this.#isForward;
    const isUnicode = this.#isUnicode;
    const combinations = this.#combinations;
    const classes = this.#classes;
    let at = from;
    let id = stateIds[at] ?? 0;
    let seen = 0;
    let pageNumber = -1;
    let page: Uint16Array = noPage;
    let { table, stride } = cache;
    while (isForward ? at < stop : at > stop) {
      let code: number;
      if (isForward) {
        code = isUnicode ? (text.codePointAt(at) ?? 0) : text.charCodeAt(at);
        at += code > 0xff_ff ? 2 : 1;
      } else {
        at -= 1;
        code = text.charCodeAt(at);
        if (isUnicode && (code & 0xfc00) === 0xdc00 && at > 0) {
          const high = text.charCodeAt(at - 1);
          if ((high & 0xfc00) === 0xd800) {
            at -= 1;
            code = (high - 0xd800) * 0x400 + (code - 0xdc00) + 0x1_00_00;
          }
        }
      }
      if (code >> 8 !== pageNumber) {
        pageNumber = code >> 8;
        page = classes.page(pageNumber);
      }
      const known = page[code & 0xff] ?? 0;
      const classOf = known === 0 ? classes.of(code) : known - 1;
      const holding = conditions === undefined ? 0 : (conditions[at] ?? 0);
      const symbol = classOf * combinations + holding;
      const before = symbol < stride ? (table[(id >> 1) * stride + symbol] ?? 0) : 0;
      if (before === 0) {
        const { positions = [] } = cache.states[id >> 1] ?? {};
        const state = this.#stateBefore(search, positions, classOf, holding);
        cache.setTransition(id, symbol, state.id);
        ({ table, stride } = cache);
        ({ id } = state);
      } else id = before - 1;
      stateIds[at] = id;
      seen |= id;
    }
    if ((seen & 1) === 1) search.hasMatch = true;
    return at;
  }

  /** Follows a match to its end, or to `stop`. True if the end is reached. */
  #walk(search: Search, walk: { at: number; position: number }, stop: number): boolean {
    const { text, cache, stateIds, conditions } = search;
    const { edges } = this.#automaton;
    while (walk.at < stop) {
      const { at, position } = walk;
      const length = this.lengthAt(text, at);
      const next = cache.states[(stateIds[at + length] ?? 0) >> 1];
      const code = length === 2 ? (text.codePointAt(at) ?? 0) : text.charCodeAt(at);
      const classOf = at < text.length ? this.#classes.of(code) : -1;
      const holding = conditions === undefined ? 0 : (conditions[at] ?? 0);
      const options = edges[position] ?? [];
      let to: number | undefined;
      if (options.length <= 8) to = this.#firstEdge(position, next, classOf, holding);
      else {
        const symbol = (classOf + 1) * this.#combinations + holding;
        const key = ((next?.id ?? 0) * maxTableSize + symbol) * edges.length + position;
        to = cache.choices.get(key);
        if (to === undefined) {
          to = this.#firstEdge(position, next, classOf, holding);
          search.count(options.length);
          cache.choices.set(key, to);
          cache.size += 32;
        }
      }
      if (to === accept) return true;
      walk.position = to;
      walk.at = at + length;
    }
    return false;
  }

  #firstEdge(position: number, next: State | undefined, classOf: number, holding: number): number {
    for (const { to, conditions } of this.#automaton.edges[position] ?? []) {
      if ((conditions & holding) !== conditions) continue;
      if (to === accept) return accept;
      if (classOf >= 0 && next?.has[to] === 1 && this.#accepts(to, classOf)) return to;
    }
    throw new Error("the two passes of a search disagree");
  }

  /** The state before a character of a class, where the conditions `holding` hold. At the end of the text: no class. */
  #stateBefore(search: Search, after: readonly number[], classOf: number, holding: number): State {
    const { edges, start } = this.#automaton;
    const positions: number[] = [];
    const has = new Uint8Array(edges.length);
    const add = (pairs: readonly number[]): void => {
      for (let at = 0; at < pairs.length; at += 2) {
        const [from = 0, conditions = 0] = [pairs[at], pairs[at + 1]];
        if ((conditions & holding) !== conditions || has[from] === 1) continue;
        has[from] = 1;
        positions.push(from);
      }
      search.count(pairs.length);
    };
    add(this.#accepting);
    for (const position of after)
      if (position !== start && this.#accepts(position, classOf))
        add(this.#previous[position] ?? []);
    search.count(after.length + has.length / 8 + 32);
    const key = positions.toSorted((a, b) => a - b).join();
    return search.cache.byKey.get(key) ?? search.cache.add(positions, has, has[start] === 1, key);
  }

  #accepts(position: number, classOf: number): boolean {
    return this.#classes.accepts(classOf, this.#automaton.setOf[position] ?? 0);
  }

  /** Which assertions hold at each place of a text, as bits. Undefined if there are none. */
  *#conditionsOf(text: string, budget: { steps: number }): Generator<void, Uint8Array | undefined> {
    const { assertions } = this.#automaton;
    if (assertions.length === 0) return undefined;
    const conditions = new Uint8Array(text.length + 1);
    for (const [index, one] of assertions.entries()) {
      const bit = 1 << index;
      const found = yield* this.#lookarounds[index]?.search(text, budget) ?? noLookaround();
      const holds = assertionTest(one, text, found);
      for (let from = 0; from <= text.length; from += charactersPerStep) {
        const end = Math.min(from + charactersPerStep, text.length + 1);
        for (let at = from; at < end; at += 1)
          if (holds(at)) conditions[at] = (conditions[at] ?? 0) | bit;
        yield;
      }
    }
    return conditions;
  }

  /** After a search that needed too much: the next one starts anew. */
  #drop(cache: StateCache): void {
    if (this.#cache === cache) this.#cache = new StateCache();
  }
}

// eslint-disable-next-line require-yield -- beside lookarounds, which yield
function* noLookaround(): Generator<void, undefined> {
  return undefined;
}

function assertionTest(
  one: Assertion,
  text: string,
  lookaround: Search | undefined,
): (at: number) => boolean {
  switch (one.kind) {
    case "text start":
      return (at) => at === 0;
    case "text end":
      return (at) => at === text.length;
    case "line start":
      return (at) => at === 0 || isLineEnd(text.charCodeAt(at - 1));
    case "line end":
      return (at) => at === text.length || isLineEnd(text.charCodeAt(at));
    case "word boundary": {
      const isOdd = one.flags === "iu";
      const isWord = (at: number): boolean => isWordUnit(text.charCodeAt(at), isOdd);
      return (at) => (isWord(at - 1) !== isWord(at)) !== one.isNegated;
    }
    case "look":
      return (at) => lookaround?.startsAt(at) !== one.isNegated;
    default:
      throw new UnsupportedPatternError("an assertion that is not known");
  }
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13 || code === 0x2028 || code === 0x2029;
}

/** As `\w` has it; with the flags `i` and `u` also what folds to an s or a k. `NaN`, outside of a text, is none. */
function isWordUnit(code: number, isOdd: boolean): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    (isOdd && (code === 0x017f || code === 0x212a))
  );
}

function isNullable(node: PatternNode): boolean {
  switch (node.is) {
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

function literalPrefix(node: PatternNode): string {
  let prefix = "";
  for (const part of node.is === "sequence" ? node.parts : [node]) {
    if (part.is !== "character") break;
    const { source, flags } = part.set;
    const isLiteral = !flags.includes("i") && /^(?:[^\\.[]|\\[^\w])$/su.test(source);
    if (!isLiteral) break;
    prefix += source.replace(/^\\/, "");
  }
  return prefix;
}
