/*
 * HTML within Markdown. Few tags mean something, and only without attributes: all others are shown as text.
 */

export const inlineTags = ["sub", "sup", "kbd"] as const;

export type InlineTag = (typeof inlineTags)[number];

/** As pieces of a regular expression. */
export const tagForm = String.raw`<(\/?(?:[sS][uU][bB]|[sS][uU][pP]|[kK][bB][dD]))[ \t]?>`;
export const commentOpening = "<!--";
export const commentClosing = "-->";

const attribute = String.raw`\s+[a-zA-Z_:][\w:.-]*(?:\s*=\s*(?:[^\s"'=<>\x60]+|'[^']*'|"[^"]*"))?`;
/** An opening or a closing tag. */
export const anyTag = String.raw`<(?:[a-zA-Z][a-zA-Z0-9-]*(?:${attribute})*\s*\/?|\/[a-zA-Z][a-zA-Z0-9-]*\s*)>`;

const details =
  /^<details(?<open>[ \t]+open(?:=(?:"(?:open)?"|'(?:open)?'))?)?[ \t]*>(?<rest>.*)$/i;
const summary = /^<summary[ \t]*>(?<text>.*?)<\/summary[ \t]*>(?<rest>.*)$/i;
const closesAtStart = /^<\/details[ \t]*>/i;
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

/** What ends a block of HTML: a line that has this, or a blank line. */
export type HtmlEnd = RegExp | "blank line";

/** The kinds of the CommonMark specification, but for comments, which are hidden. */
const htmlBlocks: readonly (readonly [start: RegExp, end: HtmlEnd])[] = [
  [/^<(?:script|pre|style|textarea)(?:\s|>|$)/i, /<\/(?:script|pre|style|textarea)>/i],
  [/^<\?/, /\?>/],
  [/^<![a-zA-Z]/, />/],
  [/^<!\[CDATA\[/, /\]\]>/],
  [
    /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|\/?>|$)/i,
    "blank line",
  ],
];
/** Only tags that HTML knows: Markdown within others, such as `<answer>`, is read. */
const loneTag = new RegExp(
  String.raw`^(?=<\/?(?:a|abbr|b|bdi|bdo|big|button|canvas|cite|code|data|del|dfn|em|font|i|img|input|ins|label|map|mark|meter|object|output|picture|progress|q|s|samp|select|slot|small|source|span|strong|svg|template|time|tt|u|var|video|audio|wbr)[\s/>])${anyTag}\s*$`,
  "i",
);

/** How the block of HTML ends that a line begins. A tag alone that could stand within a line interrupts no paragraph. */
export function htmlBlockIn(line: string, inParagraph: boolean): HtmlEnd | undefined {
  if (!line.startsWith("<")) return undefined;
  const end = htmlBlocks.find(([start]) => start.test(line))?.[1];
  return end ?? (!inParagraph && loneTag.test(line) ? "blank line" : undefined);
}
