import { setTimeout as sleep } from "node:timers/promises";
import type { ResponseProgress, ResponseStore } from "@deltawire/store";

/** How a response changes with its events. */
export type ResponseState = NonNullable<ResponseProgress["state"]>;

export interface EventLogOptions {
  store: ResponseStore;
  owner: string;
  responseId: string;
  holder: string;
  /** The number of the last stored event. */
  head: number;
  /** Called after events were stored. */
  onStored: () => void;
  /** Called once if this process must stop running the response. */
  onStop: (reason: "canceled" | "lost") => void;
  /** How long to retry while the store fails, in milliseconds. */
  retryMs?: number;
}

const defaultRetryMs = 60_000;
const retryIntervalMs = 500;

/**
 * Stores the events of a response in their order. Events that arrive while a write is in progress share the next one, so no event
 * waits longer than for two writes, and the number of writes does not grow with the number of events.
 */
export class EventLog {
  readonly #options: EventLogOptions;
  #next: number;
  #pending: string[] = [];
  #state: ResponseState | undefined;
  #writing: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#next = options.head + 1;
  }

  /** Adds an event with the next number. */
  add({ type, ...fields }: { type: string }): void {
    const number = this.#next + this.#pending.length;
    this.#pending.push(JSON.stringify({ type, ...fields, sequence_number: number }));
    this.#schedule();
  }

  /** Changes the response together with the events that were added before. */
  setState(state: ResponseState): void {
    this.#state = state;
    this.#schedule();
  }

  /** Resolves when everything is stored, or cannot be stored any more. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
  }

  async #write(): Promise<void> {
    // Events of the same turn of the event loop share a write.
    await new Promise((resolve) => setImmediate(resolve));
    while (!this.#isStopped && (this.#pending.length > 0 || this.#state !== undefined)) {
      const { owner, responseId, holder, onStored, onStop } = this.#options;
      const [events, state] = [this.#pending, this.#state];
      const first = this.#next;
      this.#pending = [];
      this.#state = undefined;
      this.#next += events.length;
      const progress = { owner, responseId, holder, first, events, ...(state && { state }) };
      const result = await this.#store(progress);
      if (result === undefined) {
        this.#isStopped = true;
        onStop("lost");
      } else {
        onStored();
        if (result.isCancelRequested) onStop("canceled");
      }
    }
  }

  /** Returns undefined if this process does not run the response any more, or the store failed for too long. */
  async #store(progress: ResponseProgress): Promise<{ isCancelRequested: boolean } | undefined> {
    const { store, retryMs = defaultRetryMs } = this.#options;
    const deadline = Date.now() + retryMs;
    let mayBeStored = false;
    for (;;) {
      try {
        if (mayBeStored && (await this.#isStored(progress))) return { isCancelRequested: false };
        return await store.appendResponseEvents(progress);
      } catch {
        if (Date.now() > deadline) return undefined;
        // The write may have been committed before the connection broke.
        mayBeStored = true;
        await sleep(retryIntervalMs);
      }
    }
  }

  async #isStored({ owner, responseId, first, events, state }: ResponseProgress): Promise<boolean> {
    const { store } = this.#options;
    if (events.length > 0) {
      const [batch] = await store.listResponseEvents(owner, responseId, first - 1, 1);
      return batch?.first === first;
    }
    const response = await store.getResponse(owner, responseId);
    return response?.status === state?.status && response?.json === state?.json;
  }
}
