type State =
  | { is: "closed"; failures: number }
  | { is: "open"; until: number; waitMs: number }
  /** One request is on its way to find out. */
  | { is: "trying"; waitMs: number };

const failuresToOpen = 5;
const firstWaitMs = 5_000;
const longestWaitMs = 60_000;

/** Keeps requests from an upstream that is down, and lets one through now and then to see whether it is back. */
export class Circuit {
  #state: State = { is: "closed", failures: 0 };

  /** Whether a request may go; undefined if so, else how many milliseconds are left. */
  refusal(now: number): number | undefined {
    const state = this.#state;
    if (state.is === "closed") return undefined;
    if (state.is === "trying") return state.waitMs;
    if (now < state.until) return state.until - now;
    this.#state = { is: "trying", waitMs: state.waitMs };
    return undefined;
  }

  succeeded(): void {
    this.#state = { is: "closed", failures: 0 };
  }

  failed(now: number): void {
    const state = this.#state;
    if (state.is === "closed") {
      const failures = state.failures + 1;
      if (failures < failuresToOpen) this.#state = { is: "closed", failures };
      else this.#state = { is: "open", until: now + firstWaitMs, waitMs: firstWaitMs };
      return;
    }
    if (state.is === "open") return;
    const waitMs = Math.min(longestWaitMs, state.waitMs * 2);
    this.#state = { is: "open", until: now + waitMs, waitMs };
  }

  /** The request that was to find out came to nothing: its client left, or the upstream refused it for its content. */
  undecided(now: number): void {
    if (this.#state.is === "trying")
      this.#state = { is: "open", until: now, waitMs: this.#state.waitMs };
  }

  get state(): State["is"] {
    return this.#state.is;
  }
}
