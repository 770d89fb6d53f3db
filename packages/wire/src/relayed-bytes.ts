/** What is kept of an event that has not ended. Longer ones are written anew. */
const longestTail = 256 * 1024;
const firstCapacity = 4096;

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/**
 * The network's own bytes, cut where events end, for a client of the same wire: where nothing was mended they say what
 * would have to be written anew. It gives up, for good, at the first thing that must not or cannot go on as it came.
 */
export class RelayedBytes {
  /** The beginning of an event that has not ended: `#tail` up to `#tailLength`. */
  #tail = new Uint8Array(0);
  #tailLength = 0;
  /** A comment stands in the tail, or before it in the same read. */
  #tailHasComment = false;
  #over = false;
  /** All events that ended in the last read, and nothing else. */
  events: Uint8Array | undefined;

  /**
   * `plain`: nothing in this read is more, or less, than its events and comments. Events beside a comment are written anew:
   * nobody has looked for secrets in it.
   */
  push(bytes: string | Uint8Array, plain: boolean, hasComment: boolean): void {
    this.events = undefined;
    if (this.#over) return;
    // Bytes only, and line ends of one byte: then a blank line ends an event wherever the reads were cut.
    if (!plain || typeof bytes === "string" || bytes.includes(carriageReturn)) return this.giveUp();
    const end = this.#behindLastEvent(bytes);
    const commented = hasComment || this.#tailHasComment;
    if (end > 0 && !commented) this.events = this.#withTail(bytes.subarray(0, end));
    if (end > 0) this.#tailLength = 0;
    if (end < bytes.length) this.#keep(bytes.subarray(end));
    this.#tailHasComment = commented && this.#tailLength > 0;
  }

  giveUp(): void {
    this.#over = true;
    this.#tail = new Uint8Array(0);
    this.events = undefined;
  }

  /** Looks at new bytes only: a long event comes in many reads. */
  #behindLastEvent(bytes: Uint8Array): number {
    for (let at = bytes.length - 1; at > 0; at -= 1)
      if (bytes[at] === lineFeed && bytes[at - 1] === lineFeed) return at + 1;
    const before = this.#tailLength > 0 ? this.#tail[this.#tailLength - 1] : undefined;
    return bytes[0] === lineFeed && before === lineFeed ? 1 : 0;
  }

  #withTail(bytes: Uint8Array): Uint8Array {
    if (this.#tailLength === 0) return bytes;
    const all = new Uint8Array(this.#tailLength + bytes.length);
    all.set(this.#tail.subarray(0, this.#tailLength));
    all.set(bytes, this.#tailLength);
    return all;
  }

  /** Appends to the tail, whose room doubles when it is full. */
  #keep(bytes: Uint8Array): void {
    const length = this.#tailLength + bytes.length;
    if (length > longestTail) return this.giveUp();
    if (length > this.#tail.length) {
      const larger = new Uint8Array(Math.max(firstCapacity, length, this.#tail.length * 2));
      larger.set(this.#tail.subarray(0, this.#tailLength));
      this.#tail = larger;
    }
    this.#tail.set(bytes, this.#tailLength);
    this.#tailLength = length;
  }
}
