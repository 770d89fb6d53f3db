import { createHash } from "node:crypto";

/** Masking shorter text takes about as long as looking it up. */
const minCachedLength = 500;
const maxCachedCharacters = 4 * 1024 * 1024;
/** Size of the digest and entry of text without private values, in characters. */
const entryCharacters = 128;

interface CachedText {
  /** Revision of the placeholders with which the text was masked. */
  readonly revision: number;
  /** Undefined if masking did not change the text. */
  readonly masked: string | undefined;
}

/**
 * Caches masked text: every round of a task sends the complete history again. An entry is valid only until
 * the vault learns another value, which may occur anywhere in earlier text.
 */
export class MaskedTextCache {
  /** By digest, least recently used first. */
  readonly #entries = new Map<string, CachedText>();
  #characters = 0;

  /** Approximate memory use, in characters. */
  get characters(): number {
    return this.#characters;
  }

  /** Returns the cache key of the text, or undefined if it is too short to be cached. */
  createKey(text: string, syntax: "text" | "json"): string | undefined {
    if (text.length < minCachedLength) return undefined;
    // Not UTF-8: that encodes all lone surrogates identically.
    return createHash("sha256").update(syntax).update(text, "utf16le").digest("base64");
  }

  get(key: string, text: string, revision: number): string | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#delete(key, entry);
    if (entry.revision !== revision) return undefined;
    this.#add(key, entry);
    return entry.masked ?? text;
  }

  set(key: string, text: string, masked: string, revision: number): void {
    const previousEntry = this.#entries.get(key);
    if (previousEntry !== undefined) this.#delete(key, previousEntry);
    this.#add(key, { revision, masked: masked === text ? undefined : masked });
    for (const [oldest, entry] of this.#entries) {
      if (this.#characters <= maxCachedCharacters) break;
      this.#delete(oldest, entry);
    }
  }

  #add(key: string, entry: CachedText): void {
    this.#entries.set(key, entry);
    this.#characters += measureEntry(entry);
  }

  #delete(key: string, entry: CachedText): void {
    this.#entries.delete(key);
    this.#characters -= measureEntry(entry);
  }
}

function measureEntry({ masked }: CachedText): number {
  return entryCharacters + (masked?.length ?? 0);
}
