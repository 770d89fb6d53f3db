/*
 * npm run quirks -- FILE.json
 * Plays the stream and nonstream cases of a quirk catalogue through the library, with the generic profile; the optional
 * ones with the flags that switch their repair on, which it names. Names what failed; the last line counts.
 */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { flagsFor, quirkFaults, type Quirk } from "./quirk.ts";

const file = resolve(process.argv[2] ?? "../shared/quirks/quirks.json");
if (!existsSync(file)) {
  console.error(`No quirks: ${file} does not exist.`);
  console.error('Usage: npm run quirks -- FILE.json   (an object with a list "quirks")');
  process.exit(2);
}
const { quirks } = JSON.parse(readFileSync(file, "utf8")) as { quirks?: Quirk[] };
if (!Array.isArray(quirks)) {
  console.error(`${file}: expected an object with a list "quirks".`);
  process.exit(2);
}

let passed = 0;
let failed = 0;
const left: Quirk[] = [];
for (const quirk of quirks) {
  const flags = flagsFor(quirk);
  if (flags === undefined) {
    left.push(quirk);
    continue;
  }
  if (quirk.optional === true)
    console.log(`Optional ${quirk.id}: played with the profile flags ${JSON.stringify(flags)}`);
  const faults = faultsOf(quirk);
  if (faults.length === 0) passed += 1;
  else {
    failed += 1;
    console.log(`FAILED ${quirk.id}: ${quirk.title}`);
    for (const fault of faults) console.log(`  ${fault}`);
  }
}
if (left.length > 0)
  console.log(
    `Not played: ${left.length} cases of another class than stream and nonstream, or optional without known flags.`,
  );
if (passed + failed === 0) {
  console.log(`Nothing was played: ${file} has no case of these classes.`);
  failed = 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function faultsOf(quirk: Quirk): string[] {
  try {
    return quirkFaults(quirk);
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}
