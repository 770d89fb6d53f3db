import type { Result } from "./rounds.ts";

export interface Goal {
  goal: string;
  met: boolean;
  measured: string;
}

/** The first column to the left, figures to the right. */
export function printTable(
  title: string,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const widths = heads.map((head, nth) =>
    Math.max(head.length, ...rows.map((row) => row[nth]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, nth) =>
        nth === 0 ? cell.padEnd(widths[nth] ?? 0) : cell.padStart(widths[nth] ?? 0),
      )
      .join("  ");
  console.log(`\n${title}`);
  for (const row of [heads, ...rows]) console.log(`  ${line(row)}`);
}

/** Of an event, with half the distance of the quartiles. */
export function microseconds({ perEvent, spread }: Result): string {
  return `${(perEvent / 1000).toFixed(2)} ±${(spread * 50).toFixed(0)}%`;
}

export function perSecond({ perEvent }: Result): string {
  return thousands(1e9 / perEvent);
}

export function thousands(value: number): string {
  return `${(value / 1000).toFixed(0)}k`;
}
