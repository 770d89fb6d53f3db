import { unfinishedFrom } from "./placeholder.ts";

/** Text that comes in pieces, with the private values in it again. What may become a placeholder waits for the next piece. */
export class StreamUnmasker {
  readonly #unmask: (text: string) => string;
  #held = "";

  /** `vault.unmask`, or `vault.unmaskJson` for the text of arguments. */
  constructor(unmask: (text: string) => string) {
    this.#unmask = unmask;
  }

  /** What can go on. */
  push(delta: string): string {
    const text = this.#held + delta;
    const end = unfinishedFrom(text);
    this.#held = text.slice(end);
    return this.#unmask(text.slice(0, end));
  }

  /** The rest: it has become none. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return rest;
  }
}
