/*
 * node --conditions=@deltawire/source packages/wire/check/served-recordings.ts FOLDER --base URL --port N
 *   [--prefix up/] [--responses-prefix upresp/] [--every N]
 * Plays every recording of a folder through a gateway, over HTTP and on both client wires, and compares what the clients
 * got with what the index says was sent. The gateway's upstreams of these two prefixes have to lead to
 * http://127.0.0.1:N/v1, where the recordings are served. Names what failed; the last line counts.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { messageOf, readJsonFile, report } from "./command-line.ts";
import { HttpClient } from "./http-client.ts";
import {
  entryFaults,
  failureIn,
  toldFaults,
  withSentinel,
  type RecordingEntry,
} from "./recording.ts";
import { RecordingServer } from "./recording-server.ts";

const usage =
  "served-recordings.ts FOLDER --base URL --port N [--prefix up/] [--responses-prefix upresp/]";
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

const atOnce = 8;
const faultsShown = 8;
const server = new RecordingServer();
await server.listen(Number(port));
const client = new HttpClient(base);
let passed = 0;
let failed = 0;
const waiting = files.filter((_, nth) => nth % Number(values.every) === 0);
await Promise.all(Array.from({ length: atOnce }, playNext));
server.close();
if (passed + failed === 0) failed = 1;
report(passed, failed);

async function playNext(): Promise<void> {
  for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
    const faults = await faultsOf(entry).catch((error: unknown) => [messageOf(error)]);
    if (faults.length === 0) {
      passed += 1;
      continue;
    }
    failed += 1;
    console.log(`FAILED ${entry.file}`);
    for (const fault of faults.slice(0, faultsShown)) console.log(`  ${fault}`);
  }
}

async function faultsOf(entry: RecordingEntry): Promise<string[]> {
  const oddities = entryFaults(entry);
  if (oddities.length > 0) return oddities;
  const isWhole = entry.kind === "chat-json";
  const body = withSentinel(entry, readFileSync(join(folder, entry.file)));
  const faults: string[] = [];
  for (const way of ["at once", "in pieces"] as const)
    for (const stream of isWhole ? [true, false] : [true]) {
      const prefix = entry.kind === "responses-stream" ? values["responses-prefix"] : values.prefix;
      const name = server.hold({ body, isWhole, inPieces: way === "in pieces" });
      const found = await playFaults(entry, prefix + name, stream);
      server.release(name);
      faults.push(...found.map((fault) => `${way}${stream ? "" : ", whole"}: ${fault}`));
    }
  return faults;
}

async function playFaults(
  entry: RecordingEntry,
  model: string,
  stream: boolean,
): Promise<string[]> {
  const faults: string[] = [];
  const failure = failureIn(entry);
  for (const wire of ["responses", "chat"] as const) {
    const { status, events, text } = await client.ask(wire, model, stream);
    if (status === 200) faults.push(...toldFaults(entry, { [wire]: events }));
    // Before the first byte a failure is told by a status.
    else if (failure === undefined || !text.includes(failure))
      faults.push(`${wire}: ${status}: ${text.slice(0, 300)}`);
  }
  return faults;
}
