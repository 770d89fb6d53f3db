import { definitionIn, definitionWith, type Definition } from "../markdown/definitions.ts";
import { entityForm, textOfEntity } from "../markdown/entities.ts";
import { bracketsAt, labelOf } from "../markdown/labels.ts";
import { linkTarget } from "../markdown/link-target.ts";

/**
 * Markdown without its marks, for a line in a list: emphasis, code, links and what defines them, citations, headings,
 * quotes, fences and the frames of tables go, their words stay, and entities are what they stand for. What only looks like
 * it is left as it is.
 */
export function withoutMarks(markdown: string): string {
  const { lines, defined } = linesOf(markdown);
  return lines
    .map(({ said, isCode }) =>
      withoutInlineMarks(isCode ? said : withoutHtml(withoutReferences(said, defined))),
    )
    .join("\n");
}

interface Line {
  said: string;
  isCode: boolean;
}

/** The lines that say something, without the marks of blocks, and the labels that the others define. */
function linesOf(markdown: string): { lines: Line[]; defined: Set<string> } {
  const lines: Line[] = [];
  const defined = new Set<string>();
  let isCode = false;
  let before: Defined | undefined;
  for (const line of markdown.split("\n")) {
    const [marks = ""] = blockMarks.exec(line) ?? [];
    const said = line.slice(marks.length);
    const definition = isCode || marks.includes("#") ? undefined : definedBy(said, before);
    before = definition;
    if (isFence(line)) isCode = !isCode;
    else if (definition !== undefined) defined.add(definition.label);
    else if (!isRule(line)) lines.push({ said: withoutFrame(said), isCode });
  }
  return { lines, defined };
}

const blockMarks = /^\s*(?:>\s?|#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?)+/;

type Defined = Definition & { state: "untitled" | "whole" };

/** What a line defines by itself, or what the line before does if this one is its title. */
function definedBy(line: string, before: Defined | undefined): Defined | undefined {
  const titled = before === undefined ? undefined : definitionWith(before, line);
  const definition = titled ?? definitionIn(line);
  return definition?.state === "untitled" || definition?.state === "whole" ? definition : undefined;
}

function isFence(line: string): boolean {
  return /^\s*(?:`{3}|~{3})/.test(line);
}

/** Between two parts, or below the head of a table. */
function isRule(line: string): boolean {
  return /^[\s|:*_-]+$/.test(line) && /(?:[-*_]\s*){3}/.test(line);
}

/** A row of a table as its cells. */
function withoutFrame(line: string): string {
  const row = /^\s*\|(.*)\|\s*$/.exec(line)?.[1];
  return row === undefined
    ? line
    : row
        .split("|")
        .map((cell) => cell.trim())
        .join(" · ");
}

/** Behind a backslash and in code there is none. */
const openings = /\\[^]|(`+)[^`]+\1(?!`)|`+|(?<opening>!?\[)/g;

/** `[text][label]`, `[text][]` and `[label]` as what they say. */
function withoutReferences(line: string, defined: ReadonlySet<string>): string {
  if (!line.includes("]")) return line;
  let said = "";
  let at = 0;
  for (const { index, groups: { opening } = {} } of line.matchAll(openings)) {
    if (opening === undefined || index < at) continue;
    const isInWord = /[\w\])]/.test(line.charAt(index - 1));
    const reference = referenceAt(line, index + opening.length - 1, defined, isInWord);
    if (reference === undefined) continue;
    said += line.slice(at, index) + reference.text;
    at = reference.end;
  }
  return said + line.slice(at);
}

function referenceAt(
  line: string,
  from: number,
  defined: ReadonlySet<string>,
  isInWord: boolean,
): { text: string; end: number } | undefined {
  const own = bracketsAt(line, from);
  if (own === undefined) return undefined;
  const { written: text, end } = own;
  const behind = bracketsAt(line, end);
  const other = labelOf(behind?.written ?? "");
  const label = other ?? labelOf(text);
  if (label === undefined) return undefined;
  const named = other !== undefined || behind?.written === "" ? behind : undefined;
  if (defined.has(label))
    return linkTarget(line, end) ? undefined : { text, end: named?.end ?? end };
  // What defines it may have been cut off. But `a[i][0]` is code, and `[1][2]` are two marks.
  if (named === undefined || isInWord || !/^[^^]*\p{L}/u.test(text)) return undefined;
  return line.charAt(named.end) === "(" ? undefined : { text, end: named.end };
}

/** In code and in an address they are what they look like, and so is one behind a backslash. */
const codeAndHtml = new RegExp(
  [
    "(?<!`)(?<ticks>`+)[^`]+\\k<ticks>",
    String.raw`https?://[^\s<>"'\x60*[\]()]+`,
    String.raw`\\[&<\\]`,
    String.raw`(?<html><\/?(?:sub|sup|kbd|details|summary)[ \t]?>|<!--.{0,200}?-->)`,
    entityForm,
  ].join("|"),
  "gi",
);

/** Without tags and comments, and with entities as what they stand for, none of which is a mark within a line. */
function withoutHtml(line: string): string {
  if (!/[&<]/.test(line)) return line;
  return line.replaceAll(
    codeAndHtml,
    (whole: string, _ticks: string, html?: string, entity?: string) =>
      html !== undefined ? "" : entity === undefined ? whole : textOfEntity(entity),
  );
}

function withoutInlineMarks(line: string): string {
  return (
    line
      .replaceAll(/\s?\[\^\d+\]/g, "")
      .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")
      // From the first backtick of a run only: a start at each of them takes quadratic time.
      .replaceAll(/(?<!`)(`+)([^`]+)\1/g, "$2")
      .replaceAll(/(\*{1,3})(?=[^\s*])([^*]*[^\s*])\1/g, "$2")
      .replaceAll(/~~(?=[^\s~])([^~]*[^\s~])~~/g, "$1")
  );
}
