/*
 * npm run quirks -- FILE.json
 * Plays the stream and nonstream cases of a quirk catalogue through the library, with the generic profile; the optional
 * ones with the flags that switch their repair on, which it names. Names what failed; the last line counts.
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
let left = 0;
for (const quirk of quirks) {
  const flags = flagsFor(quirk);
  if (flags === undefined) {
    left += 1;
    continue;
  }
  if (quirk.optional === true)
    console.log(`Optional ${quirk.id}: played with the profile flags ${JSON.stringify(flags)}`);
  const faults = faultsOf(quirk);
  if (faults.length === 0) {
    passed += 1;
    continue;
  }
  failed += 1;
  console.log(`FAILED ${quirk.id}: ${quirk.title}`);
  for (const fault of faults) console.log(`  ${fault}`);
}
if (left > 0)
  console.log(
    `Not played: ${left} cases of another class than stream and nonstream, or optional without known flags.`,
  );
if (passed + failed === 0) {
  console.log(`Nothing was played: ${file} has no case of these classes.`);
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
