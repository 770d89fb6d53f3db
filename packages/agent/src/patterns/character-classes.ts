import type { CharacterSet } from "./parse-pattern.ts";

const pageSize = 256;

/** Assigns characters to classes: characters of one class are in the same sets of a pattern. Each is classified once. */
export class CharacterClasses {
  readonly #tests: readonly ((character: string) => boolean)[];
  /** By character: its class plus 1; 0 if it is not classified yet. */
  readonly #pages: (Uint16Array | undefined)[] = [];
  readonly #classByKey = new Map<string, number>();
  /** By class: its key, with "1" for each set that contains its characters and "0" for the others. */
  readonly #keys: string[] = [];

  constructor(sets: readonly CharacterSet[]) {
    this.#tests = sets.map(createTest);
  }

  /** Returns the class of a code point or UTF-16 unit. */
  classify(code: number): number {
    const cachedEntry = this.getPage(code >> 8)[code & 0xff] ?? 0;
    return cachedEntry === 0 ? this.#classifyNew(code) : cachedEntry - 1;
  }

  /** Returns the cached classes of 256 consecutive characters: the class plus 1, or 0 if unknown. */
  getPage(number: number): Uint16Array {
    return (this.#pages[number] ??= new Uint16Array(pageSize));
  }

  /** True if the characters of a class are in a set. */
  accepts(characterClass: number, setIndex: number): boolean {
    return this.#keys[characterClass]?.charAt(setIndex) === "1";
  }

  #classifyNew(code: number): number {
    const character = String.fromCodePoint(code);
    const key = this.#tests.map((test) => (test(character) ? "1" : "0")).join("");
    let characterClass = this.#classByKey.get(key);
    if (characterClass === undefined) {
      characterClass = this.#keys.push(key) - 1;
      this.#classByKey.set(key, characterClass);
    }
    this.getPage(code >> 8)[code & 0xff] = characterClass + 1;
    return characterClass;
  }
}

function createTest({ source, flags }: CharacterSet): (character: string) => boolean {
  if (!flags.includes("i") && source.length === 1 && source !== ".")
    return (character) => character === source;
  const expression = new RegExp(`^(?:${source})$`, flags);
  return (character) => expression.test(character);
}
