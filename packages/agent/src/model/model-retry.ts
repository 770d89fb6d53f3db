import type { ModelError } from "../model.ts";

/** How long requests to an unavailable model are retried. */
export interface ModelRetryPolicy {
  /** The first delay. Each further delay is twice as long, up to `maxDelayMs`. */
  initialDelayMs: number;
  maxDelayMs: number;
  /** Upper limit for the delay that a server requests. */
  maxRetryAfterMs: number;
  /** Counted from the first attempt; after this the task fails. The time limit of the task applies too. */
  maxElapsedMs: number;
}

export const defaultRetryPolicy: ModelRetryPolicy = {
  initialDelayMs: 500,
  maxDelayMs: 30_000,
  maxRetryAfterMs: 300_000,
  maxElapsedMs: 600_000,
};

/** Upper limit for delays while a user waits, so that the answer starts within seconds after the server is back. */
const maxInteractiveDelayMs = 5_000;

/** Limits the policy to `seconds` of retries, for answers that a user waits for. Undefined: returns the policy unchanged. */
export function limitRetryPolicy(
  policy: ModelRetryPolicy,
  seconds: number | undefined,
): ModelRetryPolicy {
  if (seconds === undefined) return policy;
  const maxDelayMs = Math.min(policy.maxDelayMs, maxInteractiveDelayMs);
  return { ...policy, maxDelayMs, maxElapsedMs: seconds * 1000 };
}

/** After this many incomplete replies in one round, the task fails. */
export const maxTruncatedReplies = 3;

/** Why a model did not complete its reply. */
export interface ModelFailure {
  error: ModelError;
  /** True if the model did not reply at all, which may pass with time. False if a reply was incomplete. */
  isUnavailable: boolean;
}

/** Computes the delays between the attempts of one round. */
export class ModelBackoff {
  readonly #policy: ModelRetryPolicy;
  #truncatedCount = 0;
  #unavailableCount = 0;
  #unavailableSince: number | undefined;

  constructor(policy: ModelRetryPolicy) {
    this.#policy = policy;
  }

  /** Returns the delay in milliseconds, or undefined if the round fails. `startedAt` is when the failed attempt was made. */
  nextDelay(
    { error, isUnavailable }: ModelFailure,
    now: number,
    startedAt = now,
  ): number | undefined {
    if (!error.retryable) return undefined;
    if (!isUnavailable) return this.#delayAfterTruncation(error);
    return this.#delayWhileUnavailable(error.retryAfterMs ?? 0, now, startedAt);
  }

  #delayWhileUnavailable(requestedMs: number, now: number, startedAt: number): number | undefined {
    const { initialDelayMs, maxDelayMs, maxElapsedMs } = this.#policy;
    const delayMs = Math.min(initialDelayMs * 2 ** this.#unavailableCount, maxDelayMs);
    this.#unavailableCount += 1;
    this.#unavailableSince ??= startedAt;
    const remainingMs = this.#unavailableSince + maxElapsedMs - now;
    // If the server requests more time than remains, the next attempt would be rejected too.
    if (remainingMs <= 0 || this.#clampRetryAfter(requestedMs) > remainingMs) return undefined;
    return Math.max(Math.min(delayMs, remainingMs), this.#clampRetryAfter(requestedMs));
  }

  #delayAfterTruncation({ retryAfterMs = 0 }: ModelError): number | undefined {
    // The model did reply, so a later outage starts with the first delay again.
    this.#unavailableCount = 0;
    this.#unavailableSince = undefined;
    this.#truncatedCount += 1;
    if (this.#truncatedCount >= maxTruncatedReplies) return undefined;
    return Math.max(
      this.#policy.initialDelayMs * 2 ** (this.#truncatedCount - 1),
      this.#clampRetryAfter(retryAfterMs),
    );
  }

  #clampRetryAfter(requestedMs: number): number {
    return requestedMs > 0 ? Math.min(requestedMs, this.#policy.maxRetryAfterMs) : 0;
  }
}
