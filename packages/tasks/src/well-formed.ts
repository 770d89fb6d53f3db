const loneSurrogate = /\p{Surrogate}/u;
const loneSurrogates = /\p{Surrogate}/gu;

/** Whether every surrogate has its other half. What is not so cannot be written as UTF-8. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}

export function toWellFormed(text: string): string {
  return loneSurrogate.test(text) ? text.replaceAll(loneSurrogates, "\u{FFFD}") : text;
}

/** Joins pairs that were cut between two deltas: half of one is held back until the other half comes. */
export class PairJoiner {
  #held = "";

  push(delta: string): string {
    const text = this.#held === "" ? delta : this.#held + delta;
    const last = text.charCodeAt(text.length - 1);
    const halved = last >= 0xd800 && last <= 0xdbff;
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
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    yield text.slice(at, end);
    at = end;
  }
}
