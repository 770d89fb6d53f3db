import { memo, useLayoutEffect, useRef, useState } from "react";
import type { Block, Inline, Side } from "@deltawire/tasks/markdown";
import { partsOf } from "../parts-of.ts";
import { isSame } from "../same.ts";
import { useWords } from "../words/use-words.ts";
import { inlineView } from "./inline-view.tsx";
import { useScrolls } from "./use-scrolls.ts";
import { markdownWords } from "./words.ts";

type Row = Inline[][];

const rowsInTable = 40;

/**
 * Wide ones scroll in their own box, which the keyboard can reach then. A browser lays out a table as a whole whenever a row
 * is added: so a long one is several, of which the first says how wide the columns of the others are.
 */
export function TableView({ table }: { table: Block & { type: "table" } }) {
  const words = useWords(markdownWords);
  const { ref, scrolls } = useScrolls();
  const { head, rows, sides } = table;
  const [first, ...others] = partsOf(rows, rowsInTable);
  const { firstTable, widths } = useColumnWidths(others.length > 0);
  return (
    <div
      ref={ref}
      className="markdown-table"
      // Cells have none of their own: it would be left out when that of the whole table is found.
      dir="auto"
      role={scrolls ? "group" : undefined}
      aria-label={scrolls ? words.table : undefined}
      tabIndex={scrolls ? 0 : undefined}
    >
      <table ref={firstTable}>
        <Head head={head} sides={sides} />
        {first !== undefined && <Rows rows={first.part} sides={sides} />}
      </table>
      {others.map(({ from, part }) => (
        <FurtherTable key={from} head={head} rows={part} sides={sides} widths={widths} />
      ))}
    </div>
  );
}

/** Of the head's cells, measured again when the first table has another width. */
function useColumnWidths(isLong: boolean) {
  const firstTable = useRef<HTMLTableElement>(null);
  const [widths, setWidths] = useState<readonly number[]>(none);
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

const none: readonly number[] = [];

interface FurtherTableProps {
  head: readonly Inline[][];
  rows: readonly Row[];
  sides: readonly Side[];
  widths: readonly number[];
}

/** With the head for those who cannot see that it is the same table. */
const FurtherTable = memo(
  function FurtherTable({ head, rows, sides, widths }: FurtherTableProps) {
    const width = widths.reduce((sum, one) => sum + one, 0);
    return (
      <table className="markdown-further" style={width > 0 ? { width } : undefined}>
        <colgroup>
          {widths.map((one, at) => (
            <col key={at} style={{ width: one }} />
          ))}
        </colgroup>
        <Head head={head} sides={sides} />
        <Rows rows={rows} sides={sides} />
      </table>
    );
  },
  (before, now) =>
    before.head === now.head && before.widths === now.widths && isSame(before.rows, now.rows),
);

interface HeadProps {
  head: readonly Inline[][];
  sides: readonly Side[];
}

const Head = memo(function Head({ head, sides }: HeadProps) {
  return (
    <thead>
      <tr>
        {head.map((cell, at) => (
          <th key={at} scope="col" data-side={sides[at]}>
            {inlineView(cell)}
          </th>
        ))}
      </tr>
    </thead>
  );
});

interface RowsProps {
  rows: readonly Row[];
  sides: readonly Side[];
}

const Rows = memo(
  function Rows({ rows, sides }: RowsProps) {
    return (
      <tbody>
        {rows.map((row, at) => (
          <RowView key={at} row={row} sides={sides} />
        ))}
      </tbody>
    );
  },
  (before, now) => before.sides === now.sides && isSame(before.rows, now.rows),
);

const RowView = memo(function RowView({ row, sides }: { row: Row; sides: readonly Side[] }) {
  return (
    <tr>
      {row.map((cell, at) => (
        <td key={at} data-side={sides[at]}>
          {inlineView(cell)}
        </td>
      ))}
    </tr>
  );
});
