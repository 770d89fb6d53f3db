import { memo, useLayoutEffect, useRef, useState } from "react";
import type { MarkdownBlock, MarkdownInline, ColumnAlign } from "@deltawire/tasks/markdown";
import { chunk } from "../chunk.ts";
import { shallowEqual } from "../shallow-equal.ts";
import { useMessages } from "../messages/use-messages.ts";
import { renderInline } from "./render-inline.tsx";
import { useIsScrollable } from "./use-is-scrollable.ts";
import { markdownMessages } from "./messages.ts";

type TableRow = MarkdownInline[][];

const rowsPerTable = 40;

/**
 * A wide table scrolls in its own element, which is then focusable. Browsers lay out the complete table whenever a row is added,
 * so a long table is split into several, which take their column widths from the first.
 */
export function TableView({ table }: { table: MarkdownBlock & { type: "table" } }) {
  const t = useMessages(markdownMessages);
  const { ref, isScrollable } = useIsScrollable();
  const { head, rows, align } = table;
  const [first, ...others] = chunk(rows, rowsPerTable);
  const { firstTable, widths } = useColumnWidths(others.length > 0);
  return (
    <div
      ref={ref}
      className="markdown-table"
      // Cells have no `dir`: the browser would ignore them when it detects the direction of the table.
      dir="auto"
      role={isScrollable ? "group" : undefined}
      aria-label={isScrollable ? t.table : undefined}
      tabIndex={isScrollable ? 0 : undefined}
    >
      <table ref={firstTable}>
        <TableHead head={head} columnAligns={align} />
        {first !== undefined && <TableBody rows={first.items} columnAligns={align} />}
      </table>
      {others.map(({ start, items }) => (
        <ContinuationTable
          key={start}
          head={head}
          rows={items}
          columnAligns={align}
          widths={widths}
        />
      ))}
    </div>
  );
}

/** Returns the widths of the header cells of the first table. Measures again whenever its size changes. */
function useColumnWidths(isLong: boolean) {
  const firstTable = useRef<HTMLTableElement>(null);
  const [widths, setWidths] = useState<readonly number[]>(noWidths);
  useLayoutEffect(() => {
    const { current } = firstTable;
    if (!isLong || current === null) return undefined;
    const measure = () => {
      const cells = [...current.querySelectorAll("thead th")];
      setWidths(cells.map((cell) => cell.getBoundingClientRect().width));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [isLong]);
  return { firstTable, widths };
}

const noWidths: readonly number[] = [];

interface ContinuationTableProps {
  head: readonly MarkdownInline[][];
  rows: readonly TableRow[];
  columnAligns: readonly ColumnAlign[];
  widths: readonly number[];
}

/** Repeats the header, visually hidden, because screen readers read each part as a separate table. */
const ContinuationTable = memo(
  function ContinuationTable({ head, rows, columnAligns, widths }: ContinuationTableProps) {
    const width = widths.reduce((sum, columnWidth) => sum + columnWidth, 0);
    return (
      <table className="markdown-table-continuation" style={width > 0 ? { width } : undefined}>
        <colgroup>
          {widths.map((columnWidth, index) => (
            <col key={index} style={{ width: columnWidth }} />
          ))}
        </colgroup>
        <TableHead head={head} columnAligns={columnAligns} />
        <TableBody rows={rows} columnAligns={columnAligns} />
      </table>
    );
  },
  (previous, next) =>
    previous.head === next.head &&
    previous.widths === next.widths &&
    shallowEqual(previous.rows, next.rows),
);

interface TableHeadProps {
  head: readonly MarkdownInline[][];
  columnAligns: readonly ColumnAlign[];
}

const TableHead = memo(function TableHead({ head, columnAligns }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {head.map((cell, index) => (
          <th key={index} scope="col" data-align={columnAligns[index]}>
            {renderInline(cell)}
          </th>
        ))}
      </tr>
    </thead>
  );
});

interface TableBodyProps {
  rows: readonly TableRow[];
  columnAligns: readonly ColumnAlign[];
}

const TableBody = memo(
  function TableBody({ rows, columnAligns }: TableBodyProps) {
    return (
      <tbody>
        {rows.map((row, index) => (
          <TableRowView key={index} row={row} columnAligns={columnAligns} />
        ))}
      </tbody>
    );
  },
  (previous, next) =>
    previous.columnAligns === next.columnAligns && shallowEqual(previous.rows, next.rows),
);

const TableRowView = memo(function TableRowView({
  row,
  columnAligns,
}: {
  row: TableRow;
  columnAligns: readonly ColumnAlign[];
}) {
  return (
    <tr>
      {row.map((cell, index) => (
        <td key={index} data-align={columnAligns[index]}>
          {renderInline(cell)}
        </td>
      ))}
    </tr>
  );
});
