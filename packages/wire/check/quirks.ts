/*
 * npm run quirks -- FILE.json
 * Runs every case of a quirk catalog that has wire data or a rule, with the generic profile plus the flags that the
 * case needs. Prints the failed and skipped cases and the totals. A catalogue of the Messages API is played with its own runner.
 */
import {
  getErrorMessage,
  resolvePathArgument,
  readJsonFile,
  reportResults,
} from "./command-line.ts";
import { isMessagesCatalog, runMessagesQuirks, type MessagesCase } from "./messages-quirks.ts";
import { getQuirkFlags, findQuirkFaults, type Quirk } from "./quirk.ts";

const file = resolvePathArgument("../shared/quirks/quirks.json");
const usage = "npm run quirks -- FILE.json   (for the format see packages/wire/README.md)";
if (isMessagesCatalog(file)) {
  await checkMessagesCases();
  process.exit();
}
const { quirks } = readJsonFile<{ quirks: Quirk[] }>(file, "quirks", usage);

let passed = 0;
let failed = 0;
for (const quirk of quirks) {
  const sets = getQuirkFlags(quirk);
  if (typeof sets === "string") {
    console.log(`${quirk.id}: skipped, ${sets}`);
    continue;
  }
  const flags = sets.map((set) => JSON.stringify(set)).filter((set) => set !== "{}");
  if (flags.length > 0) console.log(`${quirk.id}: profile flags ${flags.join(", then ")}`);
  const faults = checkQuirk(quirk);
  if (faults.length === 0) {
    passed += 1;
    continue;
  }
  failed += 1;
  console.log(`FAILED ${quirk.id}: ${quirk.title}`);
  for (const fault of faults) console.log(`  ${fault}`);
}
if (passed + failed === 0) {
  console.log(`No cases: ${file} has no case with wire data or a rule.`);
  failed = 1;
}
reportResults(passed, failed);

/** Plays a catalogue of the Messages API for all clients, at once and byte by byte. */
async function checkMessagesCases(): Promise<void> {
  const { cases } = readJsonFile<{ cases: MessagesCase[] }>(file, "cases", usage);
  let passedRows = 0;
  let failedRows = 0;
  for (const isSplit of [false, true]) {
    const rows = await runMessagesQuirks({ file, cases, isSplit, passesMessages: true });
    for (const { id, way, ok, optional, fails } of rows) {
      if (ok) passedRows += 1;
      else if (!optional) failedRows += 1;
      if (ok) continue;
      const delivery = isSplit ? "byte by byte" : "at once";
      console.log(`${optional ? "failed (optional)" : "FAILED"} ${id} ${way}, ${delivery}`);
      for (const fault of fails) console.log(`  ${fault}`);
    }
  }
  reportResults(passedRows, failedRows);
}

function checkQuirk(quirk: Quirk): string[] {
  try {
    return findQuirkFaults(quirk);
  } catch (error) {
    return [getErrorMessage(error)];
  }
}
