/*
 * HTML in Markdown. Only a few tags without attributes are supported; all others are shown as text.
 */

export const inlineTags = ["sub", "sup", "kbd"] as const;

export type InlineTag = (typeof inlineTags)[number];

/** Source of a regular expression. Its group is the tag name, with a slash for a closing tag. */
export const inlineTagPattern = String.raw`<(\/?(?:[sS][uU][bB]|[sS][uU][pP]|[kK][bB][dD]))[ \t]?>`;
export const commentOpening = "<!--";
export const commentClosing = "-->";

const attributePattern = String.raw`\s+[a-zA-Z_:][\w:.-]*(?:\s*=\s*(?:[^\s"'=<>\x60]+|'[^']*'|"[^"]*"))?`;
/** Source of a regular expression for an opening or a closing tag. */
export const tagPattern = String.raw`<(?:[a-zA-Z][a-zA-Z0-9-]*(?:${attributePattern})*\s*\/?|\/[a-zA-Z][a-zA-Z0-9-]*\s*)>`;

const detailsPattern =
  /^<details(?<open>[ \t]+open(?:=(?:"(?:open)?"|'(?:open)?'))?)?[ \t]*>(?<rest>.*)$/i;
const summaryPattern = /^<summary[ \t]*>(?<text>.*?)<\/summary[ \t]*>(?<rest>.*)$/i;
const closingTagAtStart = /^<\/details[ \t]*>/i;
const closingTagAtEnd = /<\/details[ \t]{0,20}>[ \t]{0,20}$/i;
const maxClosingLength = 60;

/** Parses `<details>` at the start of a line; `rest`: the text after the tag. */
export function parseDetailsOpening(line: string): { open: boolean; rest: string } | undefined {
  const groups = detailsPattern.exec(line)?.groups;
  if (groups === undefined) return undefined;
  return { open: groups["open"] !== undefined, rest: groups["rest"] ?? "" };
}

/** Parses `<summary>…</summary>` at the start of a line; `rest`: the text after it. */
export function parseSummary(line: string): { text: string; rest: string } | undefined {
  const groups = summaryPattern.exec(line)?.groups;
  if (groups === undefined) return undefined;
  return { text: (groups["text"] ?? "").trim(), rest: groups["rest"] ?? "" };
}

/** Parses `</details>` at the start or end of a line; `before` and `rest`: the text before and after it. */
export function parseDetailsClosing(line: string): { before: string; rest: string } | undefined {
  const start = closingTagAtStart.exec(line)?.[0];
  if (start !== undefined) return { before: "", rest: line.slice(start.length) };
  const end = closingTagAtEnd.exec(line.slice(-maxClosingLength))?.[0];
  return end === undefined ? undefined : { before: line.slice(0, -end.length), rest: "" };
}

/** The end condition of an HTML block: a line that matches the expression, or a blank line. */
export type HtmlEnd = RegExp | "blank line";

/** The start and end conditions of the CommonMark specification, except comments, which are hidden. */
const htmlBlockPatterns: readonly (readonly [start: RegExp, end: HtmlEnd])[] = [
  [/^<(?:script|pre|style|textarea)(?:\s|>|$)/i, /<\/(?:script|pre|style|textarea)>/i],
  [/^<\?/, /\?>/],
  [/^<![a-zA-Z]/, />/],
  [/^<!\[CDATA\[/, /\]\]>/],
  [
    /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|\/?>|$)/i,
    "blank line",
  ],
];
/** Only HTML tags: inside other tags, such as `<answer>`, Markdown is parsed. */
const loneTagPattern = new RegExp(
  String.raw`^(?=<\/?(?:a|abbr|b|bdi|bdo|big|button|canvas|cite|code|data|del|dfn|em|font|i|img|input|ins|label|map|mark|meter|object|output|picture|progress|q|s|samp|select|slot|small|source|span|strong|svg|template|time|tt|u|var|video|audio|wbr)[\s/>])${tagPattern}\s*$`,
  "i",
);

/**
 * Returns the end condition of the HTML block that a line starts. An inline tag on its own line does not interrupt a
 * paragraph.
 */
export function findHtmlBlockEnd(line: string, inParagraph: boolean): HtmlEnd | undefined {
  if (!line.startsWith("<")) return undefined;
  const end = htmlBlockPatterns.find(([start]) => start.test(line))?.[1];
  return end ?? (!inParagraph && loneTagPattern.test(line) ? "blank line" : undefined);
}
