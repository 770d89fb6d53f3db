/** Holds one request at a test server until it is released. */
export class Hold {
  readonly #arrived = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  #isTaken = false;

  /** Resolves when a request is held. */
  get arrived(): Promise<void> {
    return this.#arrived.promise;
  }

  release(): void {
    this.#released.resolve();
  }

  /** Called by the server for a request that matches. Returns undefined if a request has already been held. */
  take(): Promise<void> | undefined {
    if (this.#isTaken) return undefined;
    this.#isTaken = true;
    this.#arrived.resolve();
    return this.#released.promise;
  }
}
