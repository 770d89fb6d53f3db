/** Runs one call at a time. Callers that arrive during a call share the next one, whose result includes all earlier changes. */
export class CoalescedCall {
  readonly #run: () => Promise<void>;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(run: () => Promise<void>) {
    this.#run = run;
  }

  /** Rejects like the shared call. */
  call(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const next = this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#run();
      });
    this.#next = next;
    this.#current = next;
    return next;
  }
}
