import type { Annotation } from "../items.ts";

/*
 * The internal encoding of citations in the input of the parser: a start mark, the number, and an end mark. The marks are Unicode
 * noncharacters, which are reserved for internal use and do not occur in text.
 */
export const resolvedMark = "\u{FDD0}";
const unresolvedMark = "\u{FDD1}";
export const endMark = "\u{FDD2}";

/**
 * Encodes the annotated markers in the text, which the parser then reads as `cite`. Marks that the text already contains are
 * removed. While the text is streaming, the start of a marker at its end is held back.
 */
export function markCitations(
  text: string,
  annotations: readonly Annotation[],
  isStreaming = false,
): string {
  const pieces: string[] = [];
  let position = 0;
  for (const annotation of annotations.toSorted((a, b) => a.start_index - b.start_index)) {
    const { type, reference_id, start_index, end_index } = annotation;
    // Skips annotations that overlap or do not match a marker: their text is shown unchanged.
    if (start_index < position || text.slice(start_index, end_index) !== `[^${reference_id}]`)
      continue;
    const mark = type === "reference_to_block" ? resolvedMark : unresolvedMark;
    pieces.push(
      stripCitationMarks(text.slice(position, start_index)),
      mark,
      String(reference_id),
      endMark,
    );
    position = end_index;
  }
  const end =
    text.length -
    (isStreaming
      ? (partialMarkerPattern.exec(text.slice(-maxPartialMarkerLength))?.[0].length ?? 0)
      : 0);
  pieces.push(stripCitationMarks(text.slice(position, Math.max(position, end))));
  return pieces.join("");
}

const partialMarkerPattern = /\[(?:\^\d{0,9})?$/;
const maxPartialMarkerLength = 11;
const citationMarkCharacters = /[\u{FDD0}-\u{FDD2}]/gu;

/**
 * Removes citation marks. Tests for marks first, which takes a tenth of the time of `replaceAll`, because this is called with
 * the complete text for every delta.
 */
export function stripCitationMarks(text: string): string {
  return /[\uFDD0-\uFDD2]/.test(text) ? text.replaceAll(citationMarkCharacters, "") : text;
}

/** Source of a regular expression that matches one encoded citation. */
export const citationPattern = String.raw`[\u{FDD0}\u{FDD1}][1-9]\d{0,8}\u{FDD2}`;

export function parseCitation(citation: string): { reference: number; resolved: boolean } {
  return { reference: Number(citation.slice(1, -1)), resolved: citation.startsWith(resolvedMark) };
}

const citationRegExp = new RegExp(citationPattern, "gu");

/** Decodes citations to the original markers, for code and other places without citations. */
export function restoreMarkers(text: string): string {
  if (text.search(citationMarkCharacters) === -1) return text;
  return stripCitationMarks(
    text.replaceAll(citationRegExp, (citation) => `[^${parseCitation(citation).reference}]`),
  );
}
