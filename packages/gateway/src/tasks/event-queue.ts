import type { JsonObject } from "@deltawire/wire";

type Batch = readonly JsonObject[];

type State = { is: "open" } | { is: "ended" } | { is: "failed"; error: Error };

/** Events for one who takes them when ready, and who may leave at any time. */
export class EventQueue implements AsyncIterator<Batch, undefined> {
  readonly #outer: AbortSignal;
  readonly #stop = new AbortController();
  #state: State = { is: "open" };
  #queued: JsonObject[] = [];
  #wake: (() => void) | undefined;
  #taken: (() => void) | undefined;
  readonly #leave = (): void => {
    this.#queued = [];
    this.#close({ is: "ended" });
    this.#stop.abort();
  };

  constructor(signal: AbortSignal) {
    this.#outer = signal;
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  /** Aborted when nobody takes events any more. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** How many wait to be taken. */
  get length(): number {
    return this.#queued.length;
  }

  push(events: Batch): void {
    if (this.#state.is !== "open" || events.length === 0) return;
    for (const event of events) this.#queued.push(event);
    this.#wake?.();
  }

  /** Goes on as soon as none waits any more; never if whoever took them has left. */
  whenTaken(go: () => void): void {
    if (this.#queued.length === 0) go();
    else this.#taken = go;
  }

  end(): void {
    this.#close({ is: "ended" });
  }

  fail(error: Error): void {
    this.#close({ is: "failed", error });
  }

  async next(): Promise<IteratorResult<Batch, undefined>> {
    while (this.#state.is === "open" && this.#queued.length === 0)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#queued.length > 0) {
      const value = this.#queued;
      this.#queued = [];
      const go = this.#taken;
      this.#taken = undefined;
      go?.();
      return { done: false, value };
    }
    const state = this.#state;
    this.#state = { is: "ended" };
    if (state.is === "failed") throw state.error;
    return { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<Batch, undefined>> {
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  #close(state: State): void {
    if (this.#state.is !== "open") return;
    this.#state = state;
    this.#outer.removeEventListener("abort", this.#leave);
    this.#wake?.();
  }
}
