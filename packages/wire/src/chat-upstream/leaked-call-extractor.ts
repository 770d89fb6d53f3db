import type { LeakDialect } from "../upstream-profile.ts";
import { CodeSpanTracker } from "./code-span-tracker.ts";
import {
  getOpeningTags,
  parseLeakedCall,
  MarkupBuffer,
  type LeakedCall,
  type KnownTools,
} from "./leak-dialects.ts";

/** Text, or a call that was found in text, with its source text. */
export type LeakedCallSegment =
  | { type: "text"; text: string }
  | { type: "call"; call: LeakedCall; source: string };

/** The search stops after this many blocks that are not calls, to limit the time that it takes. */
const maxFailedBlocks = 1_000;

type State =
  | { at: "text"; held: string } // text that may be the start of an opening tag
  | { at: "block"; input: MarkupBuffer; parser: ReturnType<typeof parseLeakedCall> };

/**
 * Extracts tool calls that the model wrote as markup in its text and the server did not parse. A block is a call only if
 * it names an offered tool and is complete or truncated by the end of the reply. In Markdown code, or if anything does
 * not match, it remains text. Only blocks, possible starts of tags and blanks around calls are buffered.
 */
export class LeakedCallExtractor {
  readonly #dialects: readonly LeakDialect[];
  readonly #tools: KnownTools;
  readonly #openingTags: readonly string[];
  /** The second characters of the opening tags, to rule out most angle brackets quickly. */
  readonly #secondCharacters: ReadonlySet<number>;
  readonly #codeSpans = new CodeSpanTracker();
  #state: State = { at: "text", held: "" };
  /** Blanks at the start or after a call: markup if a call follows, text if text follows. */
  #blanks = "";
  #holdsBlanks = true;
  #hasFoundCall = false;
  #failedBlocks = 0;

  constructor(dialects: readonly LeakDialect[], tools: KnownTools) {
    this.#dialects = dialects;
    this.#tools = tools;
    this.#openingTags = getOpeningTags(dialects);
    this.#secondCharacters = new Set(
      this.#openingTags.map((openingTag) => openingTag.charCodeAt(1)),
    );
  }

  push(content: string, out: LeakedCallSegment[]): void {
    let rest = content;
    while (rest !== "")
      rest = this.#state.at === "text" ? this.#readText(rest, out) : this.#readBlock(rest, out);
  }

  /** Emits blanks as text before a call that the server parsed, unless they follow a leaked call. */
  flushBlanks(out: LeakedCallSegment[]): void {
    if (!this.#hasFoundCall && this.#blanks !== "") out.push({ type: "text", text: this.#blanks });
    this.#blanks = "";
  }

  end(out: LeakedCallSegment[]): void {
    while (this.#state.at === "block") {
      this.#state.input.hasEnded = true;
      this.push(this.#readBlock("", out), out);
    }
    this.#emitUnscanned(this.#state.held, out);
    this.#state = { at: "text", held: "" };
    this.flushBlanks(out);
  }

  #readText(added: string, out: LeakedCallSegment[]): string {
    const text = this.#state.at === "text" ? this.#state.held + added : added;
    let scannedLength = 0;
    const firstBracket = this.#failedBlocks < maxFailedBlocks ? text.indexOf("<") : -1;
    for (let index = firstBracket; index !== -1; index = text.indexOf("<", index + 1)) {
      if (index + 1 < text.length && !this.#secondCharacters.has(text.charCodeAt(index + 1)))
        continue;
      const isOpeningTag = this.#openingTags.some((openingTag) =>
        text.startsWith(openingTag, index),
      );
      const mayBeOpeningTag =
        isOpeningTag ||
        this.#openingTags.some((openingTag) => openingTag.startsWith(text.slice(index)));
      if (!mayBeOpeningTag) continue;
      this.#codeSpans.push(text.slice(scannedLength, index));
      scannedLength = index;
      if (this.#codeSpans.isInsideCode) continue;
      this.#emit(text.slice(0, index), out);
      if (!isOpeningTag) {
        this.#state = { at: "text", held: text.slice(index) };
        return "";
      }
      const input = new MarkupBuffer();
      this.#state = {
        at: "block",
        input,
        parser: parseLeakedCall(input, this.#dialects, this.#tools),
      };
      return text.slice(index);
    }
    this.#codeSpans.push(text.slice(scannedLength));
    this.#emit(text, out);
    this.#state = { at: "text", held: "" };
    return "";
  }

  /** Returns the text after the block; empty if the block has not ended. */
  #readBlock(added: string, out: LeakedCallSegment[]): string {
    if (this.#state.at !== "block") return added;
    const { input, parser } = this.#state;
    input.append(added);
    const step = parser.next();
    if (step.done !== true) return "";
    this.#state = { at: "text", held: "" };
    const source = input.consumed.toString();
    if (step.value === undefined) {
      this.#failedBlocks += 1;
      this.#emitUnscanned(source, out);
    } else {
      out.push({ type: "call", call: step.value, source });
      this.#blanks = "";
      this.#holdsBlanks = true;
      this.#hasFoundCall = true;
    }
    return input.rest;
  }

  #emitUnscanned(text: string, out: LeakedCallSegment[]): void {
    this.#codeSpans.push(text);
    this.#emit(text, out);
  }

  #emit(text: string, out: LeakedCallSegment[]): void {
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
