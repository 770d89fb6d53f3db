import { hash } from "node:crypto";
import type { Store } from "@deltawire/store";
import { Problem } from "../problem.ts";
import { newId } from "../new-id.ts";

/** Requests that their clients may send again: with the same key, what they start is started once. */
export class KeyedRequests {
  readonly #records: Pick<Store, "keyed">;
  /** One after the other. */
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(records: Pick<Store, "keyed">) {
    this.#records = records;
  }

  /**
   * The key is kept with an id before the task of that id, or whatever else it is the `kind` of, is started: whoever comes
   * with the same key after a crash in between starts that very task.
   */
  async run<Answer>(
    key: string,
    body: unknown,
    start: (id: string) => Promise<Answer>,
    kind: "task" | "chat" | "in" = "task",
  ): Promise<Answer> {
    const before = this.#underWay.get(key) ?? Promise.resolve();
    const work = (): Promise<Answer> => this.#run(key, body, start, kind);
    const answer = before.then(work, work);
    this.#underWay.set(key, answer);
    try {
      return await answer;
    } finally {
      if (this.#underWay.get(key) === answer) this.#underWay.delete(key);
    }
  }

  async #run<Answer>(
    key: string,
    body: unknown,
    start: (id: string) => Promise<Answer>,
    kind: string,
  ): Promise<Answer> {
    const bodyHash = hash("sha256", JSON.stringify(body));
    const kept = await this.#records.keyed(key, bodyHash, newId(kind));
    if (kept.bodyHash === bodyHash) return start(kept.rootTaskId);
    throw new Problem(
      "idempotency_conflict",
      "Idempotency-Key: this key was sent before with another body; choose a new one",
      { param: "Idempotency-Key" },
    );
  }
}
