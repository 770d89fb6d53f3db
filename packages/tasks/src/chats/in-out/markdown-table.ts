import { inlineHtml, type Cite } from "./inline-html.ts";

/** A table as GitHub has them, if one begins at a line: a head, a line of dashes for as many columns, and `isRow` lines. */
export function tableAt(
  lines: readonly string[],
  at: number,
  isRow: (line: string) => boolean,
  cite: Cite,
): { html: string; end: number } | undefined {
  const head = lines[at] ?? "";
  const dashes = lines[at + 1] ?? "";
  if (!isRow(head) || !dashes.includes("|") || !dashLine.test(dashes)) return undefined;
  const names = cellsOf(head);
  const columns = cellsOf(dashes);
  if (names.length !== columns.length || !columns.every((cell) => dashCell.test(cell)))
    return undefined;
  const sides = columns.map(sideOf);
  // A row is as long as it is: cells that nobody wrote would be columns times rows.
  const rowOf = (cells: readonly string[], tag: "th" | "td") =>
    `<tr>${cells
      .map((cell, column) => `<${tag}${sides[column] ?? ""}>${inlineHtml(cell, cite)}</${tag}>`)
      .join("")}</tr>`;
  const rows: string[] = [];
  let end = at + 2;
  for (; isRow(lines[end] ?? ""); end += 1) rows.push(rowOf(cellsOf(lines[end] ?? ""), "td"));
  const body = rows.length === 0 ? "" : `<tbody>${rows.join("")}</tbody>`;
  const table = `<table><thead>${rowOf(names, "th")}</thead>${body}</table>`;
  return { html: `<div class="wide">${table}</div>`, end };
}

const dashLine = /^[ \t]*[|:-][|: \t-]*$/;
const dashCell = /^:?-+:?$/;

function sideOf(dashes: string): string {
  const left = dashes.startsWith(":");
  if (dashes.endsWith(":")) return left ? ' class="center"' : ' class="right"';
  return left ? ' class="left"' : "";
}

/** Bars at either end are not needed. `\|` is a bar within a cell, also in code. */
function cellsOf(line: string): string[] {
  const cells = [""];
  for (const [piece] of line.trim().matchAll(/\\[^]|[^\\|]+|\||\\$/g)) {
    if (piece === "|") cells.push("");
    else cells.push(`${cells.pop() ?? ""}${piece === "\\|" ? "|" : piece}`);
  }
  if (cells.length > 1 && cells[0] === "") cells.shift();
  if (cells.length > 1 && cells.at(-1) === "") cells.pop();
  return cells.map((cell) => cell.trim());
}
