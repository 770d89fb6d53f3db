import { on } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Building } from "./chats/build.ts";
import { ask } from "./chats/ask.ts";
import { readingCases, writingCases, type Case } from "./chats/cases.ts";
import { planted, type Library } from "./chats/library.ts";
import { inRounds, p95, printTimed, type Timed } from "./chats/rounds.ts";
import {
  printGoals,
  type Goal,
  mebibytes,
  milliseconds,
  printTable,
  times,
} from "../../../bench/report.ts";
import { machine, printDoubts } from "../../../bench/machine.ts";
import { residentMemory, median } from "../../../bench/measure.ts";
import {
  guardedWorkshop,
  nodeCommand,
  type Started,
  nextMessage,
} from "../../../bench/processes.ts";

/*
 * npm run bench:chats [-- --chats N --messages M --rounds R --store FILE]
 *
 * A measurement, not a test: it says which goals are met and ends with 0 either way; with 1 if a reply was not what was
 * to come. It makes a store of 10,000 chats of 200 messages, which takes some minutes and 6 GB of disk, and removes it.
 * --store FILE measures on one that `chats/build.ts` has made of as many chats, changes it, and leaves it there.
 */

const { values: options } = parseArgs({
  options: {
    chats: { type: "string", default: "10000" },
    messages: { type: "string", default: "200" },
    rounds: { type: "string", default: "100" },
    store: { type: "string" },
  },
});
const library: Library = { chats: count("chats", 200), messages: count("messages", 2) };
const rounds = count("rounds", 5);
const goalMs = 50;
/** Of the whole run, in milliseconds: building is nearly all of it. */
const limit = 300_000 + library.chats * library.messages * 1.5;

console.log(machine);
const begun = performance.now();
const workshop = guardedWorkshop(limit);
printDoubts(workshop.folder);

try {
  const path = options.store ?? join(workshop.folder, "chats.db");
  if (options.store === undefined) await build(path);
  console.log(`The file has ${mebibytes(statSync(path).size)} MiB.`);
  const goals = await behindHttp(path);
  await saves(path);
  console.log(`\nGoals (after ${((performance.now() - begun) / 1000).toFixed(0)} s)`);
  printGoals(goals);
} finally {
  workshop.close();
}

async function build(path: string): Promise<void> {
  const { chats, messages } = library;
  const all = chats.toLocaleString("en");
  const building = performance.now();
  const seconds = () => (performance.now() - building) / 1000;
  const file = nodeCommand(import.meta.resolve("./chats/build.ts"), path, chats, messages);
  const builder = workshop.start("build", file, { ipc: true });
  const ended = new AbortController();
  builder.child.once("exit", () =>
    ended.abort(new Error(`the store was not made:\n${builder.log()}`)),
  );
  let lastSaid = 0;
  for await (const [told] of on(builder.child, "message", { signal: ended.signal })) {
    const { chats: made, isDone } = told as Building;
    if (isDone) break;
    if (seconds() - lastSaid < 15) continue;
    lastSaid = seconds();
    const left = (seconds() / made) * (chats - made);
    console.log(`  ${made.toLocaleString("en")} of ${all} chats, ${left.toFixed(0)} s to go`);
  }
  const rate = (chats * messages) / seconds();
  console.log(
    `Made ${all} chats of ${messages} messages in ${seconds().toFixed(0)} s: ${rate.toFixed(0)} messages a second.`,
  );
  await workshop.stop(builder);
}

