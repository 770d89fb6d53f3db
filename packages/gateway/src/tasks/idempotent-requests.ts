import { hash } from "node:crypto";
import type { Store } from "@deltawire/store";
import { GatewayError } from "../gateway-error.ts";
import { newId } from "../new-id.ts";

/** Makes requests safe to repeat: those with the same key start the same task or chat only once. */
export class IdempotentRequests {
  readonly #records: Pick<Store, "claimIdempotencyKey">;
  /** The latest request of each key. Requests with the same key run one after the other. */
  readonly #latestRequests = new Map<string, Promise<unknown>>();

  constructor(records: Pick<Store, "claimIdempotencyKey">) {
    this.#records = records;
  }

  /**
   * Stores the key with a new id, whose prefix is `idPrefix`, and then calls `start` with it. A repeated request gets the same
   * id, even after a crash between the two steps. Throws a GatewayError (409) if the key was used with another body.
   */
  async run<Result>(
    key: string,
    body: unknown,
    start: (id: string) => Promise<Result>,
    idPrefix: "task" | "chat" | "in" | "resp" | "conv" = "task",
  ): Promise<Result> {
    const previous = this.#latestRequests.get(key) ?? Promise.resolve();
    const runNext = (): Promise<Result> => this.#run(key, body, start, idPrefix);
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
    idPrefix: string,
  ): Promise<Result> {
    const bodyHash = hash("sha256", JSON.stringify(body));
    const record = await this.#records.claimIdempotencyKey(key, bodyHash, newId(idPrefix));
    if (record.bodyHash === bodyHash) return start(record.rootTaskId);
    throw new GatewayError(
      "idempotency_conflict",
      "Idempotency-Key: already used with a different body; use a new key",
      { param: "Idempotency-Key" },
    );
  }
}
