import { on } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { BuildProgress } from "./chats/build.ts";
import { sendTimed } from "./chats/timed-request.ts";
import { readingCases, createWritingCases, type BenchCase } from "./chats/cases.ts";
import { plantedTexts, type ChatLibrary } from "./chats/chat-library.ts";
import { runInRounds, computeP95, printTimed, type TimedCase } from "./chats/rounds.ts";
import {
  printGoals,
  type Goal,
  formatMiB,
  formatMs,
  printTable,
  formatRatio,
} from "../../../bench/report.ts";
import { machineDescription, printMeasurementWarnings } from "../../../bench/machine.ts";
import { readResidentBytes, median } from "../../../bench/measure.ts";
import {
  createBenchEnvironment,
  buildNodeCommand,
  type StartedProcess,
  waitForMessage,
} from "../../../bench/processes.ts";

/*
 * npm run bench:chats [-- --chats N --messages M --rounds R --store FILE]
 *
 * A measurement, not a test: it prints which goals are met and exits with 0 either way; with 1 if a reply was wrong. Creates a
 * store of 10,000 chats of 200 messages, which takes some minutes and 6 GB of disk, and deletes it. --store FILE uses (and
 * changes) a store of the same size that `chats/build.ts` has created.
 */

const { values: options } = parseArgs({
  options: {
    chats: { type: "string", default: "10000" },
    messages: { type: "string", default: "200" },
    rounds: { type: "string", default: "100" },
    store: { type: "string" },
  },
});
const library: ChatLibrary = { chats: count("chats", 200), messages: count("messages", 2) };
const rounds = count("rounds", 5);
const goalMs = 50;
/** Time limit of the run in milliseconds, mostly for building the store. */
const limit = 300_000 + library.chats * library.messages * 1.5;

console.log(machineDescription);
const startedAt = performance.now();
const environment = createBenchEnvironment(limit);
printMeasurementWarnings(environment.folder);

