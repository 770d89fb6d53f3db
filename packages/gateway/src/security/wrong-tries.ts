const freeTries = 5;
const firstGapMs = 1000;
const longestGapMs = 30_000;
/** Whoever would wait longer is told to come back. */
const longestWaitMs = 3000;
const rememberedMs = 15 * 60 * 1000;
const mostAddresses = 1000;

interface Tries {
  count: number;
  /** When the next one may be looked at. */
  nextAt: number;
  lastAt: number;
}

export type Turn = { is: "now"; waitMs: number } | { is: "later"; retryAfterMs: number };

/**
 * Slows down who tries one token after another. Each try of an address counts when it begins, so that many at once gain
 * nothing; a right one clears it. Beyond the bound the address that was quiet for longest is forgotten.
 */
export class WrongTries {
  readonly #known = new Map<string, Tries>();

  turnOf(address: string, now: number): Turn {
    const last = this.#known.get(address);
    const { count, nextAt } =
      last === undefined || now - last.lastAt > rememberedMs ? { count: 0, nextAt: 0 } : last;
    const at = Math.max(now, nextAt);
    if (at - now > longestWaitMs) return { is: "later", retryAfterMs: at - now };
    // The latest stands at the end.
    this.#known.delete(address);
    this.#known.set(address, {
      count: count + 1,
      nextAt: at + gapAfter(count + 1),
      lastAt: at,
    });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= mostAddresses) break;
      this.#known.delete(oldest);
    }
    return { is: "now", waitMs: at - now };
  }

  clear(address: string): void {
    this.#known.delete(address);
  }
}

function gapAfter(tries: number): number {
  return tries < freeTries ? 0 : Math.min(longestGapMs, firstGapMs * 2 ** (tries - freeTries));
}
