import { entityForm, textOfEntity } from "../markdown/entities.ts";

/**
 * Markdown without its marks, for a line in a list: emphasis, code, links, citations, headings, quotes, fences and the
 * frames of tables go, their words stay, and entities are what they stand for. What only looks like it is left as it is.
 */
export function withoutMarks(markdown: string): string {
  const lines: string[] = [];
  let isCode = false;
  for (const line of markdown.split("\n")) {
    if (isFence(line)) isCode = !isCode;
    else if (!isRule(line)) {
      const said = withoutBlockMarks(line);
      lines.push(withoutInlineMarks(isCode ? said : withoutEntities(said)));
    }
  }
  return lines.join("\n");
}

function isFence(line: string): boolean {
  return /^\s*(?:`{3}|~{3})/.test(line);
}

/** Between two parts, or below the head of a table. */
function isRule(line: string): boolean {
  return /^[\s|:*_-]+$/.test(line) && /(?:[-*_]\s*){3}/.test(line);
}

function withoutBlockMarks(line: string): string {
  const said = line.replace(/^\s*(?:>\s?|#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?)+/, "");
  const row = /^\s*\|(.*)\|\s*$/.exec(said)?.[1];
  return row === undefined ? said : row.trim().replaceAll(/\s*\|\s*/g, " · ");
}

/** In code and in an address they are what they look like, and so is one behind a backslash. */
const entities = new RegExp(
  [
    "(?<ticks>`+)[^`]+\\k<ticks>",
    String.raw`https?://[^\s<>"'\x60*[\]()]+`,
    String.raw`\\[&\\]`,
    entityForm,
  ].join("|"),
  "g",
);

/** Nothing that an entity stands for is a mark within a line. */
function withoutEntities(line: string): string {
  if (!line.includes("&")) return line;
  return line.replaceAll(entities, (whole: string, _ticks: string, entity?: string) =>
    entity === undefined ? whole : textOfEntity(entity),
  );
}

function withoutInlineMarks(line: string): string {
  return line
    .replaceAll(/\s?\[\^\d+\]/g, "")
    .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")
    .replaceAll(/(`+)([^`]+)\1/g, "$2")
    .replaceAll(/(\*{1,3})(?=[^\s*])([^*]*[^\s*])\1/g, "$2")
    .replaceAll(/~~(?=[^\s~])([^~]*[^\s~])~~/g, "$1");
}
