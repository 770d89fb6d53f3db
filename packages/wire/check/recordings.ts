/*
 * npm run recordings -- FOLDER
 * Plays every recording of a folder with an `index.json` through the library and compares what comes out with what the
 * index says was sent. Names what failed; the last line counts.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { recordingFaults, type RecordingEntry } from "./recording.ts";

const folder = resolve(process.argv[2] ?? "../shared/fixtures");
const index = join(folder, "index.json");
if (!existsSync(index)) {
  console.error(`No recordings: ${index} does not exist.`);
  console.error(
    "Usage: npm run recordings -- FOLDER   (a folder with index.json and the files it lists)",
  );
  process.exit(2);
}

const entries = readIndex(index);
let passed = 0;
let failed = 0;
for (const entry of entries) {
  const faults = faultsOf(entry);
  if (faults.length === 0) passed += 1;
  else {
    failed += 1;
    console.log(`FAILED ${entry.file}`);
    for (const fault of faults.slice(0, 8)) console.log(`  ${fault}`);
    if (faults.length > 8) console.log(`  … and ${faults.length - 8} more`);
  }
}
if (passed + failed === 0) {
  console.log(`Nothing was played: ${index} lists no recording.`);
  failed = 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function readIndex(path: string): RecordingEntry[] {
  const parsed = JSON.parse(readFileSync(path, "utf8")) as { files?: RecordingEntry[] };
  if (Array.isArray(parsed.files)) return parsed.files;
  console.error(`${path}: expected an object with a list "files".`);
  return process.exit(2);
}

function faultsOf(entry: RecordingEntry): string[] {
  try {
    return recordingFaults(entry, readFileSync(join(folder, entry.file)));
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}
