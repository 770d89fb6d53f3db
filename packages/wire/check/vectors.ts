/*
 * npm run vectors -- FILE.json
 * Plays the cases of document 000, Codex's Chat wire, through `@deltawire/wire/codex`. Names what failed, with what was
 * expected and what came; the last line counts.
 */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { vectorFaults, type Vector } from "./vector.ts";

const file = resolve(process.argv[2] ?? "../shared/vectors/chat-wire.json");
if (!existsSync(file)) {
  console.error(`No vectors: ${file} does not exist.`);
  console.error('Usage: npm run vectors -- FILE.json   (an object with a list "vectors")');
  process.exit(2);
}
const vectors = readVectors(file);

let passed = 0;
let failed = 0;
for (const vector of vectors) {
  const faults = faultsOf(vector);
  if (faults.length === 0) passed += 1;
  else {
    failed += 1;
    console.log(`FAILED ${vector.id}${named(vector)}`);
    for (const fault of faults) console.log(`  ${fault}`);
  }
}
if (passed + failed === 0) {
  console.log(`Nothing was played: ${file} has no case.`);
  failed = 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function readVectors(path: string): Vector[] {
  try {
    const parsed = JSON.parse(readFileSync(path, "utf8")) as { vectors?: Vector[] } | null;
    if (Array.isArray(parsed?.vectors)) return parsed.vectors;
    console.error(`${path}: expected an object with a list "vectors".`);
  } catch (error) {
    console.error(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return process.exit(2);
}

function named({ name }: Vector): string {
  return typeof name === "string" ? `: ${name}` : "";
}

function faultsOf(vector: Vector): string[] {
  try {
    return vectorFaults(vector);
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}
