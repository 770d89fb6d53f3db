import { CodeSpans, type Marker } from "./code-spans.ts";
import type { Annotation } from "./items.ts";

export interface Annotated {
  /** What may be sent now. */
  text: string;
  annotations: Annotation[];
}

/** The markers of a whole text. */
export function annotate(text: string, known: (n: number) => boolean): Annotation[] {
  const annotator = new Annotator(known);
  const { annotations } = annotator.push(text);
  return annotations.concat(annotator.end().annotations);
}

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const HASH = 35;
const CLOSING_PARENTHESIS = 41;
const ASTERISK = 42;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const GREATER = 62;
const OPENING_BRACKET = 91;
const BACKSLASH = 92;
const CLOSING_BRACKET = 93;
const CARET = 94;
const BACKTICK = 96;
const TILDE = 126;

const maxDigits = 9;
const shortestFence = 3;
const tabWidth = 4;
/** CommonMark: a closing fence that stands further in belongs to the code. */
const maxFenceShift = 3;

/** What may stand before a line's own text. */
type Lead = "nothing" | "bullet" | "number" | "hashes";

type Line =
  | { at: "lead"; lead: Lead }
  | { at: "fence"; char: number; length: number }
  /** After three backticks: a fence, unless another backtick follows in the line. */
  | { at: "info"; length: number; markers: Marker[] }
  | { at: "text" }
  // in fenced code
  | { at: "code_lead"; quoted: boolean }
  | { at: "closing"; length: number }
  | { at: "code" };

interface Fence {
  char: number;
  length: number;
  column: number;
  quoted: boolean;
}

/**
 * Finds `[^n]` in Markdown that comes in pieces. Text is held back only while it may be the beginning of a marker. A
 * backtick may open code or be a backtick, which is known when its partner comes or the paragraph ends: the markers
 * behind it wait until then, the text does not. What is found does not depend on where the pieces were cut.
 *
 * Code is what stands between backticks, and what is fenced by ``` or ~~~ at any indent, in quotes and lists too. An
 * indented line is not code: in the lists that models write, it mostly is a paragraph.
 */
export class Annotator {
  /** How many UTF-16 units have been given out. */
  length = 0;

  readonly #known: (n: number) => boolean;
  #annotations: Annotation[] = [];
  #position = 0;
  #line: Line = { at: "lead", lead: "nothing" };
  #column = 0;
  #quoted = false;
  #quotedBefore = false;
  #heading = false;
  #fence: Fence | undefined;
  readonly #spans = new CodeSpans();
  #backslashes = 0;
  /** How many backticks have come in a row. */
  #run = 0;
  #runEscaped = false;
  /** The beginning of a marker, which is also what is held back. */
  #prefix = "";

  constructor(known: (n: number) => boolean) {
    this.#known = known;
  }

