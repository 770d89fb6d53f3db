import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@deltawire/store";
import { GatewayError } from "../gateway-error.ts";
import { newId } from "../new-id.ts";

/** Lets only one of several processes run the requests of a key. */
export interface IdempotencyLeaseOptions {
  /** Undefined: no other process uses the store. */
  getStore: () => Pick<Store, "holdIdempotencyKey" | "releaseIdempotencyKey"> | undefined;
  /** After a crash of the process, another one runs the request after this time, in milliseconds; default 15000. */
  leaseMs?: number;
  /** How long a repeated request waits for the process that runs it, in milliseconds; default 30000. */
  waitMs?: number;
}

export interface IdempotentRequestOptions {
  idPrefix?: "task" | "chat" | "in" | "resp" | "conv";
  /** Ends waiting for another process. */
  signal?: AbortSignal;
  /** True if the request has stored what it creates, so that `start` only returns it. */
  isStored?: (id: string) => Promise<boolean>;
}

const defaultLeaseMs = 15_000;
const defaultWaitMs = 30_000;
const pollIntervalMs = 250;
/** In seconds. */
const retryAfter = 5;

/** Makes requests safe to repeat: those with the same key start the same task, chat or response only once. */
export class IdempotentRequests {
  readonly #records: Pick<Store, "claimIdempotencyKey">;
  readonly #leases: IdempotencyLeaseOptions | undefined;
  readonly #processId = newId("process");
  /** The latest request of each key. Requests with the same key run one after the other. */
  readonly #latestRequests = new Map<string, Promise<unknown>>();

  /** `leases`: needed if `start` is not safe to run in two processes at the same time. */
  constructor(records: Pick<Store, "claimIdempotencyKey">, leases?: IdempotencyLeaseOptions) {
    this.#records = records;
    this.#leases = leases;
  }

  /**
   * Stores the key with a new id, whose prefix is `idPrefix` (default `task`), and then calls `start` with it. A repeated request
   * gets the same id, even after a crash between the two steps. Throws a GatewayError (409) if the key was used with another body,
   * or its request still runs in another process.
   */
  async run<Result>(
    key: string,
    body: unknown,
    start: (id: string) => Promise<Result>,
    options: IdempotentRequestOptions = {},
  ): Promise<Result> {
    const previous = this.#latestRequests.get(key) ?? Promise.resolve();
    const runNext = (): Promise<Result> => this.#run(key, body, start, options);
    const result = previous.then(runNext, runNext);
    this.#latestRequests.set(key, result);
    try {
      return await result;
    } finally {
      if (this.#latestRequests.get(key) === result) this.#latestRequests.delete(key);
    }
  }

  async #run<Result>(
    key: string,
    body: unknown,
    start: (id: string) => Promise<Result>,
    options: IdempotentRequestOptions,
  ): Promise<Result> {
    const bodyHash = hash("sha256", JSON.stringify(body));
    const newRecordId = newId(options.idPrefix ?? "task");
    const record = await this.#records.claimIdempotencyKey(key, bodyHash, newRecordId);
    const { rootTaskId: id } = record;
    if (record.bodyHash !== bodyHash)
      throw new GatewayError(
        "idempotency_conflict",
        "Idempotency-Key: already used with a different body; use a new key",
        { param: "Idempotency-Key" },
      );
    const release = await this.#hold(key, id, options);
    try {
      return await start(id);
    } finally {
      await release?.();
    }
  }

  /** Returns a function that ends the lease; undefined if none is needed. Throws a GatewayError (409) after waiting too long. */
  async #hold(
    key: string,
    id: string,
    { signal, isStored }: IdempotentRequestOptions,
  ): Promise<(() => Promise<void>) | undefined> {
    const store = this.#leases?.getStore();
    if (this.#leases === undefined || store === undefined) return undefined;
    const { leaseMs: ttlMs = defaultLeaseMs, waitMs = defaultWaitMs } = this.#leases;
    const holder = this.#processId;
    const hold = (): Promise<boolean> => store.holdIdempotencyKey(key, { holder, ttlMs });
    const deadline = performance.now() + waitMs;
    while (!(await hold())) {
      if ((await isStored?.(id)) === true) return undefined;
      if (performance.now() > deadline || signal?.aborted === true)
        throw new GatewayError(
          "request_in_progress",
          "Idempotency-Key: the request with this key still runs on another gateway; repeat it later",
          { param: "Idempotency-Key", retryAfter },
        );
      await sleep(pollIntervalMs);
    }
    // If the store fails for longer than the lease, another process may run the request.
    const timer = setInterval(() => void hold().catch(() => false), ttlMs / 3).unref();
    return async () => {
      clearInterval(timer);
      await store.releaseIdempotencyKey(key, holder).catch(() => undefined);
    };
  }
}
