/*
 * npm run check:kill [-- --quick] [--seed NUMBER] [--store MODULE | --store postgres]
 * Kills a real server with -9 around every key, blob, grant, input, round, approval, denial, execution, reference, end and
 * snapshot that a scripted run writes: before the write, after it but before clients are notified, and after that. Then it kills
 * the server at every second write by number, at one of these moments each; a second time while the task is resumed; while
 * a tool runs; around the cancellation of a sub-agent; and for 20 s at random times. The run has tools of all three effects, a
 * sub-agent, and a user who sends input, approves once and for the session, edits arguments, denies, and redacts results.
 * Each time the server is restarted on the same folder. Then
 *   the task completes, and `validateLog` accepts its complete log, with every `state_hash` correct;
 *   a client that was connected from the start, one that connects at the end, GET and the log have the same state;
 *   everything that a client received is stored, and what the user denied is nowhere, not even in the store;
 *   no `once` tool ran twice, others only with the same key (counted by a separate process), and the user is asked only
 *   about executions whose outcome cannot be known;
 *   the output equals that of a run without a kill.
 * Prints where and how often servers were killed. Exits with 1 if any of this is wrong.
 *
 * To check another store: MODULE is a path or a package that exports
 *
 *   openStore({ folder }: { folder: string }): Promise<Store>
 *
 * with the `Store` of `@deltawire/store`. Every server imports it and opens it in a folder of the run, one process at a time
 * and again after each kill. Data stored elsewhere must be separated by the name of the folder. Try
 * `--store packages/gateway/check/kill/early-ack-store.ts` to see how a store that acknowledges too early fails.
 * `--store postgres` starts a PostgreSQL server and uses it.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "../../../test/postgres-server.ts";
import {
  againAtWrites,
  atBoundaries,
  atCancel,
  atRandom,
  atWrites,
  everyNth,
  inTools,
  killMethods,
} from "./kill/cases.ts";
import { KillHarness } from "./kill/kill-harness.ts";
import { writesOfEveryRun } from "./kill/crashing-store.ts";
import { runBaseline, runCases } from "./kill/run-cases.ts";
import { KillTally } from "./kill/tally.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    store: { type: "string", default: "@deltawire/store" },
  },
});
const { quick } = values;
const postgres = values.store === "postgres" ? await startPostgres() : undefined;
if (postgres !== undefined) process.env["DELTAWIRE_CHECK_POSTGRES"] = postgres.url;
const store =
  postgres === undefined ? values.store : join(import.meta.dirname, "kill", "postgres-store.ts");
const seed = Number(values.seed);
const concurrency = 4;
const randomMs = quick ? 3_000 : 20_000;
/** A longer run counts as hung. */
const maxMinutes = 10;

const hungTimer = setTimeout(() => {
  console.log(`FAILED: not done after ${maxMinutes} minutes`);
  process.exit(1);
}, maxMinutes * 60_000);
const harness = await KillHarness.open();
try {
  process.exitCode = (await check()) ? 0 : 1;
} catch (error) {
  // Kills prove nothing if a run fails without one.
  console.log(`FAILED ${error instanceof Error ? error.message : String(error)}`);
  console.log("0 passed, 1 failed");
  process.exitCode = 1;
} finally {
  await harness.close();
  await postgres?.stop();
  clearTimeout(hungTimer);
}

async function check(): Promise<boolean> {
  const startedAt = performance.now();
  const tally = new KillTally();
  const { finalState: baseline } = await runBaseline(harness, { store });
  // Measured on a second run, because the first includes the warm-up.
  const { ms } = await runBaseline(harness, { store });
  const canceled = await runBaseline(harness, { store, scenario: "helper canceled" });
  const options = { baseline, concurrency, tally, store };
  await runCases(harness, () => everyNth(quick ? 15 : 1, atBoundaries(baseline.log)), options);
  await runCases(harness, (isPastLastWrite) => atWrites(quick ? 13 : 2, isPastLastWrite), options);
  await runCases(
    harness,
    (isPastLastWrite) => againAtWrites(quick ? 13 : 3, isPastLastWrite),
    options,
  );
  await runCases(harness, () => everyNth(quick ? 3 : 1, inTools()), options);
  await runCases(harness, () => everyNth(quick ? 4 : 1, atCancel()), {
    ...options,
    baseline: canceled.finalState,
  });
  const deadline = performance.now() + randomMs;
  await runCases(harness, () => atRandom(seed, ms, () => performance.now() > deadline), options);

  printLine("killed at", killMethods);
  for (const [killPoint, counts] of [...tally.killCounts].toSorted(compareRows))
    printLine(
      killPoint,
      killMethods.map((method) => String(counts.get(method) ?? "")),
    );
  for (const { name, faults } of tally.failures)
    console.log(`FAILED ${name}: ${faults.join("; ")}`);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`in ${seconds.toFixed(0)} s, seed ${seed}`);
  console.log(`${tally.passed} passed, ${tally.failures.length} failed`);
  return tally.failures.length === 0;
}

function compareRows(
  [first]: readonly [string, unknown],
  [second]: readonly [string, unknown],
): number {
  return getRowIndex(first) - getRowIndex(second) || (first < second ? -1 : 1);
}

function getRowIndex(killPoint: string): number {
  const index = writesOfEveryRun.indexOf(killPoint);
  return index === -1 ? writesOfEveryRun.length : index;
}

function printLine(name: string, cells: readonly string[]): void {
  console.log(`  ${name.padEnd(30)} ${cells.map((cell) => cell.padStart(9)).join(" ")}`.trimEnd());
}
