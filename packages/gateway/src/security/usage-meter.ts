import type { ModelPrice } from "@deltawire/agent";
import { calculateUsage } from "@deltawire/agent/basics";
import type { AccessKey, AccessKeyStore, UsageUnit } from "@deltawire/store";
import type { ResponseUsage } from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";
import { getWindowEnd, listUsageLimits, type UsageLimit } from "./usage-limits.ts";

const defaultIntervalMs = 500;
/** A request waits at most this long for the counts of other processes. */
const maxWaitMs = 1000;
/** Share of the remaining requests of a limit that a process may use before it exchanges counts. */
const maxUnsentShare = 0.1;
/** The counts of keys that have been used within this time are exchanged at every interval. */
const activeMs = 2000;

/** After a failure, requests do not wait for the store for this long. */
const failurePauseMs = 5000;

export interface UsageMeterOptions {
  /** Throws while the store cannot be opened. */
  getStore: () => AccessKeyStore;
  getPrice: (model: string) => ModelPrice | undefined;
  /** How often counts are exchanged with other processes, in milliseconds; default 500. */
  intervalMs?: number;
  onFailure?: (error: unknown) => void;
}

/** The usage of a key toward one limit in the current period. */
interface Counter {
  readonly limit: UsageLimit;
  /** The end of the period that `stored` belongs to. */
  windowEnd: number;
  /** The sum of all processes in the store. */
  stored: number;
  /** Counted here, and being added to the store. */
  sending: number;
  /** Counted here, and to be added. */
  unsent: number;
}

interface KeyUsage {
  readonly key: AccessKey;
  readonly counters: readonly Counter[];
  syncedAt: number;
  usedAt: number;
}

/**
 * Limits what access keys use, together with all other processes of the store: each adds its counts to the store every 500 ms,
 * or after a tenth of the remaining requests, and reads the sums.
 *
 * So each additional process may exceed a request limit by at most a tenth of it, or one request. Tokens and costs are known when a
 * reply ends: their limits may be exceeded by the replies in progress, and by those of the last second in other processes.
 */
