import type { LeakDialect } from "../profiles.ts";
import { CodeSpans } from "./code-spans.ts";
import { openersOf, readCall, Words, type LeakedCall, type OfferedNames } from "./leak-dialects.ts";

/** Text as it was said, or a call that was said as text, with the words that said it. */
export type LeakPiece =
  | { type: "text"; text: string }
  | { type: "call"; call: LeakedCall; words: string };

/** After so many blocks that were no calls the text is read no further: each of them costs time. */
const mostFailed = 1_000;

type State =
  | { at: "text"; held: string } // what may be the beginning of an opening tag
  | { at: "block"; input: Words; reader: ReturnType<typeof readCall> };

/**
 * Takes tool calls out of the text, where a model writes them in its own markup and the server did not see it. Only a
 * whole block that names an offered tool is a call, or one that the end of the reply cut off; in code, or if anything
 * does not fit, all of it is text. A block is held until it ends, other text is not.
 */
export class LeakedCalls {
  readonly #dialects: readonly LeakDialect[];
  readonly #tools: OfferedNames;
  readonly #openers: readonly string[];
  /** The second characters of the openers: most angle brackets are ruled out by the next character. */
  readonly #seconds: ReadonlySet<number>;
  readonly #code = new CodeSpans();
  #state: State = { at: "text", held: "" };
  /** Blanks at the beginning or behind a call: between calls they are markup, before words they are text. */
  #blanks = "";
  #holdsBlanks = true;
  #found = false;
  #failed = 0;

  constructor(dialects: readonly LeakDialect[], tools: OfferedNames) {
    this.#dialects = dialects;
    this.#tools = tools;
    this.#openers = openersOf(dialects);
    this.#seconds = new Set(this.#openers.map((opener) => opener.charCodeAt(1)));
  }

  push(content: string, out: LeakPiece[]): void {
    let rest = content;
    while (rest !== "")
      rest = this.#state.at === "text" ? this.#readText(rest, out) : this.#readBlock(rest, out);
  }

  /** A call of the server's own follows: blanks that no leaked call came before are text, and stand before it. */
  putBlanks(out: LeakPiece[]): void {
    if (!this.#found && this.#blanks !== "") out.push({ type: "text", text: this.#blanks });
    this.#blanks = "";
  }

  end(out: LeakPiece[]): void {
    while (this.#state.at === "block") {
      this.#state.input.hasEnded = true;
      this.push(this.#readBlock("", out), out);
    }
    this.#say(this.#state.held, out);
    this.#state = { at: "text", held: "" };
    this.putBlanks(out);
  }

  #readText(added: string, out: LeakPiece[]): string {
    const text = this.#state.at === "text" ? this.#state.held + added : added;
    let seen = 0;
    const first = this.#failed < mostFailed ? text.indexOf("<") : -1;
    for (let at = first; at !== -1; at = text.indexOf("<", at + 1)) {
      if (at + 1 < text.length && !this.#seconds.has(text.charCodeAt(at + 1))) continue;
      const opens = this.#openers.some((opener) => text.startsWith(opener, at));
      const mayOpen = opens || this.#openers.some((opener) => opener.startsWith(text.slice(at)));
      if (!mayOpen) continue;
      this.#code.feed(text.slice(seen, at));
      seen = at;
      if (this.#code.isInside) continue;
      this.#put(text.slice(0, at), out);
      if (!opens) {
        this.#state = { at: "text", held: text.slice(at) };
        return "";
      }
      const input = new Words();
      this.#state = { at: "block", input, reader: readCall(input, this.#dialects, this.#tools) };
      return text.slice(at);
    }
    this.#code.feed(text.slice(seen));
    this.#put(text, out);
    this.#state = { at: "text", held: "" };
    return "";
  }

  /** What stands behind the block, to be read as text; nothing while the block goes on. */
  #readBlock(added: string, out: LeakPiece[]): string {
    if (this.#state.at !== "block") return added;
    const { input, reader } = this.#state;
    input.add(added);
    const step = reader.next();
    if (step.done !== true) return "";
    this.#state = { at: "text", held: "" };
    const words = input.taken.toString();
    if (step.value === undefined) {
      this.#failed += 1;
      this.#say(words, out);
    } else {
      out.push({ type: "call", call: step.value, words });
      this.#blanks = "";
      this.#holdsBlanks = true;
      this.#found = true;
    }
    return input.rest;
  }

  #say(text: string, out: LeakPiece[]): void {
    this.#code.feed(text);
    this.#put(text, out);
  }

  #put(text: string, out: LeakPiece[]): void {
    if (text === "") return;
    if (!this.#holdsBlanks) out.push({ type: "text", text });
    else if (text.trim() === "") this.#blanks += text;
    else {
      out.push({ type: "text", text: this.#blanks + text });
      this.#blanks = "";
      this.#holdsBlanks = false;
    }
  }
}
