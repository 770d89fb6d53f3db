import type { CharacterSet } from "./parse-pattern.ts";

const pageSize = 256;

/** Sorts characters into classes: characters of one class are in the same sets of a pattern. Each is looked at once. */
export class CharacterClasses {
  readonly #tests: readonly ((character: string) => boolean)[];
  /** By character: its class and 1; 0 if it has not been looked at. */
  readonly #pages: (Uint16Array | undefined)[] = [];
  readonly #byKey = new Map<string, number>();
  readonly #sets: string[] = [];

  constructor(sets: readonly CharacterSet[]) {
    this.#tests = sets.map(testOf);
  }

  /** The class of a code point, or of a UTF-16 unit. */
  of(code: number): number {
    const found = this.page(code >> 8)[code & 0xff] ?? 0;
    return found === 0 ? this.#sort(code) : found - 1;
  }

  /** The classes of 256 characters in a row, as `of` has noted them so far: the class and 1, or 0. */
  page(number: number): Uint16Array {
    return (this.#pages[number] ??= new Uint16Array(pageSize));
  }

  /** True if the characters of a class are in a set. */
  accepts(classOf: number, set: number): boolean {
    return this.#sets[classOf]?.charCodeAt(set) === 49;
  }

  #sort(code: number): number {
    const character = String.fromCodePoint(code);
    const key = this.#tests.map((test) => (test(character) ? "1" : "0")).join("");
    let found = this.#byKey.get(key);
    if (found === undefined) {
      found = this.#sets.push(key) - 1;
      this.#byKey.set(key, found);
    }
    this.page(code >> 8)[code & 0xff] = found + 1;
    return found;
  }
}

function testOf({ source, flags }: CharacterSet): (character: string) => boolean {
  if (!flags.includes("i") && source.length === 1 && source !== ".")
    return (character) => character === source;
  const expression = new RegExp(`^(?:${source})$`, flags);
  return (character) => expression.test(character);
}
