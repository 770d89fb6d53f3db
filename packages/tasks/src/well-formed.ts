const loneSurrogate = /\p{Surrogate}/u;
const loneSurrogates = /\p{Surrogate}/gu;

/** Whether every surrogate has its other half. What is not so cannot be written as UTF-8. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}

export function toWellFormed(text: string): string {
  return loneSurrogate.test(text) ? text.replaceAll(loneSurrogates, "\u{FFFD}") : text;
}

/** JSON with every text and every name in it so. */
export function wellFormedJson<Value>(value: Value): Value {
  return wholeJson(value) as Value;
}

function wholeJson(value: unknown): unknown {
  if (typeof value === "string") return toWellFormed(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(wholeJson);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [toWellFormed(name), wholeJson(one)]),
  );
}

/** A piece that was cut out of a text, without the half of a pair that a cut has left at either end. */
export function wholeCharacters(piece: string): string {
  const start = isSecondHalf(piece.charCodeAt(0)) ? 1 : 0;
  const end = isFirstHalf(piece.charCodeAt(piece.length - 1)) ? piece.length - 1 : piece.length;
  return piece.slice(start, end);
}

const maxQuoted = 100;

/** Returns a value in quotes for a message, cut if it is long: it may come from a client and have megabytes. */
export function quoted(text: string): string {
  const cut = text.length > maxQuoted ? `${wholeCharacters(text.slice(0, maxQuoted))}…` : text;
  return `"${cut}"`;
}

/** Joins pairs that were cut between two deltas: half of one is held back until the other half comes. */
export class PairJoiner {
  #held = "";

  push(delta: string): string {
    const text = this.#held === "" ? delta : this.#held + delta;
    const halved = isFirstHalf(text.charCodeAt(text.length - 1));
    this.#held = halved ? text.slice(-1) : "";
    return toWellFormed(halved ? text.slice(0, -1) : text);
  }

  end(): string {
    const text = toWellFormed(this.#held);
    this.#held = "";
    return text;
  }
}

/** `text` in pieces of at most `length` units, none of which ends within a pair. */
export function* piecesOf(text: string, length: number): Generator<string> {
  let at = 0;
  while (at < text.length) {
    let end = Math.min(at + length, text.length);
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end -= 1;
    yield text.slice(at, end);
    at = end;
  }
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
