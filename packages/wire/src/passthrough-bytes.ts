/** Limit on the buffered bytes of an incomplete event. Longer events disable the passthrough. */
const maxTailBytes = 256 * 1024;
const initialCapacity = 4096;

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/**
 * Splits the upstream's bytes at event boundaries, so that unchanged events need not be encoded again for a client that uses
 * the same wire. The first read that must not be forwarded unchanged disables the passthrough for the rest of the reply.
 */
export class PassthroughBytes {
  /** The first `#tailLength` bytes are the start of an incomplete event. */
  #tail = new Uint8Array(0);
  #tailLength = 0;
  /** True if a read with bytes of the tail contained a comment. */
  #tailHasComment = false;
  #isDisabled = false;
  /** The bytes of all events that ended in the last read. Undefined if no event ended or the events must be encoded again. */
  eventBytes: Uint8Array | undefined;

  /**
   * `isUnmodified`: true if all events of this read are forwarded unchanged, and the read has no lines that must not be
   * forwarded, such as `id:`. Events in a read with a comment are encoded again, because comments are not redacted.
   */
  push(bytes: string | Uint8Array, isUnmodified: boolean, hasComment: boolean): void {
    this.eventBytes = undefined;
    if (this.#isDisabled) return;
    // With LF line endings only, an event always ends at two LFs, however the reads are split.
    if (!isUnmodified || typeof bytes === "string" || bytes.includes(carriageReturn))
      return this.disable();
    const eventsEnd = this.#findEventsEnd(bytes);
    const hasAnyComment = hasComment || this.#tailHasComment;
    if (eventsEnd > 0 && !hasAnyComment)
      this.eventBytes = this.#prependTail(bytes.subarray(0, eventsEnd));
    if (eventsEnd > 0) this.#tailLength = 0;
    if (eventsEnd < bytes.length) this.#appendTail(bytes.subarray(eventsEnd));
    this.#tailHasComment = hasAnyComment && this.#tailLength > 0;
  }

  disable(): void {
    this.#isDisabled = true;
    this.#tail = new Uint8Array(0);
    this.eventBytes = undefined;
  }

  /** Returns the end of the last complete event. Searches only the new bytes, because a long event arrives in many reads. */
  #findEventsEnd(bytes: Uint8Array): number {
    for (let index = bytes.length - 1; index > 0; index -= 1)
      if (bytes[index] === lineFeed && bytes[index - 1] === lineFeed) return index + 1;
    const previous = this.#tailLength > 0 ? this.#tail[this.#tailLength - 1] : undefined;
    return bytes[0] === lineFeed && previous === lineFeed ? 1 : 0;
  }

  #prependTail(bytes: Uint8Array): Uint8Array {
    if (this.#tailLength === 0) return bytes;
    const joined = new Uint8Array(this.#tailLength + bytes.length);
    joined.set(this.#tail.subarray(0, this.#tailLength));
    joined.set(bytes, this.#tailLength);
    return joined;
  }

  /** Appends to the tail and doubles its capacity when it is full. */
  #appendTail(bytes: Uint8Array): void {
    const length = this.#tailLength + bytes.length;
    if (length > maxTailBytes) return this.disable();
    if (length > this.#tail.length) {
      const larger = new Uint8Array(Math.max(initialCapacity, length, this.#tail.length * 2));
      larger.set(this.#tail.subarray(0, this.#tailLength));
      this.#tail = larger;
    }
    this.#tail.set(bytes, this.#tailLength);
    this.#tailLength = length;
  }
}
