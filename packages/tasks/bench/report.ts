import type { Result } from "./rounds.ts";

export interface Goal {
  description: string;
  isMet: boolean;
  measured: string;
}

/** Aligns the first column left and all others right. */
export function printTable(
  title: string,
  headers: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const widths = headers.map((head, index) =>
    Math.max(head.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) =>
        index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join("  ");
  console.log(`\n${title}`);
  for (const row of [headers, ...rows]) console.log(`  ${line(row)}`);
}

/** Formats the time per event, with half of the interquartile range. */
export function formatMicroseconds({ perEvent, spread }: Result): string {
  return `${(perEvent / 1000).toFixed(2)} ±${(spread * 50).toFixed(0)}%`;
}

export function formatPerSecond({ perEvent }: Result): string {
  return formatThousands(1e9 / perEvent);
}

export function formatThousands(value: number): string {
  return `${(value / 1000).toFixed(0)}k`;
}
