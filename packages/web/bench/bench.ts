import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { printGoals, type Goal } from "../../../bench/report.ts";
import { describeLoad, machineDescription } from "../../../bench/machine.ts";
import { evaluateGoals } from "./goals.ts";
import { measureOneHour } from "./hour.ts";
import { measureLongChats } from "./long-chat.ts";
import { printHour, printLoadSteps, printLongChats, printStreams } from "./print.ts";
import { startBenchFixture } from "./bench-fixture.ts";
import { measureLoadSteps } from "./sizes.ts";
import { measureStreams, streamCases } from "./streams.ts";
import { createBenchEnvironment } from "../../../bench/processes.ts";

/*
 * npm run bench:page [-- --quick] [-- --wait-for-idle] [-- --only NAME,…] [-- --json FILE]
 *
 * Measures the page in a real Chromium, with a real gateway and a scripted model. Prints which goals are met and exits with 0
 * either way, or with 1 if a page did not render completely. Names for --only: sizes, streams, open, hour, and the name of
 * each stream. --wait-for-idle waits up to a minute before each round until other processes leave the CPU idle. All
 * traffic stays on this machine.
 */

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    "wait-for-idle": { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "string" },
  },
});
const sections = ["sizes", "streams", "open", "hour"];
const { isSelected, cases } = selectSections(options.only?.split(",") ?? []);
const rounds = options.quick ? 1 : 3;
const idleTimeoutMs = options["wait-for-idle"] ? 60_000 : 0;

console.log(`${machineDescription}${options.quick ? ", quick run: one round" : ""}`);
const load = describeLoad();
if (load !== undefined) console.log(`Note: other processes are using the CPU (${load}).`);

const startedAt = performance.now();
const environment = createBenchEnvironment(600_000 + 30 * idleTimeoutMs);
const fixture = await startBenchFixture(environment);
try {
  const sizes = isSelected("sizes") ? await measureLoadSteps(fixture) : [];
  printLoadSteps(sizes);
  const streams = isSelected("streams")
    ? await measureStreams(fixture, cases, rounds, idleTimeoutMs)
    : [];
  printStreams(streams);
  const opened = isSelected("open") ? await measureLongChats(fixture, rounds, idleTimeoutMs) : [];
  printLongChats(opened);
  const hour = isSelected("hour") ? await measureOneHour(fixture) : [];
  printHour(hour);
  const goals: Goal[] = evaluateGoals({ sizes, streams, opened, hour });
  const seconds = (performance.now() - startedAt) / 1000;
  const [loadAverage = 0] = loadavg();
  console.log(`\nGoals (after ${seconds.toFixed(0)} s, load average ${loadAverage.toFixed(1)})`);
  printGoals(goals);
  const figures = { machine: machineDescription, load, sizes, streams, opened, hour, goals };
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
} finally {
  await fixture.close();
  environment.close();
}

function selectSections(only: readonly string[]) {
  const names = streamCases.map(({ name }) => name);
  const unknown = only.find((name) => !sections.includes(name) && !names.includes(name));
  if (unknown !== undefined)
    throw new Error(
      `unknown name for --only: ${unknown} (expected one of ${[...sections, ...names].join(", ")})`,
    );
  const selected = streamCases.filter(({ name }) => only.includes(name));
  return {
    cases: selected.length === 0 ? streamCases : selected,
    isSelected: (section: string) =>
      only.length === 0 || only.includes(section) || (section === "streams" && selected.length > 0),
  };
}
