import type { Annotation } from "../items.ts";
import type { MarkdownInline } from "./ast.ts";
import { BlockParser } from "./block-parser.ts";
import { BacktickRuns } from "./backtick-runs.ts";
import { endMark, resolvedMark, stripCitationMarks } from "./citation-marks.ts";
import { maxLineChunk, nextLineChunk, stripCarriageReturn } from "./line-chunks.ts";
import { LinkReferences } from "./link-references.ts";

export interface AnnotatedText {
  /** The text that can be sent now. */
  text: string;
  annotations: Annotation[];
}

/** Returns the annotations of complete text. `isKnownReference`: whether a number can be cited. */
export function annotateCitations(
  text: string,
  isKnownReference: (n: number) => boolean,
): Annotation[] {
  const annotator = new CitationAnnotator(isKnownReference);
  const { annotations } = annotator.push(text);
  return annotations.concat(annotator.end().annotations);
}

/** A `[^n]` and its position. */
interface Marker {
  reference: number;
  start: number;
}

/** `[^01]` is not a marker: numbers have no leading zeros. */
const markerPattern = /\[\^([1-9]\d{0,8})\]/g;
const partialMarkerPattern = /^\[(?:\^(?:[1-9]\d{0,8})?)?$/;
const maxPartialMarkerLength = 11;
/** Matches the start of a line that cannot become the start of another block than a paragraph. */
const plainTextStart = /^(?:[*_]{0,3}[\p{L}\p{N}])/u;

/**
 * Annotates the markers `[^n]` outside of code in streamed Markdown. Text is held back only if it may be the start of a marker.
 * Annotations of markers after a backtick are held back until it is known whether the backtick opens code: until the closing
 * backtick arrives or the paragraph ends. The annotations do not depend on how the text is split into deltas.
 */
export class CitationAnnotator {
  /** Length of the returned text so far, in UTF-16 units. */
  length = 0;

  readonly #isKnownReference: (n: number) => boolean;
  #annotations: Annotation[] = [];
  /** The start of a marker, which is held back. */
  #partialMarker = "";
  /** All markers so far. The parser sees each as a citation whose number is its index in this list, counted from 1. */
  readonly #markers: Marker[] = [];
  /** Number of the last annotated marker, counted from 1. Markers before it without an annotation are in code. */
  #lastAnnotated = 0;
  /** The unfinished line, as the parser reads it. */
  #line = "";
  #isMidLine = false;
  readonly #textListener = new BlockTextListener((text) => this.#annotateMarkers(text, true));
  readonly #parser = new BlockParser(this.#textListener);

  constructor(isKnownReference: (n: number) => boolean) {
    this.#isKnownReference = isKnownReference;
  }

  /** Returns the text that can be sent now, and the annotations that are certain now, which may be of earlier text. */
  push(delta: string): AnnotatedText {
    const text = this.#partialMarker + delta;
    const bracket = text.lastIndexOf("[");
    const tail =
      bracket < text.length - maxPartialMarkerLength || bracket === -1 ? "" : text.slice(bracket);
    this.#partialMarker = partialMarkerPattern.test(tail) ? tail : "";
    return this.#readText(text.slice(0, text.length - this.#partialMarker.length));
  }

  end(): AnnotatedText {
    const annotatedText = this.#readText(this.#partialMarker);
    this.#partialMarker = "";
    if (this.#line !== "")
      this.#parser.pushLine(stripCarriageReturn(this.#line), this.#isMidLine, true);
    this.#line = "";
    this.#parser.end(false);
    return {
      text: annotatedText.text,
      annotations: [...annotatedText.annotations, ...this.#takeAnnotations()],
    };
  }

  #readText(text: string): AnnotatedText {
    const markerCount = this.#markers.length;
    this.#line += this.#encodeMarkers(text);
    this.length += text.length;
    if (text.includes("\n") || this.#line.length > maxLineChunk) this.#readLines();
    if (this.#markers.length > markerCount && this.#lastAnnotated < this.#markers.length)
      this.#annotateUnfinishedLine();
    return { text, annotations: this.#takeAnnotations() };
  }

  /** Registers the markers and encodes them as citations for the parser. */
  #encodeMarkers(text: string): string {
    let encodedText = "";
    let position = 0;
    if (text.includes("[^"))
      for (const { 0: match, 1: number, index } of text.matchAll(markerPattern)) {
        this.#markers.push({ reference: Number(number), start: this.length + index });
        encodedText +=
          stripCitationMarks(text.slice(position, index)) +
          `${resolvedMark}${this.#markers.length}${endMark}`;
        position = index + match.length;
      }
    return encodedText + stripCitationMarks(text.slice(position));
  }

  #readLines(): void {
    let position = 0;
    for (
      let chunk = nextLineChunk(this.#line, position);
      chunk;
      chunk = nextLineChunk(this.#line, position)
    ) {
      this.#parser.pushLine(chunk.text, this.#isMidLine, chunk.isLineEnd);
      this.#isMidLine = !chunk.isLineEnd;
      position = chunk.next;
    }
    this.#line = this.#line.slice(position);
    // The finished blocks are not needed.
    this.#parser.blocks.length = 0;
  }

  /**
   * Annotates the markers of the unfinished line if it is certain to be paragraph text. Does nothing if the line ends another
   * block: the markers of that block must be annotated first.
   */
  #annotateUnfinishedLine(): void {
    let endsOtherBlock = false;
    const { paragraph } = this.#textListener.withHandler(
      () => (endsOtherBlock = true),
      () => {
        const preview = this.#parser.branch(true);
        preview.pushLine(stripCarriageReturn(this.#line), this.#isMidLine, false);
        return preview;
      },
    );
    if (endsOtherBlock || paragraph === undefined) return;
    if (plainTextStart.test(paragraph.text.slice(paragraph.lastLineStart)))
      this.#annotateMarkers(paragraph.text, false);
  }

  /** Annotates the markers outside of code in the text of a block. `isComplete`: the block has no more text. */
  #annotateMarkers(text: string, isComplete: boolean): void {
    if (!text.includes(resolvedMark)) return;
    const runs = new BacktickRuns(text);
    for (let position = 0; position < text.length; position += 1) {
      const char = text.charAt(position);
      if (char === "\\") position += 1;
      else if (char === resolvedMark) {
        const end = text.indexOf(endMark, position);
        if (end === -1) return;
        this.#addAnnotation(Number(text.slice(position + 1, end)));
        position = end;
      } else if (char === "`") {
        let length = 1;
        while (text.charAt(position + length) === "`") length += 1;
        const closing = runs.findNext(length, position + length);
        if (closing === undefined && !isComplete) return;
        position = (closing ?? position) + length - 1;
      }
    }
  }

  #addAnnotation(number: number): void {
    const marker = this.#markers[number - 1];
    if (marker === undefined || number <= this.#lastAnnotated) return;
    this.#lastAnnotated = number;
    const { reference, start } = marker;
    this.#annotations.push({
      type: this.#isKnownReference(reference) ? "reference_to_block" : "unresolved_reference",
      reference_id: reference,
      start_index: start,
      end_index: start + `[^${reference}]`.length,
    });
  }

  #takeAnnotations(): Annotation[] {
    const annotations = this.#annotations;
    this.#annotations = [];
    return annotations;
  }
}

/** Passes the complete text of each block except code to a handler, instead of parsing its inline content. */
class BlockTextListener extends LinkReferences {
  #onText: (text: string) => void;

  constructor(onText: (text: string) => void) {
    super();
    this.#onText = onText;
  }

  /** Calls `run`. Until it returns, text is passed to `onText` instead of the usual handler. */
  withHandler<Result>(onText: (text: string) => void, run: () => Result): Result {
    const previousHandler = this.#onText;
    this.#onText = onText;
    try {
      return run();
    } finally {
      this.#onText = previousHandler;
    }
  }

  override parse(text: string): MarkdownInline[] {
    this.#onText(text);
    return [];
  }

  override parseStandalone(text: string): MarkdownInline[] {
    return this.parse(text);
  }
}
