import { describeJsonLimit, findExceededJsonLimit } from "@deltawire/wire";

/** Objects and arrays above this depth are read member by member; deeper values are parsed with `JSON.parse`. */
const maxSteppedDepth = 5;
/** Characters to read before the generator yields. */
const charactersPerStep = 64 * 1024;
/** Slices up to this length cannot contain more values than the limit. */
const maxUncheckedLength = 500_000;

/**
 * Parses JSON in steps, for input with so many values that `JSON.parse` would block the event loop. Returns the same value
 * as `JSON.parse`. Throws a SyntaxError for invalid JSON, and for a deep value with more values than may be parsed at once.
 */
export function* parseJsonSteps(text: string): Generator<void, unknown> {
  const reader = new SteppedJsonReader(text);
  const value = yield* reader.readValue(0);
  reader.skipWhitespace();
  if (reader.position < text.length) throw reader.createSyntaxError();
  return value;
}

class SteppedJsonReader {
  readonly #text: string;
  position = 0;
  #lastYieldPosition = 0;

  constructor(text: string) {
    this.#text = text;
  }

  *readValue(depth: number): Generator<void, unknown> {
    this.skipWhitespace();
    const character = this.#text[this.position];
    if (depth < maxSteppedDepth && character === "{") return yield* this.#readObject(depth);
    if (depth < maxSteppedDepth && character === "[") return yield* this.#readArray(depth);
    return this.#parseSlice();
  }

  *#readObject(depth: number): Generator<void, Record<string, unknown>> {
    const object: Record<string, unknown> = {};
    this.position += 1;
    for (let isFirst = true; !this.#consumeSeparator("}", isFirst); isFirst = false) {
      if (this.#text[this.position] !== '"') throw this.createSyntaxError();
      const key = this.#parseSlice() as string;
      this.skipWhitespace();
      if (this.#text[this.position] !== ":") throw this.createSyntaxError();
      this.position += 1;
      const value = yield* this.#readMember(depth);
      // A plain assignment would set the prototype.
      if (key === "__proto__")
        Object.defineProperty(object, key, {
          value,
          configurable: true,
          enumerable: true,
          writable: true,
        });
      else object[key] = value;
    }
    return object;
  }

  *#readArray(depth: number): Generator<void, unknown[]> {
    const array: unknown[] = [];
    this.position += 1;
    for (let isFirst = true; !this.#consumeSeparator("]", isFirst); isFirst = false)
      array.push(yield* this.#readMember(depth));
    return array;
  }

  *#readMember(depth: number): Generator<void, unknown> {
    if (this.position - this.#lastYieldPosition > charactersPerStep) {
      this.#lastYieldPosition = this.position;
      yield;
    }
    return yield* this.readValue(depth + 1);
  }

  /** Returns true after the last member. Otherwise moves to the start of the next member. */
  #consumeSeparator(bracket: "}" | "]", isFirst: boolean): boolean {
    this.skipWhitespace();
    if (this.#text[this.position] === bracket) {
      this.position += 1;
      return true;
    }
    if (isFirst) return false;
    if (this.#text[this.position] !== ",") throw this.createSyntaxError();
    this.position += 1;
    this.skipWhitespace();
    return false;
  }

  #parseSlice(): unknown {
    const slice = this.#text.slice(this.position, this.#findValueEnd());
    if (slice === "") throw this.createSyntaxError();
    const exceededLimit =
      slice.length > maxUncheckedLength ? findExceededJsonLimit(slice) : undefined;
    if (exceededLimit !== undefined)
      throw new SyntaxError(
        `the value at position ${this.position} ${describeJsonLimit(exceededLimit)}`,
      );
    const value: unknown = JSON.parse(slice);
    this.position += slice.length;
    return value;
  }

  #findValueEnd(): number {
    const text = this.#text;
    const first = text.charCodeAt(this.position);
    if (first === quote) return this.#findStringEnd(this.position);
    if (first !== openBrace && first !== openBracket) {
      scalarEndPattern.lastIndex = this.position;
      const match = scalarEndPattern.exec(text);
      return match === null ? text.length : match.index;
    }
    let depth = 0;
    for (let index = this.position; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code === quote) index = this.#findStringEnd(index) - 1;
      else if (code === openBrace || code === openBracket) depth += 1;
      else if (code === closeBrace || code === closeBracket) {
        depth -= 1;
        if (depth === 0) return index + 1;
      }
    }
    return text.length;
  }

  #findStringEnd(start: number): number {
    const text = this.#text;
    for (
      let index = text.indexOf('"', start + 1);
      index !== -1;
      index = text.indexOf('"', index + 1)
    ) {
      let backslashes = 0;
      while (text.charCodeAt(index - backslashes - 1) === backslash) backslashes += 1;
      if (backslashes % 2 === 0) return index + 1;
    }
    return text.length;
  }

  skipWhitespace(): void {
    while (isWhitespace(this.#text.charCodeAt(this.position))) this.position += 1;
  }

  createSyntaxError(): SyntaxError {
    const character = this.#text[this.position];
    return new SyntaxError(
      character === undefined
        ? "unexpected end of JSON"
        : `unexpected ${JSON.stringify(character)} at position ${this.position}`,
    );
  }
}

const [quote, backslash] = [0x22, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const scalarEndPattern = /[\s,:[\]{}"]/g;

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
