const firstWaitMs = 200;
const longestWaitMs = 10_000;

/** In milliseconds: the wait after so many failures in a row, doubled each time. `random` (0 to 1) spreads clients that fail together. */
export function backoff(failures: number, random: number): number {
  return Math.min(firstWaitMs * 2 ** failures, longestWaitMs) * (0.5 + random / 2);
}
