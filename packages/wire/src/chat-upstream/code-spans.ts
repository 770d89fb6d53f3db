type State =
  | { at: "margin"; indent: number } // a line's beginning, where a fence may open
  | { at: "run"; mark: string; length: number; opensLine: boolean }
  | { at: "line" }
  | { at: "info"; mark: string; length: number } // behind an opening fence, on its line
  | { at: "fence"; mark: string; length: number; closing: Closing };

/** How far a line inside a fence has come to being the one that closes it. */
type Closing = { indent: number; marks: number; trailing: boolean } | "no";

const newLine = (): Closing => ({ indent: 0, marks: 0, trailing: false });

/** Knows, of text that comes in pieces, whether it stands in Markdown's code: between fences, or in a span of one line. */
export class CodeSpans {
  #state: State = { at: "margin", indent: 0 };
  /** The length of the run of backticks that opened a span on this line; 0 outside of one. */
  #span = 0;

  get isInside(): boolean {
    const { at } = this.#state;
    if (at === "info" || at === "fence") return true;
    if (at !== "run") return this.#span > 0;
    if (this.#state.mark === "~") return opensFence(this.#state);
    return this.#span === 0 || this.#span !== this.#state.length;
  }

  feed(text: string): void {
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
        if (char === "\n") this.#state = { ...state, at: "fence", closing: newLine() };
        else if (char === "`" && state.mark === "`") {
          // Behind a fence of backticks no backtick may follow: it was a span.
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
      this.#state = closed ? { at: "margin", indent: 0 } : { ...fence, closing: newLine() };
    } else if (closing === "no") return;
    else if (char === mark && !closing.trailing) closing.marks += 1;
    else if (char === " " && closing.marks === 0 && closing.indent < 3) closing.indent += 1;
    else if (/\s/.test(char) && closing.marks >= length) closing.trailing = true;
    else fence.closing = "no";
  }
}

function opensFence({ opensLine, length }: { opensLine: boolean; length: number }): boolean {
  return opensLine && length >= 3;
}
