import { trimSplitSurrogates } from "@deltawire/tasks";

/** Buffers the beginning and the end of text of any length. */
export class HeadTailBuffer {
  readonly #headLength: number;
  readonly #tailLength: number;
  #head = "";
  #tail = "";
  #length = 0;

  constructor(headLength: number, tailLength: number) {
    this.#headLength = headLength;
    this.#tailLength = tailLength;
  }

  append(text: string): void {
    this.#length += text.length;
    const remaining = this.#headLength - this.#head.length;
    if (remaining > 0) this.#head += text.slice(0, remaining);
    if (text.length <= remaining) return;
    this.#tail += remaining > 0 ? text.slice(remaining) : text;
    // Truncated only occasionally: truncating every time would copy the complete tail for every line.
    if (this.#tail.length > 2 * this.#tailLength) this.#tail = this.#tail.slice(-this.#tailLength);
  }

  toString(): string {
    const tail = this.#tail.slice(-this.#tailLength);
    const omittedLength = this.#length - this.#head.length - tail.length;
    if (omittedLength === 0) return this.#head + tail;
    const omissionNote = `\n… (${omittedLength} characters omitted) …\n`;
    return trimSplitSurrogates(this.#head) + omissionNote + trimSplitSurrogates(tail);
  }
}
