/*
 * Kills a gateway with SIGKILL at random points while clients create responses, restarts it, and compares what clients have
 * received with what is stored: `npm run check:kill-responses -- --times 100 --seed 1`.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median, readCpuTimeMs } from "../../../bench/measure.ts";

interface StoredReply {
  id: string;
  status: string;
  background?: boolean;
}

/** What clients have received, which must stay true. */
interface Received {
  /** Responses that have ended for a client, as JSON. */
  readonly ended: Map<string, string>;
  /** Events in the background by response and number, as JSON. */
  readonly events: Map<string, string>;
  /** Responses in the background that a client knows. */
  readonly background: Set<string>;
}

const clientCount = 8;
const settleMs = 20_000;

const { values } = parseArgs({
  options: {
    times: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
  },
});
let randomState = Number(values.seed) >>> 0;
const problems: string[] = [];
/** From the start of the process to the first answered request, in milliseconds. */
const readyTimes: number[] = [];
/** The processor time that this took, which hardly depends on other load. */
const readyCpuTimes: number[] = [];
const totals = { ended: 0, background: 0, events: 0 };
const received: Received = { ended: new Map(), events: new Map(), background: new Set() };

const upstream = createServer((request, response) => {
  request.resume();
  if (request.method === "GET") response.end('{"object":"list","data":[]}');
  else request.once("end", () => void streamWords(response));
});
upstream.listen(0, "127.0.0.1");
await once(upstream, "listening");
const folder = mkdtempSync(join(tmpdir(), "deltawire-kill-"));
const { port } = upstream.address() as AddressInfo;
writeFileSync(
  join(folder, "deltawire.toml"),
  `[server]\nport = 0\n[upstreams.up]\nbase_url = "http://127.0.0.1:${port}/v1"\nspeaks = "chat"\n`,
);
try {
  for (let round = 1; round <= Number(values.times); round += 1) {
    const gateway = await startGateway();
    await checkStored(gateway.url);
    const stop = new AbortController();
    const clients = Array.from({ length: clientCount }, (_, index) =>
      runClient(gateway.url, index % 2 === 0, stop.signal),
    );
    await sleep(50 + nextRandom() * 600);
    gateway.child.kill("SIGKILL");
    stop.abort();
    await Promise.all([once(gateway.child, "exit"), ...clients]);
    if (problems.length > 0) break;
  }
  const gateway = await startGateway();
  await checkStored(gateway.url);
  gateway.child.kill("SIGTERM");
  await once(gateway.child, "exit");
} finally {
  upstream.closeAllConnections();
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
}
// The first start creates the store and fills the compile cache.
console.log(
  `${values.times} kills: ${totals.ended} ended responses, ${totals.background} in the background, ${totals.events} events\n` +
    `ready again, from the start to the first answer: ${describeTimes(readyTimes.slice(1))}\n` +
    `processor time until then: ${describeTimes(readyCpuTimes.slice(1))}`,
);
for (const problem of problems.slice(0, 20)) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

async function streamWords(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: object, finish_reason: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
    );
  for (let word = 0; word < 10; word += 1) {
    send({ content: `word${Math.round(nextRandom() * 1e6)} ` });
    await sleep(nextRandom() * 15);
  }
  send({}, "stop");
  response.end("data: [DONE]\n\n");
}

async function startGateway(): Promise<{ child: ChildProcess; url: string }> {
  const startedAt = performance.now();
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const args = ["--conditions=@deltawire/source", main, "serve", "--data", folder];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: {
      HOME: folder,
      PATH: process.env["PATH"] ?? "",
      // As with `npm start`.
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(folder, "compile-cache"),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr?.resume();
  for await (const line of createInterface(child.stdout)) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    if (url === undefined) continue;
    child.stdout?.resume();
    await waitUntilReady(url);
    readyTimes.push(performance.now() - startedAt);
    readyCpuTimes.push(readCpuTimeMs([child.pid ?? 0]));
    return { child, url };
  }
  throw new Error("the gateway has not started");
}

/** Resolves when the gateway answers requests, and its store is open. */
async function waitUntilReady(url: string): Promise<void> {
  while (!(await fetch(`${url}/readyz`)).ok) await sleep(2);
}

function describeTimes(times: readonly number[]): string {
  return `median ${median(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)} ms`;
}

/** Creates responses until the gateway is killed. */
async function runClient(url: string, isBackground: boolean, signal: AbortSignal): Promise<void> {
  while (!signal.aborted)
    try {
      const response = await fetch(`${url}/v1/responses`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          model: "up/m",
          input: `Hello ${nextRandom()}`,
          stream: true,
          background: isBackground,
        }),
        signal,
      });
      await readStream(response, isBackground);
    } catch {
      // Killed.
    }
}

async function readStream(response: Response, isBackground: boolean): Promise<void> {
  let id = "";
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const json = /^data: (\{.*\})$/m.exec(block)?.[1];
      if (json === undefined) continue;
      const event = JSON.parse(json) as { sequence_number: number; response?: StoredReply };
      id = event.response?.id ?? id;
      if (isBackground) {
        received.background.add(id);
        received.events.set(`${id} ${event.sequence_number}`, json);
      }
      if (event.response?.status === "completed")
        received.ended.set(id, JSON.stringify(event.response));
    }
  }
}

/** Compares everything that clients have received with what is stored. */
async function checkStored(url: string): Promise<void> {
  const get = async (path: string) => fetch(`${url}/v1/responses/${path}`);
  for (const [id, json] of received.ended) {
    const response = await get(id);
    const stored: unknown = await response.json();
    if (!isEqual(stored, JSON.parse(json)))
      problems.push(`${id}: status ${response.status}, it differs from what its client received`);
  }
  for (const id of received.background) {
    const deadline = Date.now() + settleMs;
    for (;;) {
      const { status } = (await (await get(id)).json()) as StoredReply;
      if (status === "completed" || status === "failed") break;
      if (Date.now() > deadline) {
        problems.push(`${id}: still ${status} after the restart`);
        break;
      }
      await sleep(50);
    }
    const text = await (await get(`${id}?stream=true`)).text();
    const jsons = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = ""]) => json);
    jsons.forEach((json, index) => {
      const event = JSON.parse(json) as { sequence_number: number };
      if (event.sequence_number !== index) problems.push(`${id}: event ${index} is missing`);
      const earlier = received.events.get(`${id} ${index}`);
      if (earlier !== undefined && earlier !== json)
        problems.push(`${id}: the number ${index} was used for two events`);
    });
    for (const key of received.events.keys()) {
      const [owner, number] = key.split(" ");
      if (owner === id && Number(number) >= jsons.length)
        problems.push(`${id}: event ${number} was received, but is not stored`);
    }
  }
  totals.ended += received.ended.size;
  totals.background += received.background.size;
  totals.events += received.events.size;
  received.ended.clear();
  received.background.clear();
  received.events.clear();
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(sortKeys(a)) === JSON.stringify(sortKeys(b));
}

function sortKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  const entries = Object.entries(value).map(([name, field]) => [name, sortKeys(field)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A seeded generator (mulberry32). */
function nextRandom(): number {
  randomState = (randomState + 0x6d2b79f5) >>> 0;
  let t = randomState;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
