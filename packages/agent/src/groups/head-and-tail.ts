import { wholeCharacters } from "@deltawire/tasks";

/** Text of any length of which the beginning and the end are kept. */
export class HeadAndTail {
  readonly #headLength: number;
  readonly #tailLength: number;
  #head = "";
  #tail = "";
  #length = 0;

  constructor(headLength: number, tailLength: number) {
    this.#headLength = headLength;
    this.#tailLength = tailLength;
  }

  add(text: string): void {
    this.#length += text.length;
    const room = this.#headLength - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    if (text.length <= room) return;
    this.#tail += room > 0 ? text.slice(room) : text;
    // Cut now and then and not each time, which would copy the whole tail for every line.
    if (this.#tail.length > 2 * this.#tailLength) this.#tail = this.#tail.slice(-this.#tailLength);
  }

  toString(): string {
    const tail = this.#tail.slice(-this.#tailLength);
    const left = this.#length - this.#head.length - tail.length;
    if (left === 0) return this.#head + tail;
    const note = `\n… (${left} characters left out) …\n`;
    return wholeCharacters(this.#head) + note + wholeCharacters(tail);
  }
}
