import type { Annotation } from "../items.ts";

/*
 * A reference in a text that the parser is to read: one of two characters that no text has, the number, and a third one.
 * Unicode sets them aside for use within a program.
 */
export const resolvedMark = "\u{FDD0}";
const unresolvedMark = "\u{FDD1}";
export const endMark = "\u{FDD2}";

/**
 * Markers at the protocol's ranges become what the parser reads as `cite`; characters of the text that look like it are
 * taken out first. While a text grows, a marker that has only begun at its end is held back.
 */
export function withCites(
  text: string,
  annotations: readonly Annotation[],
  growing = false,
): string {
  const pieces: string[] = [];
  let at = 0;
  for (const one of annotations.toSorted((a, b) => a.start_index - b.start_index)) {
    const { type, reference_id, start_index, end_index } = one;
    // What overlaps, or names no marker of the text, is somebody else's mistake: the text is shown as it is.
    if (start_index < at || text.slice(start_index, end_index) !== `[^${reference_id}]`) continue;
    const mark = type === "reference_to_block" ? resolvedMark : unresolvedMark;
    pieces.push(withoutCiteMarks(text.slice(at, start_index)), mark, String(reference_id), endMark);
    at = end_index;
  }
  const end =
    text.length - (growing ? (begunMarker.exec(text.slice(-longestBegun))?.[0].length ?? 0) : 0);
  pieces.push(withoutCiteMarks(text.slice(at, Math.max(at, end))));
  return pieces.join("");
}

const begunMarker = /\[(?:\^\d{0,9})?$/;
const longestBegun = 11;
const marks = /[\u{FDD0}-\u{FDD2}]/gu;

/** Looked for first, which costs a tenth: it is asked of the whole text at each of its words. */
export function withoutCiteMarks(text: string): string {
  return /[\uFDD0-\uFDD2]/.test(text) ? text.replaceAll(marks, "") : text;
}

/** For a regular expression of others: a whole cite. */
export const citeForm = String.raw`[\u{FDD0}\u{FDD1}][1-9]\d{0,8}\u{FDD2}`;

export function readCite(cite: string): { reference: number; resolved: boolean } {
  return { reference: Number(cite.slice(1, -1)), resolved: cite.startsWith(resolvedMark) };
}

const wholeCite = new RegExp(citeForm, "gu");

/** Where nothing is cited, as in code, the marker is what it was in the text. */
export function asWritten(text: string): string {
  if (text.search(marks) === -1) return text;
  return withoutCiteMarks(text.replaceAll(wholeCite, (cite) => `[^${readCite(cite).reference}]`));
}