async function behindHttp(path: string): Promise<Goal[]> {
  const starting = performance.now();
  const gateway = workshop.start(
    "gateway",
    nodeCommand(import.meta.resolve("../check/measured-gateway.ts")),
    {
      ipc: true,
    },
  );
  gateway.child.send({ toml: config(path) });
  const { url } = (await nextMessage(gateway)) as { url: string };
  await ask({ url: `${url}/api/chats?limit=1` });
  const ready = performance.now() - starting;
  const floor = workshop.start(
    "floor",
    nodeCommand(import.meta.resolve("./chats/floor.ts"), path),
    { ipc: true },
  );
  const { url: floorUrl } = (await nextMessage(floor)) as { url: string };

  const read = await inRounds(await readingCases(url, floorUrl, library), rounds);
  const of = (group: Case["group"]) => read.filter((timed) => timed.of.group === group);
  const title = (what: string) => `${what}, over HTTP; ${rounds} rounds, one request at a time`;
  printTimed(title("The list"), "by key, unparsed", of("list"));
  printTimed(title("Opening and catching up"), "by key, unparsed", [...of("open"), ...of("other")]);
  printTimed(title("Search, the first 20 chats"), "a list of 20", of("search"));
  await compareWithScan(floorUrl, of("search"));
  await workshop.stop(floor);
  const written = await inRounds(await writingCases(url, library), Math.min(rounds, 30));
  printTimed("Changes, over HTTP", "JSON.parse", written);
  console.log(
    `\nThe gateway answered ${ready.toFixed(0)} ms after its start; it holds ${mebibytes(residentMemory([gateway.pid]))} MiB.`,
  );
  await workshop.stop(gateway);
  return [goalOf("list", of("list")), goalOf("open", of("open")), goalOf("search", of("search"))];
}

function config(path: string): string {
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

/** The peer of a search: every text is looked at. In a part of the chats, for it takes that long. */
async function compareWithScan(floor: string, searches: readonly Timed[]): Promise<void> {
  const sample = Math.min(200, library.chats);
  const rows: string[][] = [];
  for (const word of [planted.rareWord, planted.rareChinese]) {
    const url = `${floor}/scan?chats=${sample}&words=${encodeURIComponent(word)}`;
    const took: number[] = [];
    for (let round = 0; round < 4; round += 1) took.push((await ask({ url })).ms);
    const all = (median(took.slice(1)) * library.chats) / sample;
    const ours = searches.find(({ of }) => of.name.endsWith(word));
    const p50 = median(ours?.took ?? []);
    rows.push([word, milliseconds(p50), milliseconds(all), times(all / p50)]);
  }
  printTable(
    `Search beside LIKE '%…%' over ${sample} chats, times ${library.chats / sample}`,
    ["", "search ms", "scan ms", "scan / search"],
    rows,
  );
}

function goalOf(group: string, all: readonly Timed[]): Goal {
  const sorted = all.toSorted((a, b) => p95(b.took) - p95(a.took));
  const missed = sorted.filter(({ took }) => !(p95(took) < goalMs));
  const told = (timed: Timed) => `${timed.of.name} ${milliseconds(p95(timed.took))} ms`;
  const { chats, messages } = library;
  return {
    goal: `${group} under ${goalMs} ms (p95) with ${chats.toLocaleString("en")} chats of ${messages} messages`,
    met: missed.length === 0,
    measured:
      missed.length === 0
        ? `the slowest: ${sorted.slice(0, 1).map(told).join("")}`
        : `${missed.length} of ${all.length}: ${missed.map(told).join("; ")}`,
  };
}

/** In a process of its own, which is the only writer by now. */
async function saves(path: string): Promise<void> {
  const args = [workshop.folder, path, library.chats, Math.min(rounds, 50)] as const;
  const started: Started = workshop.start(
    "saves",
    nodeCommand(import.meta.resolve("./chats/saves.ts"), ...args),
    {
      ipc: true,
    },
  );
  await nextMessage(started);
  process.stdout.write(started.log());
  await workshop.stop(started);
}

function count(name: "chats" | "messages" | "rounds", least: number): number {
  const value = Number(options[name]);
  if (Number.isInteger(value) && value >= least) return value;
  console.error(`--${name}: expected a whole number, ${least} at the least`);
  return process.exit(1);
}
