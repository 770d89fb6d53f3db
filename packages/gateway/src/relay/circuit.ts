type State =
  | { is: "closed"; failures: number }
  | { is: "open"; until: number; waitMs: number }
  /** One request is on its way to find out; if nothing is heard of it by then, another one may. */
  | { is: "trying"; until: number; waitMs: number };

const failuresToOpen = 5;
const firstWaitMs = 5_000;
const longestWaitMs = 60_000;

/** Keeps requests from an upstream that is down, and lets one through now and then to see whether it is back. */
export class Circuit {
  #state: State = { is: "closed", failures: 0 };
  /** In milliseconds since 1970: when it answered last, and when it last did not. */
  lastGoodAt: number | undefined;
  lastBadAt: number | undefined;

  /** How many milliseconds the upstream is still left alone; undefined: it may be asked. */
  waitMs(now: number): number | undefined {
    if (this.#state.is === "closed" || now >= this.#state.until) return undefined;
    return this.#state.until - now;
  }

  /** A request goes, and how it fares will be told. */
  begin(now: number): void {
    if (this.#state.is === "closed") return;
    this.#state = { is: "trying", until: now + longestWaitMs, waitMs: this.#state.waitMs };
  }

  succeeded(now: number): void {
    this.lastGoodAt = now;
    this.#state = { is: "closed", failures: 0 };
  }

  failed(now: number): void {
    this.lastBadAt = now;
    const state = this.#state;
    if (state.is === "closed") {
      const failures = state.failures + 1;
      if (failures < failuresToOpen) this.#state = { is: "closed", failures };
      else this.#state = { is: "open", until: now + firstWaitMs, waitMs: firstWaitMs };
      return;
    }
    // Requests that were on their way when it opened say nothing new.
    if (state.is === "open" && now < state.until) return;
    const waitMs = Math.min(longestWaitMs, state.waitMs * 2);
    this.#state = { is: "open", until: now + waitMs, waitMs };
  }

  /** The request came to nothing that tells of the upstream: its client left, or it could not be made. */
  undecided(now: number): void {
    if (this.#state.is === "trying")
      this.#state = { is: "open", until: now, waitMs: this.#state.waitMs };
  }

  get state(): State["is"] {
    return this.#state.is;
  }
}
