/*
 * npm run quirks -- FILE.json
 * Plays every case of a quirk catalogue that has wire data or a rule through the library, with the generic profile; where
 * a case needs flags, with those, which it names. Names what failed and what could not be played; the last line counts.
 */
import { messageOf, pathArgument, readJsonFile, report } from "./command-line.ts";
import { flagsFor, quirkFaults, type Quirk } from "./quirk.ts";

const file = pathArgument("../shared/quirks/quirks.json");
const { quirks } = readJsonFile<{ quirks: Quirk[] }>(
  file,
  "quirks",
  "npm run quirks -- FILE.json   (a catalogue, see docs/wire.md)",
);

let passed = 0;
let failed = 0;
for (const quirk of quirks) {
  const sets = flagsFor(quirk);
  if (typeof sets === "string") {
    console.log(`${quirk.id}: not played, ${sets}`);
    continue;
  }
  const flags = sets.map((set) => JSON.stringify(set)).filter((set) => set !== "{}");
  if (flags.length > 0)
    console.log(`${quirk.id}: played with the profile flags ${flags.join(", then ")}`);
  const faults = faultsOf(quirk);
  if (faults.length === 0) {
    passed += 1;
    continue;
  }
  failed += 1;
  console.log(`FAILED ${quirk.id}: ${quirk.title}`);
  for (const fault of faults) console.log(`  ${fault}`);
}
if (passed + failed === 0) {
  console.log(`Nothing was played: ${file} has no case with wire data or a rule.`);
  failed = 1;
}
report(passed, failed);

function faultsOf(quirk: Quirk): string[] {
  try {
    return quirkFaults(quirk);
  } catch (error) {
    return [messageOf(error)];
  }
}
