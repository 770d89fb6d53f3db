import { createHash } from "node:crypto";

/** Shorter texts are masked about as fast as they are looked up. */
const shortestCached = 500;
const maxCharacters = 4 * 1024 * 1024;
/** Digest and entry of a text that contains nothing private, in characters. */
const entryCharacters = 128;

interface MaskedText {
  /** How many values were known. */
  readonly size: number;
  /** Undefined if it is the text itself. */
  readonly masked: string | undefined;
}

/**
 * A cache of masked texts: every round of a task sends the complete history again. An entry is valid only for the number of
 * values that were known when it was made: a value that is learned later may be in any earlier text.
 */
export class MaskedTexts {
  /** By digest. The one used last is last. */
  readonly #entries = new Map<string, MaskedText>();
  #characters = 0;

  /** About how much memory it takes. */
  get characters(): number {
    return this.#characters;
  }

  /** Undefined for a text that is too short to be cached. */
  keyOf(text: string, syntax: "text" | "json"): string | undefined {
    if (text.length < shortestCached) return undefined;
    // UTF-8 has one form for all halves of surrogate pairs.
    return createHash("sha256").update(syntax).update(text, "utf16le").digest("base64");
  }

  get(key: string, text: string, size: number): string | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#delete(key, entry);
    if (entry.size !== size) return undefined;
    this.#add(key, entry);
    return entry.masked ?? text;
  }

  set(key: string, text: string, masked: string, size: number): void {
    const before = this.#entries.get(key);
    if (before !== undefined) this.#delete(key, before);
    this.#add(key, { size, masked: masked === text ? undefined : masked });
    for (const [oldest, entry] of this.#entries) {
      if (this.#characters <= maxCharacters) break;
      this.#delete(oldest, entry);
    }
  }

  #add(key: string, entry: MaskedText): void {
    this.#entries.set(key, entry);
    this.#characters += weigh(entry);
  }

  #delete(key: string, entry: MaskedText): void {
    this.#entries.delete(key);
    this.#characters -= weigh(entry);
  }
}

function weigh({ masked }: MaskedText): number {
  return entryCharacters + (masked?.length ?? 0);
}
