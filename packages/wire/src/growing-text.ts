/** How many pieces are appended before they are made one string. */
const piecesKept = 1024;

/**
 * Text that grows by small pieces and is read at the end. Appended strings are kept by the engine as a tree, and a piece
 * that was cut out of a network read keeps the whole read alive: 32 MB of text, a byte at a time, took 1 GB, and the
 * arguments of a 10 MB call 90 MB. So the tree is made one string now and then.
 */
export class GrowingText {
  #settled = "";
  #recent = "";
  #pieces = 0;
  /** The last answer of `toString`: the engine flattens one string once, and another one with the same parts again. */
  #joined: string | undefined;

  get length(): number {
    return this.#settled.length + this.#recent.length;
  }

  get isEmpty(): boolean {
    return this.#recent === "" && this.#settled === "";
  }

  add(piece: string): void {
    this.#recent += piece;
    this.#joined = undefined;
    this.#pieces += 1;
    if (this.#pieces === piecesKept) this.#settle();
  }

  /** Takes time in proportion to the beginning, not to the text. */
  startsWith(beginning: string): boolean {
    if (beginning.length <= this.#settled.length) return this.#settled.startsWith(beginning);
    return this.toString().startsWith(beginning);
  }

  toString(): string {
    return (this.#joined ??= this.#settled + this.#recent);
  }

  clear(): void {
    this.#settled = "";
    this.#recent = "";
    this.#joined = undefined;
    this.#pieces = 0;
  }

  #settle(): void {
    // Only a join of two strings makes a new flat one: charCodeAt, or a join of one, leaves the tree as it is.
    this.#settled += [this.#recent, " "].join("").slice(0, -1);
    this.#recent = "";
    this.#pieces = 0;
  }
}
