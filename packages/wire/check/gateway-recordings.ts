/*
 * node --conditions=@deltawire/source packages/wire/check/gateway-recordings.ts FOLDER --base URL --port N [--prefix
 * up/] [--responses-prefix upresp/] [--every N]
 * Sends every recording of a folder through a gateway over HTTP, to clients of both wires, and compares the replies with
 * the index. The gateway's upstreams with these two prefixes must have the base URL http://127.0.0.1:N/v1, where this
 * script serves the recordings. Prints the failed recordings and the totals.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { getErrorMessage, readJsonFile, reportResults } from "./command-line.ts";
import { HttpClient } from "./http-client.ts";
import {
  findEntryFaults,
  getExpectedFailure,
  findOutputFaults,
  withSentinel,
  type RecordingEntry,
} from "./recording.ts";
import { RecordingServer } from "./recording-server.ts";

const usage =
  "gateway-recordings.ts FOLDER --base URL --port N [--prefix up/] [--responses-prefix upresp/]";
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: "string" },
    port: { type: "string" },
    prefix: { type: "string", default: "up/" },
    "responses-prefix": { type: "string", default: "upresp/" },
    every: { type: "string", default: "1" },
  },
});
const folder = resolve(positionals[0] ?? "../shared/fixtures");
const { base, port } = values;
if (base === undefined || port === undefined || !existsSync(folder)) {
  console.error(`Usage: ${usage}`);
  process.exit(2);
}
const { files } = readJsonFile<{ files: RecordingEntry[] }>(
  join(folder, "index.json"),
  "files",
  usage,
);

const concurrency = 8;
const maxFaultsShown = 8;
const server = new RecordingServer();
await server.listen(Number(port));
const client = new HttpClient(base);
let passed = 0;
let failed = 0;
const pendingEntries = files.filter((_, index) => index % Number(values.every) === 0);
await Promise.all(Array.from({ length: concurrency }, playNext));
server.close();
if (passed + failed === 0) failed = 1;
reportResults(passed, failed);

async function playNext(): Promise<void> {
  for (let entry = pendingEntries.shift(); entry !== undefined; entry = pendingEntries.shift()) {
    const faults = await checkRecording(entry).catch((error: unknown) => [getErrorMessage(error)]);
    if (faults.length === 0) {
      passed += 1;
      continue;
    }
    failed += 1;
    console.log(`FAILED ${entry.file}`);
    for (const fault of faults.slice(0, maxFaultsShown)) console.log(`  ${fault}`);
  }
}

async function checkRecording(entry: RecordingEntry): Promise<string[]> {
  const entryFaults = findEntryFaults(entry);
  if (entryFaults.length > 0) return entryFaults;
  const isJson = entry.kind === "chat-json";
  const body = withSentinel(entry, readFileSync(join(folder, entry.file)));
  const faults: string[] = [];
  for (const delivery of ["in one write", "in many writes"] as const)
    for (const stream of isJson ? [true, false] : [true]) {
      const prefix = entry.kind === "responses-stream" ? values["responses-prefix"] : values.prefix;
      const name = server.add({ body, isJson, isSplit: delivery === "in many writes" });
      const playFaults = await findPlayFaults(entry, prefix + name, stream);
      server.remove(name);
      faults.push(
        ...playFaults.map((fault) => `${delivery}${stream ? "" : ", not streamed"}: ${fault}`),
      );
    }
  return faults;
}

async function findPlayFaults(
  entry: RecordingEntry,
  model: string,
  stream: boolean,
): Promise<string[]> {
  const faults: string[] = [];
  const failure = getExpectedFailure(entry);
  for (const wire of ["responses", "chat"] as const) {
    const { status, events, text } = await client.request(wire, model, stream);
    if (status === 200) faults.push(...findOutputFaults(entry, { [wire]: events }));
    // A failure before the first byte is an HTTP status.
    else if (failure === undefined || !text.includes(failure))
      faults.push(`${wire}: ${status}: ${text.slice(0, 300)}`);
  }
  return faults;
}
