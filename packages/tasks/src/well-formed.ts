const loneSurrogatePattern = /\p{Surrogate}/u;
const allLoneSurrogatesPattern = /\p{Surrogate}/gu;

/** True if the text has no lone surrogates, which cannot be encoded as UTF-8. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogatePattern.test(text);
}

/** Replaces lone surrogates with U+FFFD. */
export function toWellFormed(text: string): string {
  return loneSurrogatePattern.test(text)
    ? text.replaceAll(allLoneSurrogatesPattern, "\u{FFFD}")
    : text;
}

/** Replaces lone surrogates in all strings and keys of a JSON value. */
export function toWellFormedJson<Value>(value: Value): Value {
  return replaceLoneSurrogates(value) as Value;
}

function replaceLoneSurrogates(value: unknown): unknown {
  if (typeof value === "string") return toWellFormed(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(replaceLoneSurrogates);
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      toWellFormed(name),
      replaceLoneSurrogates(field),
    ]),
  );
}

/** Removes half a surrogate pair at either end of a string that was cut out of a longer one. */
export function trimSplitSurrogates(piece: string): string {
  const start = isLowSurrogate(piece.charCodeAt(0)) ? 1 : 0;
  const end = isHighSurrogate(piece.charCodeAt(piece.length - 1)) ? piece.length - 1 : piece.length;
  return piece.slice(start, end);
}

const maxQuotedLength = 100;

/** Quotes a value for a message. Long values, which clients may send, are truncated. */
export function quoteExcerpt(text: string): string {
  const excerpt =
    text.length > maxQuotedLength
      ? `${trimSplitSurrogates(text.slice(0, maxQuotedLength))}…`
      : text;
  return `"${excerpt}"`;
}

/** Joins surrogate pairs that are split between two deltas: the first half is held back until the second arrives. */
export class SurrogateJoiner {
  #pending = "";

  /** Returns the text that is complete so far. */
  push(delta: string): string {
    const text = this.#pending === "" ? delta : this.#pending + delta;
    const endsWithHalfPair = isHighSurrogate(text.charCodeAt(text.length - 1));
    this.#pending = endsWithHalfPair ? text.slice(-1) : "";
    return toWellFormed(endsWithHalfPair ? text.slice(0, -1) : text);
  }

  /** Returns the rest: U+FFFD for an unmatched first half. */
  end(): string {
    const text = toWellFormed(this.#pending);
    this.#pending = "";
    return text;
  }
}

/** Splits text into chunks of at most `length` UTF-16 units, without splitting surrogate pairs. */
export function* chunkText(text: string, length: number): Generator<string> {
  let position = 0;
  while (position < text.length) {
    let end = Math.min(position + length, text.length);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    yield text.slice(position, end);
    position = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
