/** What may be linked to in a file that people open: nothing that a browser would run. */
export function isLink(url: string): boolean {
  return /^https?:\/\/[^\s]/i.test(url);
}

/** In a line of Markdown, as nothing but itself. */
export function inline(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>#!|~&$]/g, String.raw`\$&`);
}

/** As code in a line. */
export function codeSpan(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  const ticks = "`".repeat(longestRun(line, /`+/g) + 1);
  const blank = line.startsWith("`") || line.endsWith("`") || line.trim() === "" ? " " : "";
  return `${ticks}${blank}${line}${blank}${ticks}`;
}

/** In a fence that nothing in it can close. */
export function fenced(text: string, language = ""): string {
  const fence = "`".repeat(Math.max(3, longestRun(text, /`+/g) + 1));
  return `${fence}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** With spaces and brackets written so that they end nothing. */
export function link(label: string, url: string): string {
  return `[${inline(label)}](<${url.replaceAll(/[\s<>\\]/g, encodeURIComponent)}>)`;
}

/**
 * Somebody's Markdown, in a document with more behind it: a fence that was left open is closed, and what would begin or end
 * HTML that swallows the rest is shown as it was written.
 *
 * In a quote or a list a fence ends with these; so only those at the left edge count, by the rules of CommonMark.
 */
export function enclosed(markdown: string): string {
  let open = { fence: "", indent: "" };
  const areFoldsClosed = hasClosedFolds(markdown);
  // How far in the text of the list item stands that a line may belong to.
  let item = Number.POSITIVE_INFINITY;
  let blank = false;
  const lines = markdown.split(/\r\n?|\n/).map((line) => {
    const [, indent = "", fence = "", rest = ""] = fenceLine.exec(line) ?? [];
    if (open.fence !== "") {
      if (fence.startsWith(open.fence) && rest.trim() === "") open = { fence: "", indent: "" };
      return line;
    }
    const depth = line.length - line.trimStart().length;
    if (blank && line.trim() !== "" && depth < item) item = Number.POSITIVE_INFINITY;
    blank = line.trim() === "";
    const marker = itemLine.exec(line)?.[0].length;
    if (marker !== undefined && depth < item) item = marker;
    else if (fence !== "" && depth < item && !(fence.startsWith("`") && rest.includes("`"))) {
      open = { fence, indent };
      return line;
    }
    return line.replaceAll(codeOrSwallowing, (found: string, ...rest: unknown[]) => {
      if (!found.startsWith("<")) return found;
      const behind = line.slice(Number(rest.find((one) => typeof one === "number")));
      return isHarmless(behind, areFoldsClosed) ? found : `\\${found}`;
    });
  });
  return [...lines, ...(open.fence === "" ? [] : [open.indent + open.fence])].join("\n");
}

/** A tag within a line, a comment that ends there, or a fold if all are closed. */
function isHarmless(html: string, areFoldsClosed: boolean): boolean {
  if (html.startsWith("<!--")) return html.includes("-->");
  return inlineTag.test(html) || (areFoldsClosed && foldTag.test(html));
}

/** Whether every fold is closed, each on a line of its own, as far as can be told without reading the Markdown. */
function hasClosedFolds(markdown: string): boolean {
  if (/`{3}|~{3}/.test(markdown) || !/<\/details>/i.test(markdown)) return false;
  let depth = 0;
  for (const [tag] of markdown.matchAll(/^<\/?details(?: open)?>/gim)) {
    depth += tag.startsWith("</") ? -1 : 1;
    if (depth < 0) return false;
  }
  const count = (form: RegExp): number => markdown.match(form)?.length ?? 0;
  const summaries = count(/^<summary>.*<\/summary>$/gim);
  return (
    depth === 0 &&
    count(/<\/?details\b/gi) === count(/^<\/?details(?: open)?>/gim) &&
    count(/<\/?summary\b/gi) === 2 * summaries &&
    !markdown.includes("<!--")
  );
}

const inlineTag = /^<\/?(?:sub|sup|kbd)>/i;
const foldTag = /^<(?:\/?details|details open|\/?summary)>/i;

const fenceLine = /^( {0,3})(`{3,}|~{3,})(.*)$/;
const itemLine = /^ {0,3}(?!([-*])(?:\s*\1){2,}\s*$)(?:[-*+]|\d{1,9}[.)]) {1,4}(?=\S)/;
const codeOrSwallowing =
  /(?<![\\`])(`+)(?!`)[^`]*\1(?!`)|(?<=^ {0,3})<(?=\/?[a-z][\w-]*(?:[\s/>]|$))|<(?=!--|!\[CDATA\[|![a-z]|\?|\/?(?:details|summary|script|style|pre|textarea|template|title|iframe|xmp|noscript|noembed|noframes|plaintext|select|object|svg|math)\b)/gi;

function longestRun(text: string, run: RegExp): number {
  let longest = 0;
  for (const [found] of text.matchAll(run)) longest = Math.max(longest, found.length);
  return longest;
}
