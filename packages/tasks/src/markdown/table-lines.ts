import type { Side } from "./blocks.ts";

/** The sides of the columns, if the line of dashes below a head has as many as it. */
export function sidesOf(head: string, dashes: string): Side[] | undefined {
  if (!isDashLine(dashes)) return undefined;
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
  const cells = cut(line, bars);
  if (cells.length <= columns || !line.includes("`")) return cells;
  const kinder = cut(line, barsOutsideOfCode);
  return kinder.length === columns ? kinder : cells;
}

const bars = /\\[^]|[^\\|]+|\||\\$/g;
const barsOutsideOfCode = /\\[^]|`[^`]+`|`|[^\\|`]+|\||\\$/g;

function cut(line: string, pieces: RegExp): string[] {
  const cells = [""];
  for (const [piece] of line.trim().matchAll(pieces)) {
    if (piece === "|") cells.push("");
    else cells.push((cells.pop() ?? "") + piece.replaceAll(String.raw`\|`, "|"));
  }
  if (cells.length > 1 && cells[0] === "") cells.shift();
  if (cells.length > 1 && cells.at(-1) === "") cells.pop();
  return cells.map((cell) => cell.trim());
}
