import { unfinishedFrom, unfinishedWordFrom } from "./placeholder.ts";

/** How much of what was passed on is remembered: a value may be the end of a word that began there. */
const remembered = 100;

/**
 * Text that comes in pieces, with the private values in it again. What may become a placeholder waits for the next piece,
 * and so does a value until its word has ended: with the letters that follow it is a private value of its own, and is known
 * as one before anybody sees it.
 */
export class StreamUnmasker {
  readonly #unmask: (text: string, before: string) => string;
  readonly #isJson: boolean;
  #held = "";
  #before = "";

  /** `vault.unmask`, or with `isJson` `vault.unmaskJson` for the text of arguments. */
  constructor(unmask: (text: string, before: string) => string, { isJson = false } = {}) {
    this.#unmask = unmask;
    this.#isJson = isJson;
  }

  /** What can go on. */
  push(delta: string): string {
    const text = this.#held + delta;
    const end = unfinishedWordFrom(text, unfinishedFrom(text), this.#isJson);
    this.#held = text.slice(end);
    return this.#passOn(text.slice(0, end));
  }

  /** The rest. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return this.#passOn(rest);
  }

  #passOn(text: string): string {
    if (text === "") return "";
    const unmasked = this.#unmask(text, this.#before);
    this.#before = (this.#before + unmasked).slice(-remembered);
    return unmasked;
  }
}
