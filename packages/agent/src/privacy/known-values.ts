import { isWholeWord } from "./edges.ts";
import type { Span } from "./spans.ts";

const shortKey = 2;
const longKey = 6;
const charactersPerStep = 128 * 1024;

interface Known {
  kind: string;
  label: string;
  /** Found as a word of its own only. */
  isWord: boolean;
}

/** Values that begin alike. */
interface Bucket {
  /** The longest first: one value may begin with another. */
  lengths: number[];
  values: Map<string, Known>;
}

/**
 * Values that were found once are found everywhere, also where nothing around them tells what they are. There may be
 * thousands, so that each place of a text is looked up by its first characters, and then by the lengths that there are.
 */
export class KnownValues {
  /** Two first characters, folded into 16 bits: one bit for each, since every masked chat has its own. */
  readonly #starts = new Uint8Array(0x20_00);
  readonly #short = new Map<string, Bucket>();
  readonly #long = new Map<string, Bucket>();

  add(value: string, known: Known): void {
    const isLong = value.length >= longKey;
    const key = value.slice(0, isLong ? longKey : shortKey);
    const buckets = isLong ? this.#long : this.#short;
    const bucket: Bucket = buckets.get(key) ?? { lengths: [], values: new Map() };
    buckets.set(key, bucket);
    bucket.values.set(value, known);
    if (!bucket.lengths.includes(value.length)) {
      bucket.lengths.push(value.length);
      bucket.lengths.sort((a, b) => b - a);
    }
    const start = folded(value.charCodeAt(0), value.charCodeAt(1));
    this.#starts[start >> 3] = (this.#starts[start >> 3] ?? 0) | (1 << (start & 7));
  }

  *find(text: string, out: Span[]): Generator<void> {
    for (let from = 0; from + 1 < text.length; from += charactersPerStep) {
      if (this.#long.size + this.#short.size === 0) return;
      this.#findBetween(text, from, Math.min(from + charactersPerStep, text.length - 1), out);
      yield;
    }
  }

  #findBetween(text: string, from: number, to: number, out: Span[]): void {
    let first = text.charCodeAt(from);
    for (let at = from; at < to; at += 1) {
      const second = text.charCodeAt(at + 1);
      const start = folded(first, second);
      if (((this.#starts[start >> 3] ?? 0) >> (start & 7)) & 1) {
        const found =
          longestAt(text, at, this.#long.get(text.slice(at, at + longKey))) ??
          longestAt(text, at, this.#short.get(text.slice(at, at + shortKey)));
        if (found !== undefined) out.push(found);
      }
      first = second;
    }
  }
}

function longestAt(text: string, start: number, bucket: Bucket | undefined): Span | undefined {
  if (bucket === undefined) return undefined;
  for (const length of bucket.lengths) {
    const end = start + length;
    const known = end <= text.length ? bucket.values.get(text.slice(start, end)) : undefined;
    if (known === undefined || (known.isWord && !isWholeWord(text, start, end))) continue;
    const { kind, label } = known;
    return { start, end, kind, label };
  }
  return undefined;
}

function folded(first: number, second: number): number {
  return (first * 31 + second * 257) & 0xff_ff;
}
