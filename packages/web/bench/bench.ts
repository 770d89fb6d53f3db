import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { printGoals, type Goal } from "../../../bench/report.ts";
import { loadOfOthers, machine } from "../../../bench/machine.ts";
import { pageGoals } from "./goals.ts";
import { holdForAnHour } from "./hour.ts";
import { openLongChats } from "./long-chat.ts";
import { printHour, printLoaded, printOpened, printPlayed } from "./print.ts";
import { startScene } from "./scene.ts";
import { loadedInSteps } from "./sizes.ts";
import { played, streamCases } from "./streams.ts";
import { guardedWorkshop } from "../../../bench/processes.ts";

/*
 * npm run bench:page [-- --quick] [-- --patient] [-- --only NAME,…] [-- --json FILE]
 *
 * The page in a real Chromium, on a real gateway with a scripted model: a measurement, not a test. It says which goals are
 * met and ends with 0 either way; with 1 if something was not drawn. Names for --only: sizes, streams, open, hour, and
 * the streams. --patient waits before each round, up to a minute, until others leave the processors alone. All traffic
 * stays on this machine.
 */

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    patient: { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "string" },
  },
});
const sections = ["sizes", "streams", "open", "hour"];
const { wanted, cases } = choose(options.only?.split(",") ?? []);
const rounds = options.quick ? 1 : 3;
const patience = options.patient ? 60_000 : 0;

console.log(`${machine}${options.quick ? ", quick run: one round" : ""}`);
const load = loadOfOthers();
if (load !== undefined) console.log(`Note: other programs are at work (${load}).`);

const begun = performance.now();
const workshop = guardedWorkshop(600_000 + 30 * patience);
const scene = await startScene(workshop);
try {
  const sizes = wanted("sizes") ? await loadedInSteps(scene) : [];
  printLoaded(sizes);
  const streams = wanted("streams") ? await played(scene, cases, rounds, patience) : [];
  printPlayed(streams);
  const opened = wanted("open") ? await openLongChats(scene, rounds, patience) : [];
  printOpened(opened);
  const hour = wanted("hour") ? await holdForAnHour(scene) : [];
  printHour(hour);
  const goals: Goal[] = pageGoals({ sizes, streams, opened, hour });
  const seconds = (performance.now() - begun) / 1000;
  const [busy = 0] = loadavg();
  console.log(`\nGoals (after ${seconds.toFixed(0)} s, load average ${busy.toFixed(1)})`);
  printGoals(goals);
  const figures = { machine, load, sizes, streams, opened, hour, goals };
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
} finally {
  await scene.close();
  workshop.close();
}

function choose(only: readonly string[]) {
  const names = streamCases.map(({ name }) => name);
  const unknown = only.find((name) => !sections.includes(name) && !names.includes(name));
  if (unknown !== undefined)
    throw new Error(`--only ${unknown}: known are ${[...sections, ...names].join(", ")}`);
  const named = streamCases.filter(({ name }) => only.includes(name));
  return {
    cases: named.length === 0 ? streamCases : named,
    wanted: (section: string) =>
      only.length === 0 || only.includes(section) || (section === "streams" && named.length > 0),
  };
}
