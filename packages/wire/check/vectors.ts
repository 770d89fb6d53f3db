/*
 * npm run vectors -- FILE.json
 * Runs the test vectors of Codex's Chat wire (packages/wire/README.md) against `@deltawire/wire/codex`. Prints the
 * failed vectors with the expected and the actual output, and the totals.
 */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { findVectorFaults, type Vector } from "./vector.ts";

const file = resolve(process.argv[2] ?? "../shared/vectors/chat-wire.json");
if (!existsSync(file)) {
  console.error(`${file} does not exist.`);
  console.error('Usage: npm run vectors -- FILE.json   (an object with an array "vectors")');
  process.exit(2);
}
const vectors = readVectors(file);

let passed = 0;
let failed = 0;
for (const vector of vectors) {
  const faults = checkVector(vector);
  if (faults.length === 0) passed += 1;
  else {
    failed += 1;
    console.log(`FAILED ${vector.id}${formatVectorName(vector)}`);
    for (const fault of faults) console.log(`  ${fault}`);
  }
}
if (passed + failed === 0) {
  console.log(`No vectors: ${file} is empty.`);
  failed = 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function readVectors(path: string): Vector[] {
  try {
    const parsed = JSON.parse(readFileSync(path, "utf8")) as { vectors?: Vector[] } | null;
    if (Array.isArray(parsed?.vectors)) return parsed.vectors;
    console.error(`${path}: expected an object with an array "vectors".`);
  } catch (error) {
    console.error(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return process.exit(2);
}

function formatVectorName({ name }: Vector): string {
  return typeof name === "string" ? `: ${name}` : "";
}

function checkVector(vector: Vector): string[] {
  try {
    return findVectorFaults(vector);
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}
