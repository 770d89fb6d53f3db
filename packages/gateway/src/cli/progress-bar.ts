import type { CopyProgress } from "@deltawire/store";
import type { LogTarget } from "../log.ts";

const barWidth = 30;
/** Interval of the lines on an output that is not a terminal. */
const lineIntervalMs = 5000;
/** Pages of small rows follow each other faster than anybody can read. */
const drawIntervalMs = 100;

const verbs = { copy: "copying  ", compare: "comparing", index: "indexing " } as const;

/** A line that is overwritten. If the output is not a terminal: a line every five seconds, the first one after that time. */
export class ProgressBar {
  readonly #target: LogTarget;
  readonly #now: () => number;
  #isVisible = false;
  #lastText = "";
  #shownAt: number;

  constructor(target: LogTarget, now: () => number = () => performance.now()) {
    this.#target = target;
    this.#now = now;
    this.#shownAt = now();
  }

  show({ step, table, bytes, totalBytes }: CopyProgress): void {
    const share = totalBytes === 0 ? 1 : bytes / totalBytes;
    const filled = Math.round(share * barWidth);
    const bar = `${"#".repeat(filled)}${"-".repeat(barWidth - filled)}`;
    this.showText(`${verbs[step]} [${bar}] ${Math.floor(share * 100)} % ${table}`);
  }

  showText(text: string): void {
    if (text === this.#lastText) return;
    const isTerminal = this.#target.isTTY === true;
    const now = this.#now();
    const isDue = now - this.#shownAt >= (isTerminal ? drawIntervalMs : lineIntervalMs);
    const isFirst = isTerminal && !this.#isVisible;
    if (!isDue && !isFirst) return;
    this.#target.write(isTerminal ? `\r\u001B[K${text}` : `${text}\n`);
    this.#isVisible = isTerminal;
    this.#lastText = text;
    this.#shownAt = now;
  }

  /** Removes the line from a terminal. */
  clear(): void {
    if (this.#isVisible) this.#target.write("\r\u001B[K");
    this.#isVisible = false;
    this.#lastText = "";
  }
}
