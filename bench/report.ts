export interface Goal {
  goal: string;
  met: boolean;
  measured: string;
}

export function printGoals(goals: readonly Goal[]): void {
  for (const { goal, met, measured } of goals)
    console.log(`  ${met ? "met   " : "MISSED"}  ${goal}: ${measured}`);
}

/** The first column to the left, figures to the right. */
export function printTable(
  title: string,
  heads: readonly string[],
  rows: readonly string[][],
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

export function times(ratio: number | undefined): string {
  return ratio === undefined || Number.isNaN(ratio) ? "–" : `${ratio.toFixed(2)}x`;
}

export function milliseconds(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

export function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
