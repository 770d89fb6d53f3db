import { setTimeout as sleep } from "node:timers/promises";
import type { RequestSource } from "./request-source.ts";

/* Decides when a request is retried before its first byte. Time and randomness are parameters. */

export interface RetryFailure {
  /** The status of the upstream; 0 if the connection was refused, was reset or timed out. */
  status: number;
  /** The upstream's retry-after, in seconds. */
  retryAfter?: number | undefined;
}

/** If the upstream requests a longer wait, the client receives the error, with retry-after. */
const maxWaitMs = 10_000;
const initialBackoffMs = 250;

/** Returns the milliseconds to wait before the next attempt; undefined if there should be none. */
export function computeRetryDelay(
  failure: RetryFailure,
  attempt: number,
  retries: number,
  random: number,
): number | undefined {
  if (attempt > retries || !isTransientStatus(failure.status)) return undefined;
  const requestedMs = (failure.retryAfter ?? 0) * 1000;
  if (requestedMs > maxWaitMs) return undefined;
  // The server may just have closed a keep-alive connection: retry immediately with a new one.
  if (failure.status === 0 && attempt === 1) return 0;
  const backoff = initialBackoffMs * 2 ** (attempt - 1);
  return requestedMs > 0 ? requestedMs + random * initialBackoffMs : backoff * (0.5 + random);
}

/** Waits. Returns false if the signal was aborted meanwhile. */
export async function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

/** True for statuses after which a retry may succeed. */
export function isTransientStatus(status: number): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

/** One day. Upstreams cannot request longer waits. */
const maxRetryAfterSeconds = 86_400;

/** Parses a Retry-After header, which contains seconds or a date. Returns seconds; undefined if it is invalid. */
export function parseRetryAfterHeader(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds))
    return seconds >= 0 ? Math.min(seconds, maxRetryAfterSeconds) : undefined;
  const date = Date.parse(header);
  if (Number.isNaN(date)) return undefined;
  return Math.min(maxRetryAfterSeconds, Math.max(0, (date - now) / 1000));
}

/** Limits retries to a fifth of all requests, after a burst of ten, so that a server in trouble does not receive a multiple of its load. */
export class RetryBudget {
  #tokens: number;
  static readonly maxTokens = 10;
  static readonly tokensPerRequest = 0.2;

  constructor() {
    this.#tokens = RetryBudget.maxTokens;
  }

  recordRequest(): void {
    this.#tokens = Math.min(RetryBudget.maxTokens, this.#tokens + RetryBudget.tokensPerRequest);
  }

  takeRetry(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/**
 * Limits the retries of each conversation, because the gateway would multiply each retry of a client. Beyond the limit the
 * client receives the error, with the upstream's `retry-after`. A success restores all retries.
 */
export class ConversationRetries {
  readonly #entries = new Map<string, { remaining: number; refilledAt: number }>();
  static readonly maxRetries = 4;
  /** A conversation gets one retry back in this time. */
  static readonly refillMs = 30_000;
  /** The conversation whose last retry is the oldest is dropped first. */
  static readonly maxConversations = 1_000;

  /** Uses one retry. Returns false if the conversation has none left. */
  takeRetry(source: RequestSource, now: number): boolean {
    const key = toConversationKey(source);
    const entry = this.#entries.get(key);
    const { maxRetries, refillMs, maxConversations } = ConversationRetries;
    const refillCount = entry === undefined ? 0 : Math.floor((now - entry.refilledAt) / refillMs);
    const remaining =
      entry === undefined ? maxRetries : Math.min(maxRetries, entry.remaining + refillCount);
    if (remaining < 1) return false;
    const refilledAt =
      entry === undefined || remaining === maxRetries
        ? now
        : entry.refilledAt + refillCount * refillMs;
    this.#entries.delete(key);
    this.#entries.set(key, { remaining: remaining - 1, refilledAt });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > maxConversations && oldest !== undefined) this.#entries.delete(oldest);
    return true;
  }

  reset(source: RequestSource): void {
    if (this.#entries.size > 0) this.#entries.delete(toConversationKey(source));
  }

  get size(): number {
    return this.#entries.size;
  }
}

function toConversationKey({ clientName, conversationHash }: RequestSource): string {
  return `${conversationHash} ${clientName}`;
}
