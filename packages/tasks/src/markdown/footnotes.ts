import { parseCitation } from "./citation-marks.ts";

/** Matches `[^label]: text`. A numeric label has been encoded as an unresolved citation. */
const definitionPattern =
  /^[ \t]*(?:\[\^(?<label>[^\s[\]^\u{FDD0}-\u{FDD2}]{1,60})\]|(?<cite>\u{FDD1}[1-9]\d{0,8}\u{FDD2})):(?<text>.*)$/u;
const labelPattern = /^\^[^\s[\]^\u{FDD0}-\u{FDD2}]{1,60}$/u;
const maxLabelLength = 61;

/** Parses the first line of a footnote definition. */
export function parseFootnoteDefinition(line: string): { label: string; text: string } | undefined {
  const groups = definitionPattern.exec(line)?.groups;
  if (groups === undefined) return undefined;
  const { label, cite, text = "" } = groups;
  return { label: label ?? String(parseCitation(cite ?? "").reference), text: text.trim() };
}

/** Returns the label of `[^label]`; `from` and `to`: the range inside the brackets. */
export function parseFootnoteLabel(text: string, from: number, to: number): string | undefined {
  if (text.charAt(from) !== "^" || to - from > maxLabelLength) return undefined;
  return labelPattern.test(text.slice(from, to)) ? text.slice(from + 1, to) : undefined;
}

/** Returns the key of a footnote among the labels of links, which never start with `^`. */
export function footnoteKey(label: string): string {
  return `^${label.toLowerCase()}`;
}
