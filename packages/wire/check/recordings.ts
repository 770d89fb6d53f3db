/*
 * npm run recordings -- FOLDER
 * Translates every recording of a folder with an `index.json` and compares the output with the content in the index.
 * Prints the failed recordings and the totals.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  getErrorMessage,
  resolvePathArgument,
  readJsonFile,
  reportResults,
} from "./command-line.ts";
import { findRecordingFaults, type RecordingEntry } from "./recording.ts";

const maxFaultsShown = 8;
const folder = resolvePathArgument("../shared/fixtures");
const index = join(folder, "index.json");
const { files } = readJsonFile<{ files: RecordingEntry[] }>(
  index,
  "files",
  "npm run recordings -- FOLDER   (with an index.json, see packages/wire/README.md)",
);

let passed = 0;
let failed = 0;
for (const entry of files) {
  const faults = checkRecording(entry);
  if (faults.length === 0) {
    passed += 1;
    continue;
  }
  failed += 1;
  console.log(`FAILED ${entry.file}`);
  for (const fault of faults.slice(0, maxFaultsShown)) console.log(`  ${fault}`);
  if (faults.length > maxFaultsShown) console.log(`  … and ${faults.length - maxFaultsShown} more`);
}
if (files.length === 0) {
  console.log(`No recordings: ${index} is empty.`);
  failed = 1;
}
reportResults(passed, failed);

function checkRecording(entry: RecordingEntry): string[] {
  try {
    return findRecordingFaults(entry, readFileSync(join(folder, entry.file)));
  } catch (error) {
    return [getErrorMessage(error)];
  }
}
