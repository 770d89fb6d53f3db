/*
 * The HTML that means something in Markdown, without attributes: everything else is text.
 */

export const inlineTags = ["sub", "sup", "kbd"] as const;

export type InlineTag = (typeof inlineTags)[number];

/** As pieces of a regular expression. */
export const tagForm = String.raw`<(?<tag>\/?(?:[sS][uU][bB]|[sS][uU][pP]|[kK][bB][dD]))[ \t]?>`;
export const commentOpening = "<!--";
export const commentClosing = "-->";

const details =
  /^[ \t]*<details(?<open>[ \t]+open(?:=(?:"(?:open)?"|'(?:open)?'))?)?[ \t]*>(?<rest>.*)$/i;
const summary = /^[ \t]*<summary[ \t]*>(?<text>.*?)<\/summary[ \t]*>(?<rest>.*)$/i;
const closesAtStart = /^[ \t]*<\/details[ \t]*>/i;
const closesAtEnd = /<\/details[ \t]{0,20}>[ \t]{0,20}$/i;
const longestClosing = 60;

/** What stands behind the tag that opens a fold. */
export function detailsIn(line: string): { open: boolean; rest: string } | undefined {
  const groups = details.exec(line)?.groups;
  if (groups === undefined) return undefined;
  return { open: groups["open"] !== undefined, rest: groups["rest"] ?? "" };
}

/** What a fold is called, if the line begins with it, and what stands behind it. */
export function summaryIn(line: string): { text: string; rest: string } | undefined {
  const groups = summary.exec(line)?.groups;
  if (groups === undefined) return undefined;
  return { text: (groups["text"] ?? "").trim(), rest: groups["rest"] ?? "" };
}

/** Where a line closes a fold: what stands before and behind the tag. */
export function closingIn(line: string): { before: string; rest: string } | undefined {
  const start = closesAtStart.exec(line)?.[0];
  if (start !== undefined) return { before: "", rest: line.slice(start.length) };
  const end = closesAtEnd.exec(line.slice(-longestClosing))?.[0];
  return end === undefined ? undefined : { before: line.slice(0, -end.length), rest: "" };
}
