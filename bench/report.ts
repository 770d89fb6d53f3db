export interface Goal {
  description: string;
  isMet: boolean;
  measured: string;
}

export function printGoals(goals: readonly Goal[]): void {
  for (const { description, isMet, measured } of goals)
    console.log(`  ${isMet ? "met   " : "MISSED"}  ${description}: ${measured}`);
}

/** Prints a table with the first column aligned left and all others aligned right. */
export function printTable(
  title: string,
  headers: readonly string[],
  rows: readonly string[][],
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

export function formatRatio(ratio: number | undefined): string {
  return ratio === undefined || Number.isNaN(ratio) ? "–" : `${ratio.toFixed(2)}x`;
}

export function formatMs(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

export function formatMiB(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
