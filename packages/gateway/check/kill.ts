/*
 * npm run check:kill [-- --quick] [--seed NUMBER] [--store MODULE]
 * A real server is killed with -9 around every key, blob, grant, word, round, approval, refusal, execution, reference, end
 * and snapshot that a scripted run writes: before it, when it is kept and nobody has heard of it, when all have heard of
 * it. Then at every other of its writes by number, one of these moments each; a second time while the task is taken up
 * again; while a tool is at work; around the cancel of a sub-agent; and for 20 s at any time. The run has tools of all
 * three effects, a sub-agent, and a person who steers it, approves, for once and for the session, edits arguments, denies,
 * and takes results out. Each time it is started again on the same folder, and then
 *   the task completes, and its log, read back whole, is one that `validateLog` accepts, with every `state_hash` right;
 *   the client that was there from the beginning, one that comes when all is over, GET and the log have the same state;
 *   whatever a client was told or promised is there, and what the person refused to show is nowhere, nor in the store;
 *   no `once` tool ran twice, others only under the same key, as a counter in a process of its own saw it, and a person is
 *   asked of what nobody can know and of nothing else;
 *   the output is that of a run that nobody disturbed.
 * Prints where and how often servers were killed, and exits with 1 if anything was otherwise.
 *
 * For a store of your own: MODULE is a path or a package that exports
 *
 *   openStore({ folder }: { folder: string }): Promise<Store>
 *
 * with the `Store` of `@deltawire/store`. It is imported by every server and opened in a folder of the run, by one process
 * at a time and again after each kill. What is kept elsewhere has to be kept by the name of the folder. Try
 * `--store packages/gateway/check/kill/forgetful-store.ts` to see how a store fails that promises too early.
 */
import { parseArgs } from "node:util";
import {
  againAtWrites,
  atBoundaries,
  atCancel,
  atRandom,
  atWrites,
  eachOf,
  inTools,
  ways,
} from "./kill/cases.ts";
import { Kit } from "./kill/kit.ts";
import { certain } from "./kill/mortal-store.ts";
import { Tally, tryCases, undisturbedRun } from "./kill/tally.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    store: { type: "string", default: "@deltawire/store" },
  },
});
const { quick, store } = values;
const seed = Number(values.seed);
const atOnce = 4;
const randomMs = quick ? 3_000 : 20_000;
/** Beyond this the run counts as hung. */
const mostMinutes = 10;

const hung = setTimeout(() => {
  console.log(`FAILED: not done after ${mostMinutes} minutes`);
  process.exit(1);
}, mostMinutes * 60_000);
const kit = await Kit.open();
try {
  process.exitCode = (await check()) ? 0 : 1;
} catch (error) {
  // Nothing can be said of kills if a run fails without one.
  console.log(`FAILED ${error instanceof Error ? error.message : String(error)}`);
  console.log("0 passed, 1 failed");
  process.exitCode = 1;
} finally {
  await kit.close();
  clearTimeout(hung);
}

async function check(): Promise<boolean> {
  const began = performance.now();
  const tally = new Tally();
  const { end: undisturbed } = await undisturbedRun(kit, { store });
  const { ms } = await undisturbedRun(kit, { store });
  const { end: canceled } = await undisturbedRun(kit, { store, plot: "helper canceled" });
  const trying = { undisturbed, atOnce, tally, store };
  await tryCases(kit, () => eachOf(quick ? 15 : 1, atBoundaries(undisturbed.log)), trying);
  await tryCases(kit, (isPast) => atWrites(quick ? 13 : 2, isPast), trying);
  await tryCases(kit, (isPast) => againAtWrites(quick ? 13 : 3, isPast), trying);
  await tryCases(kit, () => eachOf(quick ? 3 : 1, inTools()), trying);
  const ofCanceled = { ...trying, undisturbed: canceled };
  await tryCases(kit, () => eachOf(quick ? 4 : 1, atCancel()), ofCanceled);
  const until = performance.now() + randomMs;
  await tryCases(kit, () => atRandom(seed, ms, () => performance.now() > until), trying);

  line("killed at", ways);
  for (const [where, counts] of [...tally.killed].toSorted(inOrder))
    line(
      where,
      ways.map((way) => String(counts.get(way) ?? "")),
    );
  for (const { name, faults } of tally.failures)
    console.log(`FAILED ${name}: ${faults.join("; ")}`);
  const seconds = (performance.now() - began) / 1000;
  console.log(`in ${seconds.toFixed(0)} s, seed ${seed}`);
  console.log(`${tally.passed} passed, ${tally.failures.length} failed`);
  return tally.failures.length === 0;
}

function inOrder([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return placeOf(one) - placeOf(other) || (one < other ? -1 : 1);
}

function placeOf(where: string): number {
  const at = certain.indexOf(where);
  return at === -1 ? certain.length : at;
}

function line(name: string, cells: readonly string[]): void {
  console.log(`  ${name.padEnd(30)} ${cells.map((cell) => cell.padStart(9)).join(" ")}`.trimEnd());
}
