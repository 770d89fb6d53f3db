/*
 * npm run recordings -- FOLDER
 * Plays every recording of a folder with an `index.json` through the library and compares what comes out with what the
 * index says was sent. Names what failed; the last line counts.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf, pathArgument, readJsonFile, report } from "./command-line.ts";
import { recordingFaults, type RecordingEntry } from "./recording.ts";

const faultsShown = 8;
const folder = pathArgument("../shared/fixtures");
const index = join(folder, "index.json");
const { files } = readJsonFile<{ files: RecordingEntry[] }>(
  index,
  "files",
  "npm run recordings -- FOLDER   (with an index.json, see docs/wire.md)",
);

let passed = 0;
let failed = 0;
for (const entry of files) {
  const faults = faultsOf(entry);
  if (faults.length === 0) {
    passed += 1;
    continue;
  }
  failed += 1;
  console.log(`FAILED ${entry.file}`);
  for (const fault of faults.slice(0, faultsShown)) console.log(`  ${fault}`);
  if (faults.length > faultsShown) console.log(`  … and ${faults.length - faultsShown} more`);
}
if (files.length === 0) {
  console.log(`Nothing was played: ${index} lists no recording.`);
  failed = 1;
}
report(passed, failed);

function faultsOf(entry: RecordingEntry): string[] {
  try {
    return recordingFaults(entry, readFileSync(join(folder, entry.file)));
  } catch (error) {
    return [messageOf(error)];
  }
}
