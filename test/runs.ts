/** `DELTAWIRE_RUNS=100 npm run test:unit` tries a hundred times as often. */
export const times = Number(process.env["DELTAWIRE_RUNS"] ?? "1");

/** How often a property is tried. */
export function runs(usual: number): { numRuns: number } {
  return { numRuns: usual * times };
}

/** For tests of whole runs, which a busy machine may hold up. */
export const patience = { timeout: 60_000 * times };
