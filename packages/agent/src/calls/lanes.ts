/** Lets calls that may run beside others do so, and the rest run alone, in the order in which they came. */
export class Lanes {
  #last: Promise<unknown> = Promise.resolve();
  #beside: Promise<unknown>[] = [];

  async run<T>(parallel: boolean, work: () => Promise<T>): Promise<T> {
    if (parallel) {
      const running = this.#last.then(work);
      this.#beside.push(running.catch(() => undefined));
      return running;
    }
    const running = Promise.all([this.#last, ...this.#beside.splice(0)]).then(work);
    this.#last = running.catch(() => undefined);
    return running;
  }
}
