/** True for URLs that may be linked in an exported file; excludes those that a browser would execute. */
export function isWebUrl(url: string): boolean {
  return /^https?:\/\/[^\s]/i.test(url);
}

/** Escapes text for a line of Markdown. */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>#!|~&$]/g, String.raw`\$&`);
}

/** Formats text as inline code. */
export function toCodeSpan(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  const ticks = "`".repeat(findLongestMatch(line, /`+/g) + 1);
  const padding = line.startsWith("`") || line.endsWith("`") || line.trim() === "" ? " " : "";
  return `${ticks}${padding}${line}${padding}${ticks}`;
}

/** Formats text as a code block whose fence is longer than any in the text. */
export function toFencedCode(text: string, language = ""): string {
  const fence = "`".repeat(Math.max(3, findLongestMatch(text, /`+/g) + 1));
  return `${fence}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** Formats a link. Escapes characters that would end the link. */
export function toMarkdownLink(label: string, url: string): string {
  return `[${escapeMarkdown(label)}](<${url.replaceAll(/[\s<>\\]/g, encodeURIComponent)}>)`;
}

/**
 * Makes the Markdown of a message safe to be followed by other text: closes an open code fence, and escapes HTML that would
 * swallow what follows.
 *
 * Fences in quotes and lists end with their container, so only those at the left edge count, by the rules of CommonMark.
 */
export function encloseMarkdown(markdown: string): string {
  let openFence = { fence: "", indent: "" };
  const areDetailsClosed = hasClosedDetails(markdown);
  // Indentation of the text of the list item to which a line may belong; infinite outside of lists.
  let itemIndent = Number.POSITIVE_INFINITY;
  let isAfterBlankLine = false;
  const lines = markdown.split(/\r\n?|\n/).map((line) => {
    const [, indent = "", fence = "", rest = ""] = fenceLine.exec(line) ?? [];
    if (openFence.fence !== "") {
      if (fence.startsWith(openFence.fence) && rest.trim() === "")
        openFence = { fence: "", indent: "" };
      return line;
    }
    const lineIndent = line.length - line.trimStart().length;
    if (isAfterBlankLine && line.trim() !== "" && lineIndent < itemIndent)
      itemIndent = Number.POSITIVE_INFINITY;
    isAfterBlankLine = line.trim() === "";
    const markerWidth = itemLine.exec(line)?.[0].length;
    if (markerWidth !== undefined && lineIndent < itemIndent) itemIndent = markerWidth;
    else if (
      fence !== "" &&
      lineIndent < itemIndent &&
      !(fence.startsWith("`") && rest.includes("`"))
    ) {
      openFence = { fence, indent };
      return line;
    }
    return line.replaceAll(codeOrHtmlPattern, (match: string, ...args: unknown[]) => {
      if (!match.startsWith("<")) return match;
      const tail = line.slice(Number(args.find((arg) => typeof arg === "number")));
      return isSelfContained(tail, areDetailsClosed) ? match : `\\${match}`;
    });
  });
  return [...lines, ...(openFence.fence === "" ? [] : [openFence.indent + openFence.fence])].join(
    "\n",
  );
}

/** True for an inline tag, a comment that ends on the same line, and a details tag if all details elements are closed. */
function isSelfContained(html: string, areDetailsClosed: boolean): boolean {
  if (html.startsWith("<!--")) return html.includes("-->");
  return inlineTag.test(html) || (areDetailsClosed && detailsTag.test(html));
}

/** True if every details element is closed, each tag on its own line. A heuristic that does not parse the Markdown. */
function hasClosedDetails(markdown: string): boolean {
  if (/`{3}|~{3}/.test(markdown) || !/<\/details>/i.test(markdown)) return false;
  let depth = 0;
  for (const [tag] of markdown.matchAll(/^<\/?details(?: open)?>/gim)) {
    depth += tag.startsWith("</") ? -1 : 1;
    if (depth < 0) return false;
  }
  const count = (pattern: RegExp): number => markdown.match(pattern)?.length ?? 0;
  const summaries = count(/^<summary>.*<\/summary>$/gim);
  return (
    depth === 0 &&
    count(/<\/?details\b/gi) === count(/^<\/?details(?: open)?>/gim) &&
    count(/<\/?summary\b/gi) === 2 * summaries &&
    !markdown.includes("<!--")
  );
}

const inlineTag = /^<\/?(?:sub|sup|kbd)>/i;
const detailsTag = /^<(?:\/?details|details open|\/?summary)>/i;

const fenceLine = /^( {0,3})(`{3,}|~{3,})(.*)$/;
const itemLine = /^ {0,3}(?!([-*])(?:\s*\1){2,}\s*$)(?:[-*+]|\d{1,9}[.)]) {1,4}(?=\S)/;
const codeOrHtmlPattern =
  /(?<![\\`])(`+)(?!`)[^`]*\1(?!`)|(?<=^ {0,3})<(?=\/?[a-z][\w-]*(?:[\s/>]|$))|<(?=!--|!\[CDATA\[|![a-z]|\?|\/?(?:details|summary|script|style|pre|textarea|template|title|iframe|xmp|noscript|noembed|noframes|plaintext|select|object|svg|math)\b)/gi;

function findLongestMatch(text: string, pattern: RegExp): number {
  let longest = 0;
  for (const [match] of text.matchAll(pattern)) longest = Math.max(longest, match.length);
  return longest;
}