  push(delta: string): Annotated {
    const before = this.#prefix;
    for (let at = 0; at < delta.length; at += 1) {
      this.#read(delta.charCodeAt(at));
      this.#position += 1;
    }
    const text = before + delta;
    return this.#give(
      this.#prefix === "" ? text : text.slice(0, text.length - this.#prefix.length),
    );
  }

  end(): Annotated {
    const rest = this.#prefix;
    this.#prefix = "";
    this.#endLine();
    this.#endBlock();
    return this.#give(rest);
  }

  #give(text: string): Annotated {
    const annotations = this.#annotations;
    this.#annotations = [];
    this.length += text.length;
    return { text, annotations };
  }

  #read(char: number): void {
    const line = this.#line;
    if (char === LF) {
      this.#endLine();
      return;
    }
    switch (line.at) {
      case "text":
      case "info":
        this.#readText(char);
        return;
      case "code":
        return;
      case "lead":
        this.#readLead(line.lead, char);
        return;
      case "fence":
        this.#readFence(line, char);
        return;
      case "code_lead":
        this.#readCodeLead(line, char);
        return;
      case "closing":
        if (char === this.#fence?.char && line.length >= 0) line.length += 1;
        else if (isBlank(char) && line.length >= (this.#fence?.length ?? 0)) line.length = closed;
        else if (!(isBlank(char) && line.length === closed)) this.#line = { at: "code" };
    }
  }

  #readLead(lead: Lead, char: number): void {
    if (isBlank(char)) {
      this.#column += char === TAB ? tabWidth : 1;
      if (lead === "nothing") return;
      if (lead !== "number") this.#endBlock();
      this.#heading ||= lead === "hashes";
      this.#line = lead === "bullet" ? { at: "lead", lead: "nothing" } : { at: "text" };
      return;
    }
    this.#column += 1;
    const next = leadAfter(lead, char);
    if (next !== undefined) {
      this.#line = { at: "lead", lead: next };
    } else if (lead === "nothing" && char === GREATER) {
      if (!this.#quotedBefore && !this.#quoted) this.#endBlock();
      this.#quoted = true;
    } else if (lead === "nothing" && (char === BACKTICK || char === TILDE)) {
      this.#line = { at: "fence", char, length: 1 };
    } else {
      this.#line = { at: "text" };
      this.#readText(char);
    }
  }

  #readFence(line: { at: "fence"; char: number; length: number }, char: number): void {
    if (char === line.char) {
      line.length += 1;
      return;
    }
    if (line.length >= shortestFence && line.char === TILDE) {
      this.#openFence(line.char, line.length);
      this.#line = { at: "code" };
      return;
    }
    if (line.length >= shortestFence) {
      this.#line = { at: "info", length: line.length, markers: [] };
    } else {
      this.#line = { at: "text" };
      if (line.char === BACKTICK) this.#spans.run(line.length, false);
    }
    this.#readText(char);
  }

  #openFence(char: number, length: number): void {
    this.#endBlock();
    this.#fence = { char, length, column: this.#column, quoted: this.#quoted };
  }

  #readCodeLead(line: { at: "code_lead"; quoted: boolean }, char: number): void {
    const fence = this.#fence;
    if (fence === undefined) return;
    if (isBlank(char)) {
      this.#column += char === TAB ? tabWidth : 1;
    } else if (fence.quoted && !line.quoted && char !== GREATER) {
      // The quote has ended, and with it the code in it.
      this.#fence = undefined;
      this.#line = { at: "lead", lead: "nothing" };
      this.#readLead("nothing", char);
    } else if (fence.quoted && char === GREATER) {
      this.#column += 1;
      line.quoted = true;
    } else if (char === fence.char && this.#column < fence.column + maxFenceShift) {
      this.#line = { at: "closing", length: 1 };
    } else {
      this.#line = { at: "code" };
    }
  }

  #readText(char: number): void {
    if (this.#prefix !== "" && this.#readMarker(char)) return;
    if (char === BACKTICK) {
      if (this.#run === 0) this.#runEscaped = this.#backslashes % 2 === 1;
      this.#run += 1;
      this.#backslashes = 0;
      return;
    }
    if (this.#run > 0) this.#endRun();
    if (char === BACKSLASH) {
      this.#backslashes += 1;
      return;
    }
    if (char === OPENING_BRACKET && this.#backslashes % 2 === 0) this.#prefix = "[";
    this.#backslashes = 0;
  }

  /** False if the character is not the marker's, so that what was held back is ordinary text. */
  #readMarker(char: number): boolean {
    const prefix = this.#prefix;
    if (prefix.length === 1 ? char === CARET : isDigit(char) && mayGrow(prefix)) {
      this.#prefix += String.fromCharCode(char);
      return true;
    }
    this.#prefix = "";
    if (char !== CLOSING_BRACKET || prefix.length < 3) return false;
    const marker = { reference: Number(prefix.slice(2)), start: this.#position - prefix.length };
    if (this.#line.at === "info") this.#line.markers.push(marker);
    else if (this.#spans.marker(marker)) this.#found(marker);
    return true;
  }

  #found({ reference, start }: Marker): void {
    this.#annotations.push({
      type: this.#known(reference) ? "reference_to_block" : "unresolved_reference",
      reference_id: reference,
      start_index: start,
      end_index: start + `[^${reference}]`.length,
    });
  }

  #endRun(): void {
    const line = this.#line;
    if (line.at === "info") {
      this.#line = { at: "text" };
      this.#spans.run(line.length, false);
      for (const marker of line.markers) if (this.#spans.marker(marker)) this.#found(marker);
    }
    this.#spans.run(this.#run, this.#runEscaped);
    this.#run = 0;
  }

  #endLine(): void {
    this.#prefix = "";
    this.#backslashes = 0;
    if (this.#run > 0) this.#endRun();
    const line = this.#line;
    switch (line.at) {
      case "lead":
        this.#endBlock();
        break;
      case "fence":
        if (line.length >= shortestFence) this.#openFence(line.char, line.length);
        else if (line.char === BACKTICK) this.#spans.run(line.length, false);
        break;
      case "info":
        this.#openFence(BACKTICK, line.length);
        break;
      case "closing":
        if (line.length === closed || line.length >= (this.#fence?.length ?? 0))
          this.#fence = undefined;
        break;
      case "code_lead":
        if (this.#fence?.quoted === true && !line.quoted) this.#fence = undefined;
        break;
      case "text":
        if (this.#heading) this.#endBlock();
        break;
      case "code":
        break;
    }
    this.#quotedBefore = this.#quoted;
    this.#quoted = false;
    this.#heading = false;
    this.#column = 0;
    this.#line =
      this.#fence === undefined
        ? { at: "lead", lead: "nothing" }
        : { at: "code_lead", quoted: false };
  }

  #endBlock(): void {
    for (const marker of this.#spans.end()) this.#found(marker);
  }
}

/** Of a closing fence behind which blanks have come. */
const closed = -1;

function leadAfter(lead: Lead, char: number): Lead | undefined {
  if (isDigit(char)) return lead === "nothing" || lead === "number" ? "number" : undefined;
  if (char === HASH) return lead === "nothing" || lead === "hashes" ? "hashes" : undefined;
  if (lead === "number") return char === DOT || char === CLOSING_PARENTHESIS ? "bullet" : undefined;
  if (lead !== "nothing") return undefined;
  return char === MINUS || char === PLUS || char === ASTERISK ? "bullet" : undefined;
}

function isBlank(char: number): boolean {
  return char === SPACE || char === TAB || char === CR;
}

function isDigit(char: number): boolean {
  return char >= ZERO && char <= NINE;
}

/** `[^01]` is no marker: nobody has the number 01. */
function mayGrow(prefix: string): boolean {
  return prefix.length < 2 + maxDigits && prefix !== "[^0";
}
