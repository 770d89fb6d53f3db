import { setTimeout as sleep } from "node:timers/promises";
import type { RequestSource } from "./request-source.ts";

/* When a request is tried again before its first byte. Clocks and chance are handed in. */

export interface Failure {
  /** The upstream's status; 0 if there was none: refused, reset, timed out. */
  status: number;
  /** What the upstream asked to wait, in seconds. */
  retryAfter?: number | undefined;
}

/** The longest wait in which a client is kept; after that it is told to come back. */
const longestWaitMs = 10_000;
const firstWaitMs = 250;

/** How long to wait before trying again; undefined: do not. */
export function waitBeforeRetry(
  failure: Failure,
  tried: number,
  retries: number,
  chance: number,
): number | undefined {
  if (tried > retries || !isPassing(failure.status)) return undefined;
  const asked = (failure.retryAfter ?? 0) * 1000;
  if (asked > longestWaitMs) return undefined;
  // A kept connection that the server has just closed: a new one is tried at once.
  if (failure.status === 0 && tried === 1) return 0;
  const backoff = firstWaitMs * 2 ** (tried - 1);
  return asked > 0 ? asked + chance * firstWaitMs : backoff * (0.5 + chance);
}

/** Waits; false: the client has left meanwhile. */
export async function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

/** Whether a failure may be over the next time. */
export function isPassing(status: number): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

/** A day: clients are not asked to wait longer, whatever an upstream says. */
const mostSeconds = 86_400;

/** Seconds that a Retry-After header asks for, in either of its forms. */
export function retryAfterSeconds(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.min(seconds, mostSeconds) : undefined;
  const date = Date.parse(header);
  if (Number.isNaN(date)) return undefined;
  return Math.min(mostSeconds, Math.max(0, (date - now) / 1000));
}

/** Retries may be a fifth of all requests and no more: a server in trouble is not helped by three times the load. */
export class RetryBudget {
  #tokens: number;
  static readonly most = 10;
  static readonly perRequest = 0.2;

  constructor() {
    this.#tokens = RetryBudget.most;
  }

  request(): void {
    this.#tokens = Math.min(RetryBudget.most, this.#tokens + RetryBudget.perRequest);
  }

  takeRetry(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/**
 * Limits the retries of each conversation. A client that retries by itself would otherwise have each of its retries
 * multiplied; it gets the failure instead, with the upstream's `retry-after`. A success gives all retries back.
 */
export class ConversationRetries {
  readonly #spent = new Map<string, { left: number; at: number }>();
  static readonly most = 4;
  static readonly refillMs = 30_000;
  /** The conversation that has retried least recently is forgotten first. */
  static readonly mostConversations = 1_000;

  /** False if this conversation has no retries left. */
  take(source: RequestSource, now: number): boolean {
    const key = keyOf(source);
    const known = this.#spent.get(key);
    const { most, refillMs, mostConversations } = ConversationRetries;
    const refilled = known === undefined ? 0 : Math.floor((now - known.at) / refillMs);
    const left = known === undefined ? most : Math.min(most, known.left + refilled);
    if (left < 1) return false;
    const at = known === undefined || left === most ? now : known.at + refilled * refillMs;
    this.#spent.delete(key);
    this.#spent.set(key, { left: left - 1, at });
    const [oldest] = this.#spent.keys();
    if (this.#spent.size > mostConversations && oldest !== undefined) this.#spent.delete(oldest);
    return true;
  }

  succeeded(source: RequestSource): void {
    if (this.#spent.size > 0) this.#spent.delete(keyOf(source));
  }

  get size(): number {
    return this.#spent.size;
  }
}

function keyOf({ client, conversation }: RequestSource): string {
  return `${conversation} ${client}`;
}
