/** What is kept of an event that has not ended. Longer ones are written anew. */
const longestTail = 256 * 1024;

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/**
 * The network's own bytes, cut where events end, for a client of the same wire: where nothing was mended they say what
 * would have to be written anew. It gives up, for good, at the first thing that must not or cannot go on as it came.
 */
export class RelayedBytes {
  #tail: Uint8Array | undefined;
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
    const all = this.#tail === undefined ? bytes : joined(this.#tail, bytes);
    const end = behindLastEvent(all);
    const commented = hasComment || this.#tailHasComment;
    if (end > 0 && !commented) this.events = end === all.length ? all : all.subarray(0, end);
    this.#tailHasComment = commented && end < all.length;
    this.#tail = end === all.length ? undefined : all.subarray(end);
    if (all.length - end > longestTail) this.giveUp();
  }

  giveUp(): void {
    this.#over = true;
    this.#tail = undefined;
    this.events = undefined;
  }
}

function behindLastEvent(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at > 0; at -= 1)
    if (bytes[at] === lineFeed && bytes[at - 1] === lineFeed) return at + 1;
  return 0;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
