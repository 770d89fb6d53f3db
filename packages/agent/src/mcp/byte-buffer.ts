/** Collects bytes in one block of memory: a server may send a long message in millions of pieces of one byte. */
export class ByteBuffer {
  #block = Buffer.alloc(0);
  #length = 0;

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#length * 2));
      larger.set(this.#block.subarray(0, this.#length));
      this.#block = larger;
    }
    this.#block.set(piece, this.#length);
    this.#length = length;
  }

  /** Returns all bytes and is empty then. */
  take(): Buffer<ArrayBuffer> {
    const bytes = this.#block.subarray(0, this.#length);
    this.#block = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}