export class UsageMeter {
  readonly #options: UsageMeterOptions;
  readonly #intervalMs: number;
  readonly #usage = new Map<string, KeyUsage>();
  /** What to add to the local clock to get that of the store, in milliseconds. */
  #clockOffset = 0;
  /** When the store could not be reached; undefined after a success. */
  #failedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #exchange: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? defaultIntervalMs;
  }

  /** Counts a request. Rejects with a GatewayError (429) if a limit of the key is reached. */
  async admitRequest(key: AccessKey): Promise<void> {
    const usage = this.#getUsage(key);
    if (usage === undefined) return;
    const deadline = Date.now() + maxWaitMs;
    while (this.#needsExchange(usage) && Date.now() < deadline)
      await this.#waitForExchange(deadline - Date.now());
    this.#assertBelowLimits(usage, ["requests", "tokens", "cost"]);
    for (const counter of usage.counters)
      if (counter.limit.unit === "requests") counter.unsent += 1;
    this.#scheduleExchange();
  }

  /** Throws a GatewayError if the tokens or the budget of the key are used up, or if it has a budget but the model has no price. */
  assertModelAllowed(key: AccessKey, model: string): void {
    const usage = this.#getUsage(key);
    if (usage === undefined) return;
    this.#assertBelowLimits(usage, ["tokens", "cost"]);
    const hasBudget = usage.counters.some(({ limit }) => limit.unit === "cost");
    if (hasBudget && this.#options.getPrice(model) === undefined)
      throw new GatewayError(
        "invalid_request",
        `the access key "${key.name}" has a budget, but the model "${model}" has no price; set its price in [models], or use another model`,
        { param: "model" },
      );
  }

  /** True if the tokens or the cost of model requests are limited. */
  countsTokens(key: AccessKey): boolean {
    return listUsageLimits(key.limits).some(({ unit }) => unit !== "requests");
  }

  /** Counts the tokens and the cost of a model request. */
  addModelUsage(key: AccessKey, model: string, modelUsage: ResponseUsage | undefined): void {
    const usage = this.#getUsage(key);
    if (usage === undefined || modelUsage === undefined) return;
    const { total_tokens, cost = 0 } = calculateUsage(modelUsage, this.#options.getPrice(model));
    for (const counter of usage.counters) {
      if (counter.limit.unit === "tokens") counter.unsent += total_tokens;
      if (counter.limit.unit === "cost") counter.unsent += cost;
    }
    this.#scheduleExchange();
  }

  /** Adds the counts so far to the store. */
  async flush(): Promise<void> {
    await this.#exchange;
    await this.#startExchange();
  }

  /** Stops exchanging counts. Call `flush` before the store is closed. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** True if the counts of other processes are not known well enough. False while the store cannot be reached. */
  #needsExchange({ counters, syncedAt }: KeyUsage): boolean {
    const now = Date.now();
    if (this.#failedAt !== undefined && now - this.#failedAt < failurePauseMs) return false;
    if (now - syncedAt > 2 * this.#intervalMs) return true;
    return counters.some((counter) => {
      if (counter.limit.unit !== "requests") return false;
      const unsent = counter.unsent + counter.sending;
      const remaining = counter.limit.max - (this.#getAmount(counter, this.#getTime()) - unsent);
      return remaining > 0 && unsent >= Math.max(1, remaining * maxUnsentShare);
    });
  }

  #assertBelowLimits({ key, counters }: KeyUsage, units: readonly UsageUnit[]): void {
    const now = this.#getTime();
    for (const counter of counters) {
      if (!units.includes(counter.limit.unit)) continue;
      if (this.#getAmount(counter, now) < counter.limit.max) continue;
      throw createLimitError(key, counter.limit, now);
    }
  }

  #getAmount({ stored, windowEnd, sending, unsent }: Counter, now: number): number {
    return (now < windowEnd ? stored : 0) + sending + unsent;
  }

  /** Returns undefined for a key without limits. */
  #getUsage(key: AccessKey): KeyUsage | undefined {
    const existing = this.#usage.get(key.id);
    const usage = existing ?? createKeyUsage(key);
    if (usage.counters.length === 0) return undefined;
    if (existing === undefined) this.#usage.set(key.id, usage);
    usage.usedAt = Date.now();
    return usage;
  }

  async #waitForExchange(timeoutMs: number): Promise<void> {
    // An exchange in progress may not contain this key.
    const exchange = (this.#exchange ?? Promise.resolve()).then(() => this.#startExchange());
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    await Promise.race([exchange, timeout]);
    clearTimeout(timer);
  }

  #scheduleExchange(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#exchangeRegularly();
    }, this.#intervalMs).unref();
  }

  async #exchangeRegularly(): Promise<void> {
    await this.#startExchange();
    if (this.#usage.size > 0) this.#scheduleExchange();
  }

  #startExchange(): Promise<void> {
    this.#exchange ??= this.#exchangeCounts().finally(() => (this.#exchange = undefined));
    return this.#exchange;
  }

  /** Adds the counts of this process to the store, and reads the sums. If that fails, limits apply only to the counts known here. */
  async #exchangeCounts(): Promise<void> {
    const counters = this.#collectCounters();
    if (counters.size === 0) return;
    const amounts = [...counters].map(([id, counter]) => {
      counter.sending = counter.unsent;
      counter.unsent = 0;
      const { unit, period } = counter.limit;
      return { keyId: getKeyId(id), unit, period, amount: counter.sending };
    });
    const sentAt = Date.now();
    try {
      const { totals, now } = await this.#options.getStore().addUsage(amounts);
      this.#clockOffset = now - sentAt;
      this.#failedAt = undefined;
      for (const { keyId, unit, period, windowStart, amount } of totals) {
        const counter = counters.get(formatCounterId(keyId, { unit, period }));
        if (counter === undefined) continue;
        counter.stored = amount;
        counter.windowEnd = getWindowEnd(period, windowStart);
        const usage = this.#usage.get(keyId);
        if (usage !== undefined) usage.syncedAt = sentAt;
      }
    } catch (error) {
      for (const counter of counters.values()) counter.unsent += counter.sending;
      if (this.#failedAt === undefined) this.#options.onFailure?.(error);
      this.#failedAt = Date.now();
    } finally {
      for (const counter of counters.values()) counter.sending = 0;
    }
  }

  /** Returns the counters of the keys in use, and forgets the other keys. */
  #collectCounters(): Map<string, Counter> {
    const now = Date.now();
    const counters = new Map<string, Counter>();
    for (const [keyId, usage] of this.#usage) {
      const hasCounts = usage.counters.some(({ unsent }) => unsent > 0);
      if (!hasCounts && now - usage.usedAt > activeMs) this.#usage.delete(keyId);
      else
        for (const counter of usage.counters)
          counters.set(formatCounterId(keyId, counter.limit), counter);
    }
    return counters;
  }

  #getTime(): number {
    return Date.now() + this.#clockOffset;
  }
}

function createKeyUsage(key: AccessKey): KeyUsage {
  const counters = listUsageLimits(key.limits).map((limit) => ({
    limit,
    windowEnd: 0,
    stored: 0,
    sending: 0,
    unsent: 0,
  }));
  return { key, counters, syncedAt: 0, usedAt: 0 };
}

function formatCounterId(keyId: string, { unit, period }: Omit<UsageLimit, "max">): string {
  return `${keyId} ${unit} ${period}`;
}

function getKeyId(counterId: string): string {
  return counterId.slice(0, counterId.indexOf(" "));
}

function createLimitError({ name }: AccessKey, limit: UsageLimit, now: number): GatewayError {
  const { unit, period, max } = limit;
  const amount =
    unit === "cost" ? `budget of ${max} per ${period}` : `limit of ${max} ${unit} per ${period}`;
  const end = getWindowEnd(period, now);
  const retryAfter = Math.max(1, Math.ceil((end - now) / 1000));
  return new GatewayError(
    // Clients such as Codex retry after the first code, and show the second one to the user.
    unit === "requests" ? "rate_limit_exceeded" : "insufficient_quota",
    `the access key "${name}" has reached its ${amount}, which resets at ${new Date(end).toISOString()}; try again in ${retryAfter} s`,
    { retryAfter },
  );
}
