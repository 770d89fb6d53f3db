import type { ColumnAlign, MarkdownInline, TableBlock } from "./ast.ts";
import type { BlockReplacer } from "./block-replacer.ts";
import type { InlinePath } from "./link-references.ts";
import { splitTableRow } from "./split-table-row.ts";

/** Parses the text of a cell. Row 0 is the head. */
export type ParseCell = (text: string, row: number, column: number) => MarkdownInline[];

const emptyCell: MarkdownInline[] = [];

/** A table to which rows may still be added. */
export class OpenTable {
  #block: TableBlock;
  /**
   * How many empty cells may still be added: one for each character of the table. Without a limit, a wide head and many short rows
   * would take quadratic space.
   */
  #emptyCellBudget: number;

  private constructor(block: TableBlock, emptyCellBudget: number) {
    this.#block = block;
    this.#emptyCellBudget = emptyCellBudget;
  }

  /** `delimiters`: the delimiter row, from which `align` was parsed. */
  static start(
    { head, delimiters, align }: { head: string; delimiters: string; align: ColumnAlign[] },
    parseCell: ParseCell,
  ): OpenTable {
    const cells = parseCells(splitTableRow(head), 0, parseCell);
    const block: TableBlock = { type: "table", head: cells, rows: [], align };
    return new OpenTable(block, head.length + delimiters.length);
  }

  get block(): TableBlock {
    return this.#block;
  }

  /** Returns a copy that continues independently. */
  branch(): OpenTable {
    return new OpenTable({ ...this.#block, rows: [...this.#block.rows] }, this.#emptyCellBudget);
  }

  /** Adds a row with as many cells as the head: additional cells are dropped, missing ones are empty. */
  addRow(line: string, parseCell: ParseCell): void {
    const { rows, align } = this.#block;
    const columns = align.length;
    const cells = splitTableRow(line, columns).slice(0, columns);
    const row = parseCells(cells, rows.length + 1, parseCell);
    this.#emptyCellBudget += line.length;
    const missingCount = Math.min(columns - row.length, this.#emptyCellBudget);
    this.#emptyCellBudget -= missingCount;
    for (let index = 0; index < missingCount; index += 1) row.push(emptyCell);
    rows.push(row);
  }

  /** Replaces the inline content of a cell. */
  replaceInline(path: InlinePath, inline: MarkdownInline[], replacer: BlockReplacer): void {
    this.#block = replacer.replaceInTable(this.#block, path, path.length - 2, inline);
  }
}

function parseCells(
  cells: readonly string[],
  row: number,
  parseCell: ParseCell,
): MarkdownInline[][] {
  return cells.map((cell, column) => parseCell(cell, row, column));
}

/** Returns the alignment of the columns. Undefined if the delimiter row does not have as many cells as the head. */
export function parseColumnAligns(head: string, delimiters: string): ColumnAlign[] | undefined {
  const columns = splitTableRow(delimiters);
  if (!columns.every((cell) => delimiterCellPattern.test(cell))) return undefined;
  return splitTableRow(head).length === columns.length ? columns.map(parseColumnAlign) : undefined;
}

export function isDelimiterRow(line: string): boolean {
  return line.includes("|") && delimiterRowPattern.test(line);
}

const delimiterRowPattern = /^[ \t]*[|:-][|: \t-]*$/;
const delimiterCellPattern = /^:?-+:?$/;

function parseColumnAlign(delimiters: string): ColumnAlign {
  const left = delimiters.startsWith(":");
  if (delimiters.endsWith(":")) return left ? "center" : "right";
  return left ? "left" : undefined;
}
