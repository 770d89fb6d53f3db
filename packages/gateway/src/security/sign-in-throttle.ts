/** The first attempts are not delayed. */
const freeAttempts = 5;
const initialDelayMs = 1000;
const maxDelayMs = 30_000;
/** Attempts that would have to wait longer are rejected. */
const maxWaitMs = 3000;
const retentionMs = 15 * 60 * 1000;
const maxAddresses = 1000;

interface AttemptRecord {
  count: number;
  /** Earliest time of the next attempt. */
  nextAt: number;
  lastAt: number;
}

export type ThrottleDecision =
  /** The attempt may start after `waitMs`. */
  { status: "allowed"; waitMs: number } | { status: "rejected"; retryAfterMs: number };

/**
 * Slows down guessing of tokens. An attempt counts when it starts, so that parallel attempts have no advantage; a valid
 * token clears the count. If there are too many addresses, the one with the oldest attempt is dropped.
 */
export class SignInThrottle {
  readonly #records = new Map<string, AttemptRecord>();

  /** Counts an attempt and returns whether it may start. `now`: in milliseconds. */
  recordAttempt(address: string, now: number): ThrottleDecision {
    const record = this.#records.get(address);
    const { count, nextAt } =
      record === undefined || now - record.lastAt > retentionMs ? { count: 0, nextAt: 0 } : record;
    const startsAt = Math.max(now, nextAt);
    const waitMs = startsAt - now;
    if (waitMs > maxWaitMs) return { status: "rejected", retryAfterMs: waitMs };
    // Keeps the map sorted by the time of the last attempt.
    this.#records.delete(address);
    this.#records.set(address, {
      count: count + 1,
      nextAt: startsAt + computeDelay(count + 1),
      lastAt: startsAt,
    });
    for (const oldest of this.#records.keys()) {
      if (this.#records.size <= maxAddresses) break;
      this.#records.delete(oldest);
    }
    return { status: "allowed", waitMs };
  }

  clear(address: string): void {
    this.#records.delete(address);
  }
}

function computeDelay(attempts: number): number {
  return attempts < freeAttempts
    ? 0
    : Math.min(maxDelayMs, initialDelayMs * 2 ** (attempts - freeAttempts));
}
