const firstWaitMs = 200;
const longestWaitMs = 10_000;

/** How long to wait after so many failures in a row. `random` spreads them, so that not all pages come at once. */
export function waitAfter(failures: number, random: number): number {
  return Math.min(firstWaitMs * 2 ** failures, longestWaitMs) * (0.5 + random / 2);
}
