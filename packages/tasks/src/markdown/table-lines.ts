import type { Side } from "./blocks.ts";

/** The sides of the columns, if the line of dashes (`isDashLine`) below a head has as many as it. */
export function sidesOf(head: string, dashes: string): Side[] | undefined {
  const columns = cellsOf(dashes);
  if (!columns.every((cell) => dashCell.test(cell))) return undefined;
  return cellsOf(head).length === columns.length ? columns.map(sideOf) : undefined;
}

export function isDashLine(line: string): boolean {
  return line.includes("|") && dashLine.test(line);
}

const dashLine = /^[ \t]*[|:-][|: \t-]*$/;
const dashCell = /^:?-+:?$/;

function sideOf(dashes: string): Side {
  const left = dashes.startsWith(":");
  if (dashes.endsWith(":")) return left ? "center" : "right";
  return left ? "left" : undefined;
}

/**
 * Bars at either end are not needed. `\|` is a bar within a cell, also in code. A bare bar in code ends a cell, as on
 * GitHub, unless the row has its `columns` only if it does not.
 */
export function cellsOf(line: string, columns = Number.POSITIVE_INFINITY): string[] {
  const cells = cut(line, false);
  if (cells.length <= columns || !line.includes("`")) return cells;
  const kinder = cut(line, true);
  return kinder.length === columns ? kinder : cells;
}

const escapedBar = String.raw`\|`;

/** At bars that are not escaped; with `barsInCode` these are no ends either. */
function cut(line: string, barsInCode: boolean): string[] {
  const row = line.trim();
  const cells: string[] = [];
  let from = 0;
  for (let at = 0; at < row.length; at += 1) {
    const char = row.charAt(at);
    if (char === "\\") at += 1;
    else if (char === "`" && barsInCode) {
      const end = row.indexOf("`", at + 1);
      if (end > at + 1) at = end;
    } else if (char === "|") {
      cells.push(row.slice(from, at));
      from = at + 1;
    }
  }
  cells.push(row.slice(from));
  if (cells.length > 1 && cells[0] === "") cells.shift();
  if (cells.length > 1 && cells.at(-1) === "") cells.pop();
  const hasEscape = row.includes(escapedBar);
  return cells.map((cell) => (hasEscape ? cell.trim().replaceAll(escapedBar, "|") : cell.trim()));
}
