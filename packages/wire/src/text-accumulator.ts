/** Number of appended pieces after which they are flattened into one string. */
const maxPendingPieces = 1024;

/**
 * Text that grows in small pieces and is read at the end. V8 stores appended strings as a tree (rope), in which each slice of
 * a network read retains the complete read: 32 MB of text, one byte at a time, took 1 GB, and the arguments of a 10 MB call
 * took 90 MB. So the tree is flattened at intervals.
 */
export class TextAccumulator {
  #flattened = "";
  #pending = "";
  #pendingCount = 0;
  /** The last result of `toString`. V8 flattens each string only once, but would flatten a new concatenation again. */
  #joined: string | undefined;

  get length(): number {
    return this.#flattened.length + this.#pending.length;
  }

  get isEmpty(): boolean {
    return this.#pending === "" && this.#flattened === "";
  }

  append(piece: string): void {
    this.#pending += piece;
    this.#joined = undefined;
    this.#pendingCount += 1;
    if (this.#pendingCount === maxPendingPieces) this.#flatten();
  }

  /** Takes time linear in the length of `prefix`, not of the text. */
  startsWith(prefix: string): boolean {
    if (prefix.length <= this.#flattened.length) return this.#flattened.startsWith(prefix);
    return this.toString().startsWith(prefix);
  }

  toString(): string {
    return (this.#joined ??= this.#flattened + this.#pending);
  }

  clear(): void {
    this.#flattened = "";
    this.#pending = "";
    this.#joined = undefined;
    this.#pendingCount = 0;
  }

  #flatten(): void {
    // Only a join of two strings makes a new flat string: charCodeAt, or a join of one, leaves the tree unchanged.
    this.#flattened += [this.#pending, " "].join("").slice(0, -1);
    this.#pending = "";
    this.#pendingCount = 0;
  }
}
