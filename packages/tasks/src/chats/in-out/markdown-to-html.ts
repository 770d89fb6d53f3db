import { escaped } from "./escape-html.ts";
import { inlineHtml, type Cite } from "./inline-html.ts";
import { tableAt } from "./markdown-table.ts";

/*
 * The Markdown that models write most: paragraphs, headings, lists with and without boxes to tick, quotes, tables, fenced
 * code, and in a line code, bold, italics, what is struck out, and links. All else stays the text that it is, line by line.
 * Every character of the source goes through `escaped`.
 */

export function markdownToHtml(markdown: string, cite: Cite = () => undefined): string {
  return blocksOf(markdown.replaceAll(/\r\n?/g, "\n").split("\n"), cite, 0);
}

const fenceLine = /^( {0,3})(`{3,}|~{3,})[^`]*$/;
const headingLine = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const itemLine = /^( *)([-*+]|\d{1,9}[.)])( +)(.*)$/;
const quoteLine = /^ {0,3}> ?(.*)$/;
const boxToTick = /^\[([ xX])\][ \t]+(?=\S)/;
const ruleLine = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;

/** Quotes and lists within one another, to any depth that a person would read. */
const deepest = 12;

function blocksOf(lines: readonly string[], cite: Cite, depth: number): string {
  const html: string[] = [];
  let paragraph: string[] = [];
  const endParagraph = () => {
    if (paragraph.length > 0) html.push(`<p>${inlineHtml(paragraph.join("\n"), cite)}</p>`);
    paragraph = [];
  };
  const nest = depth < deepest;
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    const [, indent = "", fence = ""] = fenceLine.exec(line) ?? [];
    const [, hashes, heading = ""] = headingLine.exec(line) ?? [];
    if (fence !== "") {
      endParagraph();
      const end = closingFence(lines, at + 1, fence);
      const code = lines.slice(at + 1, end).map((one) => withoutIndent(one, indent.length));
      html.push(`<pre><code>${escaped(code.join("\n"))}</code></pre>`);
      at = end + 1;
    } else if (hashes !== undefined) {
      endParagraph();
      // The page has a heading, and each message one: what is said stands below them.
      const level = Math.min(hashes.length + 2, 6);
      html.push(`<h${level}>${inlineHtml(heading, cite)}</h${level}>`);
      at += 1;
    } else if (ruleLine.test(line)) {
      endParagraph();
      html.push("<hr>");
      at += 1;
    } else if (nest && quoteLine.test(line)) {
      endParagraph();
      const end = endOf(lines, at, (one) => quoteLine.test(one));
      const quoted = lines.slice(at, end).map((one) => quoteLine.exec(one)?.[1] ?? "");
      html.push(`<blockquote>${blocksOf(quoted, cite, depth + 1)}</blockquote>`);
      at = end;
    } else if (nest && itemLine.test(line)) {
      endParagraph();
      const list = listFrom(lines, at, cite, depth);
      html.push(list.html);
      at = list.end;
    } else {
      const table = tableAt(lines, at, isRow, cite);
      if (table !== undefined || line.trim() === "") endParagraph();
      else paragraph.push(line);
      if (table !== undefined) html.push(table.html);
      at = table?.end ?? at + 1;
    }
  }
  endParagraph();
  return html.join("\n");
}

/** Of a table: what begins another block is none. */
function isRow(line: string): boolean {
  return line.includes("|") && !others.some((form) => form.test(line));
}

const others = [fenceLine, headingLine, itemLine, quoteLine, ruleLine];

/** An open fence reaches to the end. */
function closingFence(lines: readonly string[], from: number, fence: string): number {
  return endOf(lines, from, (line) => {
    const found = line.trim();
    return !(found.startsWith(fence) && found === fence.charAt(0).repeat(found.length));
  });
}

function endOf(lines: readonly string[], from: number, goesOn: (line: string) => boolean): number {
  let at = from;
  while (at < lines.length && goesOn(lines[at] ?? "")) at += 1;
  return at;
}

/** Items of one kind and indent; what stands further in belongs to the item before it. */
function listFrom(
  lines: readonly string[],
  from: number,
  cite: Cite,
  depth: number,
): { html: string; end: number } {
  const [, indent = "", firstMark = "-"] = itemLine.exec(lines[from] ?? "") ?? [];
  const ordered = /\d/.test(firstMark);
  const items: string[] = [];
  let at = from;
  while (at < lines.length) {
    const [, ownIndent = "", mark = "", gap = "", rest = ""] = itemLine.exec(lines[at] ?? "") ?? [];
    if (mark === "" || ownIndent.length > indent.length + 1 || /\d/.test(mark) !== ordered) break;
    if (ownIndent.length < indent.length) break;
    const inner = ownIndent.length + mark.length + Math.min(gap.length, 4);
    const end = endOf(lines, at + 1, (line) => indentOf(line) > ownIndent.length);
    const next = afterBlanks(lines, end);
    const goesOn = next > end && next < lines.length && indentOf(lines[next] ?? "") >= inner;
    const whole = goesOn ? endOf(lines, next, (line) => indentOf(line) >= inner) : end;
    const [box = "", tick] = boxToTick.exec(rest) ?? [];
    const first =
      box === "" ? rest : `${tick === " " ? "\u2610" : "\u2611"} ${rest.slice(box.length)}`;
    const body = [first, ...lines.slice(at + 1, whole).map((line) => withoutIndent(line, inner))];
    const open = box === "" ? "<li>" : '<li class="task">';
    items.push(`${open}${tight(blocksOf(body, cite, depth + 1))}</li>`);
    const after = afterBlanks(lines, whole);
    at = itemLine.test(lines[after] ?? "") ? after : whole;
  }
  const start = ordered ? Number.parseInt(firstMark, 10) : 1;
  const open = ordered ? (start === 1 ? "<ol>" : `<ol start="${start}">`) : "<ul>";
  return {
    html: `${open}${items.join("")}${ordered ? "</ol>" : "</ul>"}`,
    end: Math.max(at, from + 1),
  };
}

function indentOf(line: string): number {
  return line.trim() === "" ? -1 : line.length - line.trimStart().length;
}

function afterBlanks(lines: readonly string[], from: number): number {
  return endOf(lines, from, (line) => line.trim() === "");
}

function withoutIndent(line: string, indent: number): string {
  return line.slice(Math.min(indent, line.length - line.trimStart().length));
}

/** An item of one paragraph is no paragraph. */
function tight(html: string): string {
  return html.startsWith("<p>") && html.indexOf("</p>") === html.length - "</p>".length
    ? html.slice("<p>".length, -"</p>".length)
    : html;
}
