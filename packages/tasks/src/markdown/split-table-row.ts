/**
 * Splits a row; bars at both ends are optional. `\|` is a bar in a cell, even in code. A bar in code ends the cell, as on GitHub,
 * unless that results in too many cells and treating bars in code as text results in exactly `columns` cells.
 */
export function splitTableRow(line: string, columns = Number.POSITIVE_INFINITY): string[] {
  const cells = splitAtBars(line, false);
  if (cells.length <= columns || !line.includes("`")) return cells;
  const cellsWithCode = splitAtBars(line, true);
  return cellsWithCode.length === columns ? cellsWithCode : cells;
}

const escapedBar = String.raw`\|`;

/** Splits at unescaped bars; with `keepCode`, not at bars in code. */
function splitAtBars(line: string, keepCode: boolean): string[] {
  const row = line.trim();
  const cells: string[] = [];
  let from = 0;
  for (let index = 0; index < row.length; index += 1) {
    const char = row.charAt(index);
    if (char === "\\") index += 1;
    else if (char === "`" && keepCode) {
      const end = row.indexOf("`", index + 1);
      if (end > index + 1) index = end;
    } else if (char === "|") {
      cells.push(row.slice(from, index));
      from = index + 1;
    }
  }
  cells.push(row.slice(from));
  if (cells.length > 1 && cells[0] === "") cells.shift();
  if (cells.length > 1 && cells.at(-1) === "") cells.pop();
  const hasEscape = row.includes(escapedBar);
  return cells.map((cell) => (hasEscape ? cell.trim().replaceAll(escapedBar, "|") : cell.trim()));
}
