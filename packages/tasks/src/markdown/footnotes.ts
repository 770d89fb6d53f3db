import { readCite } from "./cites.ts";

/** `[^note]: text`. A number that the runtime has read as a marker of nothing comes as a cite. */
const definition =
  /^[ \t]*(?:\[\^(?<label>[^\s[\]^\u{FDD0}-\u{FDD2}]{1,60})\]|(?<cite>\u{FDD1}[1-9]\d{0,8}\u{FDD2})):(?<text>.*)$/u;
const inBrackets = /^\^[^\s[\]^\u{FDD0}-\u{FDD2}]{1,60}$/u;
const longest = 61;

/** What a line begins to say of a footnote. */
export function footnoteIn(line: string): { label: string; text: string } | undefined {
  const groups = definition.exec(line)?.groups;
  if (groups === undefined) return undefined;
  const { label, cite, text = "" } = groups;
  return { label: label ?? String(readCite(cite ?? "").reference), text: text.trim() };
}

/** The label of the footnote that `[^label]` names, whose brackets begin and end there. */
export function footnoteBetween(text: string, from: number, to: number): string | undefined {
  if (text.charAt(from) !== "^" || to - from > longest) return undefined;
  return inBrackets.test(text.slice(from, to)) ? text.slice(from + 1, to) : undefined;
}

/** What a footnote is known by among the labels of links, none of which begins like this. */
export function footnoteKey(label: string): string {
  return `^${label.toLowerCase()}`;
}
