/*
 * Measures stored responses in a SQLite file: `npm run bench:responses -- --responses 100000`. Prints milliseconds for reading a
 * chain of 500 responses, and for storing one response in an empty store and beside many others.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore, type NewResponse } from "@deltawire/store";

const { values } = parseArgs({ options: { responses: { type: "string", default: "100000" } } });
const total = Number(values.responses);
const chainLength = 500;
const samples = 200;
const text = "Some words of an answer. ".repeat(40);

const folder = mkdtempSync(join(tmpdir(), "deltawire-bench-"));
const store = await openStore({ folder });
try {
  const before = await measureSaves("before");
  for (let index = 0; index < total; index += 1000)
    await Promise.all(
      Array.from({ length: Math.min(1000, total - index) }, (_, offset) =>
        store.saveResponse(createResponse(`other${index + offset}`)),
      ),
    );
  for (let turn = 0; turn < chainLength; turn += 1)
    await store.saveResponse(createResponse(`chain${turn}`, turn === 0 ? "" : `chain${turn - 1}`));
  const after = await measureSaves("after");
  const chainTimes: number[] = [];
  for (let run = 0; run < 20; run += 1) {
    const startedAt = performance.now();
    const chain = await store.listResponseChain("ann", `chain${chainLength - 1}`);
    for (const { input, output } of chain) JSON.parse(`[${input},${output}]`);
    chainTimes.push(performance.now() - startedAt);
  }
  console.log(`storing a response: median ${before} ms in an empty store`);
  console.log(`storing a response: median ${after} ms beside ${total} others`);
  console.log(`reading a chain of ${chainLength}: median ${median(chainTimes)} ms`);
} finally {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measureSaves(prefix: string): Promise<string> {
  const times: number[] = [];
  for (let index = 0; index < samples; index += 1) {
    const startedAt = performance.now();
    await store.saveResponse(createResponse(`${prefix}${index}`));
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

function createResponse(responseId: string, previousResponseId = ""): NewResponse {
  const itemId = `msg_${responseId}`;
  return {
    responseId,
    owner: "ann",
    status: "completed",
    createdAt: Date.now(),
    ...(previousResponseId === "" ? {} : { previousResponseId }),
    input: JSON.stringify([{ role: "user", content: text }]),
    output: JSON.stringify([{ type: "message", id: itemId, content: [{ text }] }]),
    json: JSON.stringify({ id: responseId, object: "response" }),
    itemIds: [itemId],
  };
}

function median(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return (sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(2);
}
