import type { ModelError } from "../model.ts";

/** How long a model that cannot be asked is waited for. */
export interface ModelWaits {
  /** The first wait; each is twice the one before, up to the longest. */
  firstMs: number;
  longestMs: number;
  /** A server that asks to be left alone for longer is asked after this. */
  mostAskedMs: number;
  /** After this, counted from the first attempt, the task fails. A task that has fewer seconds ends with those. */
  inAllMs: number;
}

export const usualWaits: ModelWaits = {
  firstMs: 500,
  longestMs: 30_000,
  mostAskedMs: 300_000,
  inAllMs: 600_000,
};

/** Somebody who waits for an answer should see a server that is back within seconds. */
const longestWatchedMs = 5_000;

/** `seconds`: how long the model is asked again, where somebody waits for it; undefined: `waits` as they are. */
export function waitsWithin(waits: ModelWaits, seconds: number | undefined): ModelWaits {
  if (seconds === undefined) return waits;
  const longestMs = Math.min(waits.longestMs, longestWatchedMs);
  return { ...waits, longestMs, inAllMs: seconds * 1000 };
}

/** Replies that broke off, one after the other, are this many at the most. */
export const mostBroken = 3;

/** What kept a model from answering. */
export interface Failure {
  error: ModelError;
  /** It could not be asked, which time may mend; else a reply broke off, and another one may do so too. */
  isAway: boolean;
}

/** How long to wait before a model is asked again for the same round. */
export class Patience {
  readonly #waits: ModelWaits;
  #broken = 0;
  #refused = 0;
  #awaySince: number | undefined;

  constructor(waits: ModelWaits) {
    this.#waits = waits;
  }

  /** Undefined: it is not asked again. `began` is when the attempt that failed was made. */
  waitAfter({ error, isAway }: Failure, now: number, began = now): number | undefined {
    if (!error.retryable) return undefined;
    if (!isAway) return this.#waitAfterBroken(error);
    return this.#waitForIt(error.retryAfterMs ?? 0, now, began);
  }

  #waitForIt(asked: number, now: number, began: number): number | undefined {
    const { firstMs, longestMs, inAllMs } = this.#waits;
    const wait = Math.min(firstMs * 2 ** this.#refused, longestMs);
    this.#refused += 1;
    this.#awaySince ??= began;
    const left = this.#awaySince + inAllMs - now;
    // A server that asks for more time than there is would only refuse again.
    if (left <= 0 || this.#bounded(asked) > left) return undefined;
    return Math.max(Math.min(wait, left), this.#bounded(asked));
  }

  #waitAfterBroken({ retryAfterMs = 0 }: ModelError): number | undefined {
    // It did answer: if it is away after this, that is another time.
    this.#refused = 0;
    this.#awaySince = undefined;
    this.#broken += 1;
    if (this.#broken >= mostBroken) return undefined;
    return Math.max(this.#waits.firstMs * 2 ** (this.#broken - 1), this.#bounded(retryAfterMs));
  }

  #bounded(asked: number): number {
    return asked > 0 ? Math.min(asked, this.#waits.mostAskedMs) : 0;
  }
}
