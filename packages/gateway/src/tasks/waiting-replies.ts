const mostKept = 1000;

/**
 * Replies that ended because a person is needed. Clients send a request that failed once more, by themselves or when the
 * person has decided: the same request is about the task that waits, and starts no second one.
 */
export class WaitingReplies {
  readonly #tasks = new Map<string, string>();

  taskOf(request: string): string | undefined {
    return this.#tasks.get(request);
  }

  keep(request: string, taskId: string): void {
    this.#tasks.delete(request);
    this.#tasks.set(request, taskId);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > mostKept && oldest !== undefined) this.#tasks.delete(oldest);
  }

  forget(request: string): void {
    this.#tasks.delete(request);
  }
}
