/** `DELTAWIRE_RUNS=100 npm run test:unit` multiplies the number of runs by a hundred. */
export const runMultiplier = Number(process.env["DELTAWIRE_RUNS"] ?? "1");

/** The number of runs of a property, multiplied by DELTAWIRE_RUNS. */
export function propertyRuns(defaultRuns: number): { numRuns: number } {
  return { numRuns: defaultRuns * runMultiplier };
}

/** For tests of complete runs, which are slow on a busy machine. */
export const longTimeout = { timeout: 60_000 * runMultiplier };