try {
  const path = options.store ?? join(environment.folder, "chats.db");
  if (options.store === undefined) await build(path);
  console.log(`The file has ${formatMiB(statSync(path).size)} MiB.`);
  const goals = await measureOverHttp(path);
  await saves(path);
  console.log(`\nGoals (after ${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
  printGoals(goals);
} finally {
  environment.close();
}

async function build(path: string): Promise<void> {
  const { chats, messages } = library;
  const all = chats.toLocaleString("en");
  const building = performance.now();
  const seconds = () => (performance.now() - building) / 1000;
  const file = buildNodeCommand(import.meta.resolve("./chats/build.ts"), path, chats, messages);
  const builder = environment.start("build", file, { ipc: true });
  const ended = new AbortController();
  builder.child.once("exit", () =>
    ended.abort(new Error(`the store could not be created:\n${builder.log()}`)),
  );
  let lastReportAt = 0;
  for await (const [message] of on(builder.child, "message", { signal: ended.signal })) {
    const { chats: builtCount, isDone } = message as BuildProgress;
    if (isDone) break;
    if (seconds() - lastReportAt < 15) continue;
    lastReportAt = seconds();
    const left = (seconds() / builtCount) * (chats - builtCount);
    console.log(`  ${builtCount.toLocaleString("en")} of ${all} chats, ${left.toFixed(0)} s to go`);
  }
  const rate = (chats * messages) / seconds();
  console.log(
    `Created ${all} chats of ${messages} messages in ${seconds().toFixed(0)} s: ${rate.toFixed(0)} messages a second.`,
  );
  await environment.stop(builder);
}

async function measureOverHttp(path: string): Promise<Goal[]> {
  const starting = performance.now();
  const gateway = environment.start(
    "gateway",
    buildNodeCommand(import.meta.resolve("../check/measured-gateway.ts")),
    {
      ipc: true,
    },
  );
  gateway.child.send({ toml: buildConfig(path) });
  const { url } = (await waitForMessage(gateway)) as { url: string };
  await sendTimed({ url: `${url}/api/chats?limit=1` });
  const ready = performance.now() - starting;
  const floor = environment.start(
    "floor",
    buildNodeCommand(import.meta.resolve("./chats/baseline-server.ts"), path),
    { ipc: true },
  );
  const { url: floorUrl } = (await waitForMessage(floor)) as { url: string };

  const read = await runInRounds(await readingCases(url, floorUrl, library), rounds);
  const inGroup = (group: BenchCase["group"]) =>
    read.filter((timed) => timed.benchCase.group === group);
  const title = (what: string) => `${what}, over HTTP; ${rounds} rounds, one request at a time`;
  printTimed(title("The list"), "by key, unparsed", inGroup("list"));
  printTimed(title("Opening and catching up"), "by key, unparsed", [
    ...inGroup("open"),
    ...inGroup("other"),
  ]);
  printTimed(title("Search, the first 20 chats"), "a list of 20", inGroup("search"));
  await compareWithScan(floorUrl, inGroup("search"));
  await environment.stop(floor);
  const written = await runInRounds(await createWritingCases(url, library), Math.min(rounds, 30));
  printTimed("Changes, over HTTP", "JSON.parse", written);
  console.log(
    `\nThe gateway was ready ${ready.toFixed(0)} ms after its start and uses ${formatMiB(readResidentBytes([gateway.pid]))} MiB.`,
  );
  await environment.stop(gateway);
  return [
    evaluateGoal("list", inGroup("list")),
    evaluateGoal("open", inGroup("open")),
    evaluateGoal("search", inGroup("search")),
  ];
}

function buildConfig(path: string): string {
  return `[server]
port = 0
demo = false

[store]
path = "${path}"

[upstreams.up]
base_url = "http://127.0.0.1:9/v1"
speaks = "chat"
api_key = "bench-key-0123456789"
`;
}

/** Compares searches with a scan of all texts, on a sample of the chats because it is slow. */
async function compareWithScan(floor: string, searches: readonly TimedCase[]): Promise<void> {
  const sample = Math.min(200, library.chats);
  const rows: string[][] = [];
  for (const word of [plantedTexts.rareWord, plantedTexts.rareChinese]) {
    const url = `${floor}/scan?chats=${sample}&words=${encodeURIComponent(word)}`;
    const took: number[] = [];
    for (let round = 0; round < 4; round += 1) took.push((await sendTimed({ url })).ms);
    const all = (median(took.slice(1)) * library.chats) / sample;
    const ours = searches.find(({ benchCase }) => benchCase.name.endsWith(word));
    const p50 = median(ours?.took ?? []);
    rows.push([word, formatMs(p50), formatMs(all), formatRatio(all / p50)]);
  }
  printTable(
    `Search compared with LIKE '%…%' over ${sample} chats, times ${library.chats / sample}`,
    ["", "search ms", "scan ms", "scan / search"],
    rows,
  );
}

function evaluateGoal(group: string, all: readonly TimedCase[]): Goal {
  const sorted = all.toSorted((a, b) => computeP95(b.took) - computeP95(a.took));
  const missed = sorted.filter(({ took }) => !(computeP95(took) < goalMs));
  const format = (timed: TimedCase) =>
    `${timed.benchCase.name} ${formatMs(computeP95(timed.took))} ms`;
  const { chats, messages } = library;
  return {
    description: `${group} under ${goalMs} ms (p95) with ${chats.toLocaleString("en")} chats of ${messages} messages`,
    isMet: missed.length === 0,
    measured:
      missed.length === 0
        ? `the slowest: ${sorted.slice(0, 1).map(format).join("")}`
        : `${missed.length} of ${all.length}: ${missed.map(format).join("; ")}`,
  };
}

/** Runs in a separate process, which is now the only writer. */
async function saves(path: string): Promise<void> {
  const args = [environment.folder, path, library.chats, Math.min(rounds, 50)] as const;
  const started: StartedProcess = environment.start(
    "saves",
    buildNodeCommand(import.meta.resolve("./chats/saves.ts"), ...args),
    {
      ipc: true,
    },
  );
  await waitForMessage(started);
  process.stdout.write(started.log());
  await environment.stop(started);
}

function count(name: "chats" | "messages" | "rounds", least: number): number {
  const value = Number(options[name]);
  if (Number.isInteger(value) && value >= least) return value;
  console.error(`--${name} must be an integer of at least ${least}`);
  return process.exit(1);
}
