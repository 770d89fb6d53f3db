/**
 * Markdown without its marks, for a line in a list: emphasis, code, links, citations, headings, quotes, fences and the
 * frames of tables go, their words stay. What only looks like it is left as it is.
 */
export function withoutMarks(markdown: string): string {
  return markdown
    .split("\n")
    .filter((line) => !isFence(line) && !isRule(line))
    .map((line) => withoutInlineMarks(withoutBlockMarks(line)))
    .join("\n");
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

function withoutInlineMarks(line: string): string {
  return line
    .replaceAll(/\s?\[\^\d+\]/g, "")
    .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")
    .replaceAll(/(`+)([^`]+)\1/g, "$2")
    .replaceAll(/(\*{1,3})(?=[^\s*])([^*]*[^\s*])\1/g, "$2")
    .replaceAll(/~~(?=[^\s~])([^~]*[^\s~])~~/g, "$1");
}
