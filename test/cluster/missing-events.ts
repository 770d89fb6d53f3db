interface Range {
  first: number;
  last: number;
}

/** The events that a follower has skipped and has not received since, by their sequence numbers. */
export class MissingEvents {
  readonly #ranges = new Map<string, Range[]>();

  /** Adds the events from `first` to `last`, which were skipped. */
  add(taskId: string, first: number, last: number): void {
    if (first > last) return;
    this.#ranges.set(taskId, [...(this.#ranges.get(taskId) ?? []), { first, last }]);
  }

  /** Removes the events from `first` to `last`, which were received, one by one or as the state after them. */
  remove(taskId: string, first: number, last: number): void {
    const ranges = this.#ranges.get(taskId);
    if (ranges === undefined) return;
    const remaining = ranges.flatMap((range) =>
      [
        { first: range.first, last: Math.min(range.last, first - 1) },
        { first: Math.max(range.first, last + 1), last: range.last },
      ].filter((part) => part.first <= part.last),
    );
    if (remaining.length === 0) this.#ranges.delete(taskId);
    else this.#ranges.set(taskId, remaining);
  }

  /** Returns a message about each range. */
  list(): string[] {
    return [...this.#ranges].flatMap(([taskId, ranges]) =>
      ranges.map(({ first, last }) => `${taskId}: events ${first} to ${last} were never received`),
    );
  }
}
