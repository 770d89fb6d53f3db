type State =
  | { at: "margin"; indent: number } // the start of a line, where a fence may open
  | { at: "run"; mark: string; length: number; opensLine: boolean }
  | { at: "line" }
  | { at: "info"; mark: string; length: number } // after an opening fence, on the same line
  | { at: "fence"; mark: string; length: number; closing: FenceClosing };

/** The part of a closing fence that the current line inside a fence matches so far. */
type FenceClosing = { indent: number; marks: number; hasTrailingBlank: boolean } | "no";

const startClosingLine = (): FenceClosing => ({ indent: 0, marks: 0, hasTrailingBlank: false });

/** Tracks whether streamed text is inside Markdown code: between fences, or in a code span on one line. */
export class CodeSpanTracker {
  #state: State = { at: "margin", indent: 0 };
  /** Number of backticks that opened the current span on this line; 0 outside of a span. */
  #span = 0;

  get isInsideCode(): boolean {
    const { at } = this.#state;
    if (at === "info" || at === "fence") return true;
    if (at !== "run") return this.#span > 0;
    if (this.#state.mark === "~") return opensFence(this.#state);
    return this.#span === 0 || this.#span !== this.#state.length;
  }

  push(text: string): void {
    for (const char of text) this.#read(char);
  }

  #read(char: string): void {
    const state = this.#state;
    switch (state.at) {
      case "margin":
        if (char === " " && state.indent < 3) state.indent += 1;
        else if (char === "`" || char === "~")
          this.#state = { at: "run", mark: char, length: 1, opensLine: true };
        else this.#readLine(char);
        return;
      case "run":
        if (char === state.mark) state.length += 1;
        else this.#endRun(state, char);
        return;
      case "line":
        return this.#readLine(char);
      case "info":
        if (char === "\n") this.#state = { ...state, at: "fence", closing: startClosingLine() };
        else if (char === "`" && state.mark === "`") {
          // The line that opens a fence cannot contain another backtick, so this is a code span.
          this.#span = state.length;
          this.#state = { at: "run", mark: "`", length: 1, opensLine: false };
        }
        return;
      case "fence":
        return this.#readFence(state, char);
    }
  }

  #readLine(char: string): void {
    if (char === "\n") {
      this.#span = 0;
      this.#state = { at: "margin", indent: 0 };
    } else if (char === "`") this.#state = { at: "run", mark: "`", length: 1, opensLine: false };
    else this.#state = { at: "line" };
  }

  #endRun(run: State & { at: "run" }, char: string): void {
    if (opensFence(run)) {
      const { mark, length } = run;
      this.#state = { at: "info", mark, length };
      return this.#read(char);
    }
    if (run.mark === "`") {
      if (this.#span === 0) this.#span = run.length;
      else if (this.#span === run.length) this.#span = 0;
    }
    this.#readLine(char);
  }

  #readFence(fence: State & { at: "fence" }, char: string): void {
    const { closing, mark, length } = fence;
    if (char === "\n") {
      const closed = closing !== "no" && closing.marks >= length;
      this.#state = closed
        ? { at: "margin", indent: 0 }
        : { ...fence, closing: startClosingLine() };
    } else if (closing === "no") return;
    else if (char === mark && !closing.hasTrailingBlank) closing.marks += 1;
    else if (char === " " && closing.marks === 0 && closing.indent < 3) closing.indent += 1;
    else if (/\s/.test(char) && closing.marks >= length) closing.hasTrailingBlank = true;
    else fence.closing = "no";
  }
}

function opensFence({ opensLine, length }: { opensLine: boolean; length: number }): boolean {
  return opensLine && length >= 3;
}
