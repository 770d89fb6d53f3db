import { findUnfinishedStart, findUnfinishedWordStart } from "./placeholder.ts";

/** Number of emitted characters that are remembered: a value may be the end of a word that starts there. */
const contextLength = 100;

/**
 * Unmasks text that arrives in deltas. A possible beginning of a placeholder is held back until the next delta. A value is
 * held back until its word ends: together with letters that follow, it is a new private value, which the vault must learn
 * before the text is shown.
 */
export class StreamUnmasker {
  readonly #unmask: (text: string, precedingText: string) => string;
  readonly #isJson: boolean;
  #pending = "";
  #context = "";

  /** `unmask` is `vault.unmask`, or `vault.unmaskJson` for arguments, with `isJson`. */
  constructor(unmask: (text: string, precedingText: string) => string, { isJson = false } = {}) {
    this.#unmask = unmask;
    this.#isJson = isJson;
  }

  /** Returns the text that can be shown now. */
  push(delta: string): string {
    const text = this.#pending + delta;
    const end = findUnfinishedWordStart(text, findUnfinishedStart(text), this.#isJson);
    this.#pending = text.slice(end);
    return this.#emit(text.slice(0, end));
  }

  /** Returns the remaining text. */
  end(): string {
    const remainingText = this.#pending;
    this.#pending = "";
    return this.#emit(remainingText);
  }

  #emit(text: string): string {
    if (text === "") return "";
    const unmasked = this.#unmask(text, this.#context);
    this.#context = (this.#context + unmasked).slice(-contextLength);
    return unmasked;
  }
}
