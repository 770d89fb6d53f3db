import type { Outcome } from "./outcome.ts";

/** Servers send one or two. */
const maxInterimReplies = 100;

/**
 * Ends a request whose upstream sends interim replies (1xx) and no reply: undici's idle timer begins anew with each of
 * them. Both their number and the time since the first one are limited.
 */
export class InterimReplies {
  readonly #idleTimeoutMs: number;
  readonly #onLimit: (outcome: Extract<Outcome, { is: "unreachable" }>) => void;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onLimit` is called once, unless `stop` was called before. */
  constructor(
    idleTimeoutMs: number,
    onLimit: (outcome: Extract<Outcome, { is: "unreachable" }>) => void,
  ) {
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#onLimit = onLimit;
  }

  add(): void {
    this.#count += 1;
    this.#timer ??= setTimeout(() => this.#timeOut(), this.#idleTimeoutMs);
    if (this.#count !== maxInterimReplies + 1) return;
    this.stop();
    const cause = `it sent more than ${maxInterimReplies} interim replies (1xx) and no reply`;
    this.#onLimit({ is: "unreachable", timedOut: false, cause, connected: true, answered: true });
  }

  /** The reply has begun, or the request is over. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #timeOut(): void {
    const cause = `no reply within ${Math.round(this.#idleTimeoutMs / 1000)} s`;
    this.#onLimit({ is: "unreachable", timedOut: true, cause, connected: true });
  }
}
