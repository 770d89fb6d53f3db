import type { JsonObject } from "@deltawire/wire";

type Batch = readonly JsonObject[];

type State = { status: "open" } | { status: "ended" } | { status: "failed"; error: Error };

/** A queue of events for a single consumer, which may stop at any time. */
export class EventQueue implements AsyncIterator<Batch, undefined> {
  readonly #externalSignal: AbortSignal;
  readonly #abortController = new AbortController();
  #state: State = { status: "open" };
  #queuedEvents: JsonObject[] = [];
  #wake: (() => void) | undefined;
  #onDrained: (() => void) | undefined;
  readonly #cancel = (): void => {
    this.#queuedEvents = [];
    this.#close({ status: "ended" });
    this.#abortController.abort();
  };

  constructor(signal: AbortSignal) {
    this.#externalSignal = signal;
    if (signal.aborted) this.#cancel();
    else signal.addEventListener("abort", this.#cancel, { once: true });
  }

  /** Aborted when the consumer has stopped. */
  get signal(): AbortSignal {
    return this.#abortController.signal;
  }

  /** Number of queued events. */
  get length(): number {
    return this.#queuedEvents.length;
  }

  push(events: Batch): void {
    if (this.#state.status !== "open" || events.length === 0) return;
    for (const event of events) this.#queuedEvents.push(event);
    this.#wake?.();
  }

  /** Calls `resume` when the queue is empty; never if the consumer has stopped. */
  whenDrained(resume: () => void): void {
    if (this.#queuedEvents.length === 0) resume();
    else this.#onDrained = resume;
  }

  end(): void {
    this.#close({ status: "ended" });
  }

  fail(error: Error): void {
    this.#close({ status: "failed", error });
  }

  async next(): Promise<IteratorResult<Batch, undefined>> {
    while (this.#state.status === "open" && this.#queuedEvents.length === 0)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#queuedEvents.length > 0) {
      const value = this.#queuedEvents;
      this.#queuedEvents = [];
      const resume = this.#onDrained;
      this.#onDrained = undefined;
      resume?.();
      return { done: false, value };
    }
    const state = this.#state;
    this.#state = { status: "ended" };
    if (state.status === "failed") throw state.error;
    return { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<Batch, undefined>> {
    this.#cancel();
    return Promise.resolve({ done: true, value: undefined });
  }

  #close(state: State): void {
    if (this.#state.status !== "open") return;
    this.#state = state;
    this.#externalSignal.removeEventListener("abort", this.#cancel);
    this.#wake?.();
  }
}
