import type { Annotation } from "../items.ts";
import type { Inline } from "./blocks.ts";
import { BlockParser } from "./block-parser.ts";
import { CodeRuns } from "./code-runs.ts";
import { endMark, resolvedMark, withoutCiteMarks } from "./cites.ts";
import { longestPiece, nextPiece, withoutReturn } from "./line-pieces.ts";
import { References } from "./references.ts";

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

/** A `[^n]` and where it begins. */
interface Marker {
  reference: number;
  start: number;
}

/** `[^01]` is no marker: nobody has the number 01. */
const marker = /\[\^([1-9]\d{0,8})\]/g;
const begunMarker = /^\[(?:\^(?:[1-9]\d{0,8})?)?$/;
const longestBegun = 11;
/** So begin lines that are nothing but text, whatever follows. */
const plainStart = /^(?:[*_]{0,3}[\p{L}\p{N}])/u;

/**
 * Finds `[^n]` outside of code in Markdown that comes in pieces. Text is held back only while it may be the beginning of a
 * marker. A backtick may open code or be a backtick, which is known when its partner comes or the paragraph ends: the markers
 * behind it wait until then, the text does not. What is found does not depend on where the pieces were cut.
 */
export class Annotator {
  /** How many UTF-16 units have been given out. */
  length = 0;

  readonly #known: (n: number) => boolean;
  #annotations: Annotation[] = [];
  /** The beginning of a marker, which is held back. */
  #begun = "";
  /** All so far. The parser reads each as a citation of its place in here, counted from 1. */
  readonly #markers: Marker[] = [];
  /** So many are known to be in code, or not to be. */
  #decided = 0;
  /** The line that has not ended, as the parser reads it. */
  #line = "";
  #inLine = false;
  readonly #texts = new TextReader((text) => this.#decide(text, true));
  readonly #parser = new BlockParser(this.#texts);

  constructor(known: (n: number) => boolean) {
    this.#known = known;
  }

  push(delta: string): Annotated {
    const text = this.#begun + delta;
    const bracket = text.lastIndexOf("[");
    const last = bracket < text.length - longestBegun || bracket === -1 ? "" : text.slice(bracket);
    this.#begun = begunMarker.test(last) ? last : "";
    return this.#read(text.slice(0, text.length - this.#begun.length));
  }

  end(): Annotated {
    const annotated = this.#read(this.#begun);
    this.#begun = "";
    if (this.#line !== "") this.#parser.line(withoutReturn(this.#line), this.#inLine, true);
    this.#line = "";
    this.#parser.end(false);
    return { text: annotated.text, annotations: [...annotated.annotations, ...this.#taken()] };
  }

  #read(text: string): Annotated {
    const before = this.#markers.length;
    this.#line += this.#withMarks(text);
    this.length += text.length;
    if (text.includes("\n") || this.#line.length > longestPiece) this.#readLines();
    if (this.#markers.length > before && this.#decided < this.#markers.length) this.#lookAhead();
    return { text, annotations: this.#taken() };
  }

  /** With each marker as what the parser takes for a citation. */
  #withMarks(text: string): string {
    let marked = "";
    let at = 0;
    if (text.includes("[^"))
      for (const { 0: whole, 1: number, index } of text.matchAll(marker)) {
        this.#markers.push({ reference: Number(number), start: this.length + index });
        marked +=
          withoutCiteMarks(text.slice(at, index)) +
          `${resolvedMark}${this.#markers.length}${endMark}`;
        at = index + whole.length;
      }
    return marked + withoutCiteMarks(text.slice(at));
  }

  #readLines(): void {
    let at = 0;
    for (let piece = nextPiece(this.#line, at); piece; piece = nextPiece(this.#line, at)) {
      this.#parser.line(piece.text, this.#inLine, piece.ended);
      this.#inLine = !piece.ended;
      at = piece.next;
    }
    this.#line = this.#line.slice(at);
    // Only what is open is needed.
    this.#parser.blocks.length = 0;
  }

  /**
   * Markers in a line that has not ended are told if what follows cannot change what they are, unless the line ends another
   * block, whose markers come first.
   */
  #lookAhead(): void {
    let endsAnother = false;
    const branch = this.#texts.trying(
      () => (endsAnother = true),
      () => {
        const tried = this.#parser.branch(true);
        tried.line(withoutReturn(this.#line), this.#inLine, false);
        return tried;
      },
    );
    const { paragraph } = branch;
    if (endsAnother || paragraph === undefined) return;
    if (plainStart.test(paragraph.text.slice(paragraph.last))) this.#decide(paragraph.text, false);
  }

  /** Tells the markers of a text that stand outside of code; `isWhole`: more of it will not come. */
  #decide(text: string, isWhole: boolean): void {
    if (!text.includes(resolvedMark)) return;
    const runs = new CodeRuns(text);
    for (let at = 0; at < text.length; at += 1) {
      const char = text.charAt(at);
      if (char === "\\") at += 1;
      else if (char === resolvedMark) {
        const end = text.indexOf(endMark, at);
        if (end === -1) return;
        this.#tell(Number(text.slice(at + 1, end)));
        at = end;
      } else if (char === "`") {
        let length = 1;
        while (text.charAt(at + length) === "`") length += 1;
        const closing = runs.next(length, at + length);
        if (closing === undefined && !isWhole) return;
        at = (closing ?? at) + length - 1;
      }
    }
  }

  #tell(nth: number): void {
    const found = this.#markers[nth - 1];
    if (found === undefined || nth <= this.#decided) return;
    this.#decided = nth;
    const { reference, start } = found;
    this.#annotations.push({
      type: this.#known(reference) ? "reference_to_block" : "unresolved_reference",
      reference_id: reference,
      start_index: start,
      end_index: start + `[^${reference}]`.length,
    });
  }

  #taken(): Annotation[] {
    const taken = this.#annotations;
    this.#annotations = [];
    return taken;
  }
}

/** Is handed the texts of blocks, each whole; code is none of them. */
class TextReader extends References {
  #hear: (text: string) => void;

  constructor(hear: (text: string) => void) {
    super();
    this.#hear = hear;
  }

  /** Hands texts to another one meanwhile. */
  trying<Result>(hear: (text: string) => void, work: () => Result): Result {
    const before = this.#hear;
    this.#hear = hear;
    try {
      return work();
    } finally {
      this.#hear = before;
    }
  }

  override read(text: string): Inline[] {
    this.#hear(text);
    return [];
  }

  override readAlone(text: string): Inline[] {
    return this.read(text);
  }
}
