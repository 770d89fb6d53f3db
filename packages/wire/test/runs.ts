/** How often a property is tried. `DELTAWIRE_RUNS=100 npm run test:unit` tries a hundred times as often. */
export function runs(usual: number): { numRuns: number } {
  return { numRuns: usual * Number(process.env["DELTAWIRE_RUNS"] ?? "1") };
}
