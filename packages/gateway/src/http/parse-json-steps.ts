import { describeJsonLimit, findExceededJsonLimit } from "@deltawire/wire";

/** Objects and lists down to this level are read member by member; what is deeper is parsed in one piece. */
const memberLevels = 5;
/** Characters that are read before others have a turn. */
const stepLength = 64 * 1024;
/** Shorter pieces cannot hold more values than may be parsed at once. */
const longestUnchecked = 500_000;

/**
 * Parses JSON in steps, for texts with so many values that `JSON.parse` would block the event loop. Gives the same value as
 * `JSON.parse`. Throws a SyntaxError for what is not JSON, and for a piece with more values than may be parsed at once.
 */
export function* parseJsonSteps(text: string): Generator<void, unknown> {
  const reader = new MemberReader(text);
  const value = yield* reader.readValue(0);
  reader.skipBlanks();
  if (reader.at < text.length) throw reader.unexpected();
  return value;
}

class MemberReader {
  readonly #text: string;
  at = 0;
  #lastStep = 0;

  constructor(text: string) {
    this.#text = text;
  }

  *readValue(level: number): Generator<void, unknown> {
    this.skipBlanks();
    const character = this.#text[this.at];
    if (level < memberLevels && character === "{") return yield* this.#readObject(level);
    if (level < memberLevels && character === "[") return yield* this.#readList(level);
    return this.#parsePiece();
  }

  *#readObject(level: number): Generator<void, Record<string, unknown>> {
    const object: Record<string, unknown> = {};
    this.at += 1;
    for (let isFirst = true; !this.#closes("}", isFirst); isFirst = false) {
      if (this.#text[this.at] !== '"') throw this.unexpected();
      const key = this.#parsePiece() as string;
      this.skipBlanks();
      if (this.#text[this.at] !== ":") throw this.unexpected();
      this.at += 1;
      const value = yield* this.#readMember(level);
      // An assignment would set the prototype.
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

  *#readList(level: number): Generator<void, unknown[]> {
    const list: unknown[] = [];
    this.at += 1;
    for (let isFirst = true; !this.#closes("]", isFirst); isFirst = false)
      list.push(yield* this.#readMember(level));
    return list;
  }

  *#readMember(level: number): Generator<void, unknown> {
    if (this.at - this.#lastStep > stepLength) {
      this.#lastStep = this.at;
      yield;
    }
    return yield* this.readValue(level + 1);
  }

  /** True behind the last member; else it stands before the next one. */
  #closes(bracket: "}" | "]", isFirst: boolean): boolean {
    this.skipBlanks();
    if (this.#text[this.at] === bracket) {
      this.at += 1;
      return true;
    }
    if (isFirst) return false;
    if (this.#text[this.at] !== ",") throw this.unexpected();
    this.at += 1;
    this.skipBlanks();
    return false;
  }

  #parsePiece(): unknown {
    const piece = this.#text.slice(this.at, this.#endOfValue());
    if (piece === "") throw this.unexpected();
    const exceeded = piece.length > longestUnchecked ? findExceededJsonLimit(piece) : undefined;
    if (exceeded !== undefined)
      throw new SyntaxError(`the value at position ${this.at} ${describeJsonLimit(exceeded)}`);
    const value: unknown = JSON.parse(piece);
    this.at += piece.length;
    return value;
  }

  #endOfValue(): number {
    const text = this.#text;
    const first = text.charCodeAt(this.at);
    if (first === quote) return this.#endOfString(this.at);
    if (first !== openBrace && first !== openBracket) {
      endOfScalar.lastIndex = this.at;
      const found = endOfScalar.exec(text);
      return found === null ? text.length : found.index;
    }
    let depth = 0;
    for (let at = this.at; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) at = this.#endOfString(at) - 1;
      else if (code === openBrace || code === openBracket) depth += 1;
      else if (code === closeBrace || code === closeBracket) {
        depth -= 1;
        if (depth === 0) return at + 1;
      }
    }
    return text.length;
  }

  #endOfString(from: number): number {
    const text = this.#text;
    for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
      let backslashes = 0;
      while (text.charCodeAt(at - backslashes - 1) === backslash) backslashes += 1;
      if (backslashes % 2 === 0) return at + 1;
    }
    return text.length;
  }

  skipBlanks(): void {
    while (isBlank(this.#text.charCodeAt(this.at))) this.at += 1;
  }

  unexpected(): SyntaxError {
    const found = this.#text[this.at];
    return new SyntaxError(
      found === undefined
        ? "unexpected end of JSON"
        : `unexpected ${JSON.stringify(found)} at position ${this.at}`,
    );
  }
}

const [quote, backslash] = [0x22, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const endOfScalar = /[\s,:[\]{}"]/g;

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
