import { isWholeWord } from "./word-boundaries.ts";
import type { PrivateSpan } from "./merge-spans.ts";

const shortKeyLength = 2;
const longKeyLength = 6;
const charactersPerStep = 128 * 1024;

interface KnownValue {
  kind: string;
  label: string;
  /** True if the value is only found as a complete word. */
  isWholeWordOnly: boolean;
}

/** Values with the same first characters. */
interface Bucket {
  /** Lengths of the values, longest first: one value may be the beginning of another. */
  lengths: number[];
  values: Map<string, KnownValue>;
}

/**
 * Finds known private values anywhere, even without the context that first identified them. There may be thousands of
 * values, so each position of the text is looked up by its first characters, then by the lengths that occur.
 */
export class KnownPrivateValues {
  /** A bit set over the first two characters of all values, hashed to 16 bits. Small because every masked chat has one. */
  readonly #starts = new Uint8Array(0x20_00);
  readonly #shortBuckets = new Map<string, Bucket>();
  readonly #longBuckets = new Map<string, Bucket>();

  add(value: string, knownValue: KnownValue): void {
    const isLong = value.length >= longKeyLength;
    const key = value.slice(0, isLong ? longKeyLength : shortKeyLength);
    const buckets = isLong ? this.#longBuckets : this.#shortBuckets;
    const bucket: Bucket = buckets.get(key) ?? { lengths: [], values: new Map() };
    buckets.set(key, bucket);
    bucket.values.set(value, knownValue);
    if (!bucket.lengths.includes(value.length)) {
      bucket.lengths.push(value.length);
      bucket.lengths.sort((a, b) => b - a);
    }
    const pairHash = hashPair(value.charCodeAt(0), value.charCodeAt(1));
    this.#starts[pairHash >> 3] = (this.#starts[pairHash >> 3] ?? 0) | (1 << (pairHash & 7));
  }

  *find(text: string, foundSpans: PrivateSpan[]): Generator<void> {
    for (let start = 0; start + 1 < text.length; start += charactersPerStep) {
      if (this.#longBuckets.size + this.#shortBuckets.size === 0) return;
      this.#findBetween(
        text,
        start,
        Math.min(start + charactersPerStep, text.length - 1),
        foundSpans,
      );
      yield;
    }
  }

  #findBetween(text: string, start: number, end: number, foundSpans: PrivateSpan[]): void {
    let firstCode = text.charCodeAt(start);
    for (let index = start; index < end; index += 1) {
      const secondCode = text.charCodeAt(index + 1);
      const pairHash = hashPair(firstCode, secondCode);
      if (((this.#starts[pairHash >> 3] ?? 0) >> (pairHash & 7)) & 1) {
        const match =
          findLongestAt(
            text,
            index,
            this.#longBuckets.get(text.slice(index, index + longKeyLength)),
          ) ??
          findLongestAt(
            text,
            index,
            this.#shortBuckets.get(text.slice(index, index + shortKeyLength)),
          );
        if (match !== undefined) foundSpans.push(match);
      }
      firstCode = secondCode;
    }
  }
}

function findLongestAt(
  text: string,
  start: number,
  bucket: Bucket | undefined,
): PrivateSpan | undefined {
  if (bucket === undefined) return undefined;
  for (const length of bucket.lengths) {
    const end = start + length;
    const knownValue = end <= text.length ? bucket.values.get(text.slice(start, end)) : undefined;
    if (knownValue === undefined || (knownValue.isWholeWordOnly && !isWholeWord(text, start, end)))
      continue;
    const { kind, label } = knownValue;
    return { start, end, kind, label };
  }
  return undefined;
}

function hashPair(first: number, second: number): number {
  return (first * 31 + second * 257) & 0xff_ff;
}
