import { fileURLToPath as pathOf } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  againAtWrites,
  atBoundaries,
  atCancel,
  atRandom,
  everyNth,
  inTools,
  type KillCase,
} from "../check/kill/cases.ts";
import { KillHarness } from "../check/kill/kill-harness.ts";
import { runBaseline, runCases, type RunCasesOptions } from "../check/kill/run-cases.ts";
import { KillTally } from "../check/kill/tally.ts";

/* A short form of `npm run check:kill`: kills real servers with -9, at some of the points of the full check. */

let harness: KillHarness;
let baseline: Awaited<ReturnType<typeof runBaseline>>;
let canceledBaseline: typeof baseline;

beforeAll(async () => {
  harness = await KillHarness.open(3);
  [baseline, canceledBaseline] = await Promise.all([
    runBaseline(harness),
    runBaseline(harness, { scenario: "helper canceled" }),
  ]);
}, 60_000);

afterAll(() => harness.close());

async function tallyCases(cases: readonly KillCase[], options: Partial<RunCasesOptions> = {}) {
  const tally = new KillTally();
  await runCases(harness, () => cases, {
    baseline: baseline.finalState,
    tally,
    concurrency: 3,
    ...options,
  });
  return tally;
}

test("a task whose server is killed continues after a restart, loses nothing, and repeats no effect that may happen only once", async () => {
  const tally = await tallyCases([
    ...everyNth(50, atBoundaries(baseline.finalState.log)),
    ...takeFirst(
      1,
      againAtWrites(13, () => false),
    ),
    ...everyNth(6, inTools()),
    ...takeFirst(
      1,
      atRandom(1, baseline.ms, () => false),
    ),
  ]);
  expect(tally.failures).toEqual([]);
  expect(tally.passed).toBeGreaterThan(8);
}, 60_000);

test("a sub-agent that is canceled while the server is killed stays canceled, and its parent continues", async () => {
  const cases = takeFirst(2, everyNth(4, atCancel()));
  const tally = await tallyCases(cases, { baseline: canceledBaseline.finalState });
  expect(tally.failures).toEqual([]);
  expect(tally.passed).toBe(cases.length);
}, 60_000);

test("a custom store passes the same check", async () => {
  const store = pathOf(new URL("../check/kill/jsonl-store.ts", import.meta.url));
  const cases = [...atBoundaries(baseline.finalState.log)];
  // After this kill the same request is sent again, with a key that the store must have written.
  const afterStart = cases.filter(({ name }) => name === "task.created 0, stored");
  const tally = await tallyCases([...everyNth(100, cases), ...afterStart], { store });
  expect(tally.failures).toEqual([]);
  expect(tally.passed).toBeGreaterThan(1);
}, 60_000);

test("the check fails for a store that acknowledges writes before it stores them", async () => {
  // By the fourth of these writes the client has received and answered several approval requests.
  const cases = ["task.approval.requested", "task.approval.resolved"].map((what): KillCase => ({
    killMethod: "notified",
    name: what,
    kills: [{ at: { what, nth: 3 }, moment: "notified" }],
    answerTiming: "immediately",
  }));
  const store = pathOf(new URL("../check/kill/early-ack-store.ts", import.meta.url));
  const { failures } = await tallyCases(cases, { store, timeoutMs: 8000 });
  expect(failures).toHaveLength(cases.length);
  for (const { faults } of failures)
    expect(faults.join("\n")).toMatch(
      /was sent but is not in the log|the client was rejected|was acknowledged but is lost/,
    );
}, 60_000);

test("the check fails for a store that keeps a denied result", async () => {
  const store = pathOf(new URL("../check/kill/no-redaction-store.ts", import.meta.url));
  await expect(runBaseline(harness, { store })).rejects.toThrow(/denied content is still in/);
}, 60_000);

function takeFirst(count: number, cases: Iterable<KillCase>): KillCase[] {
  const first: KillCase[] = [];
  for (const one of cases) {
    if (first.length === count) break;
    first.push(one);
  }
  return first;
}
