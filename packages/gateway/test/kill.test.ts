import { fileURLToPath as pathOf } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  againAtWrites,
  atBoundaries,
  atCancel,
  atRandom,
  eachOf,
  inTools,
  type Case,
} from "../check/kill/cases.ts";
import { Kit } from "../check/kill/kit.ts";
import { Tally, tryCases, undisturbedRun, type Trying } from "../check/kill/tally.ts";

/* The short form of `npm run check:kill`: real servers, killed with -9 at some of the places where that one kills them. */

let kit: Kit;
let undisturbed: Awaited<ReturnType<typeof undisturbedRun>>;
let canceled: typeof undisturbed;

beforeAll(async () => {
  kit = await Kit.open(3);
  [undisturbed, canceled] = await Promise.all([
    undisturbedRun(kit),
    undisturbedRun(kit, { plot: "helper canceled" }),
  ]);
}, 60_000);

afterAll(() => kit.close());

async function tried(cases: readonly Case[], options: Partial<Trying> = {}) {
  const tally = new Tally();
  await tryCases(kit, () => cases, { undisturbed: undisturbed.end, tally, atOnce: 3, ...options });
  return tally;
}

const never = (): boolean => false;

test("a server that is killed anywhere goes on: nothing is lost, and nothing that may happen once happens twice", async () => {
  const tally = await tried([
    ...eachOf(50, atBoundaries(undisturbed.end.log)),
    ...firstOf(1, againAtWrites(13, never)),
    ...eachOf(6, inTools()),
    ...firstOf(1, atRandom(1, undisturbed.ms, never)),
  ]);
  expect(tally.failures).toEqual([]);
  expect(tally.passed).toBeGreaterThan(8);
}, 60_000);

test("a sub-agent that is cancelled when the server is killed is cancelled, and its parent goes on", async () => {
  const cases = firstOf(2, eachOf(4, atCancel()));
  const tally = await tried(cases, { undisturbed: canceled.end });
  expect(tally.failures).toEqual([]);
  expect(tally.passed).toBe(cases.length);
}, 60_000);

test("a store of somebody else is tried in the same way", async () => {
  const store = pathOf(new URL("../check/kill/lines-store.ts", import.meta.url));
  const tally = await tried([...eachOf(100, atBoundaries(undisturbed.end.log))], { store });
  expect(tally.failures).toEqual([]);
}, 60_000);

test("a store that acknowledges what it has not kept is found out", async () => {
  // By then the client must have been told of questions, for it has answered them.
  const cases = ["task.approval.requested", "task.approval.resolved"].map((what): Case => ({
    how: "told",
    name: what,
    kills: [{ at: { what, nth: 3 }, moment: "told" }],
    patience: "at once",
  }));
  const store = pathOf(new URL("../check/kill/forgetful-store.ts", import.meta.url));
  const { failures } = await tried(cases, { store, longestMs: 8000 });
  expect(failures).toHaveLength(cases.length);
  for (const { faults } of failures)
    expect(faults.join("\n")).toMatch(
      /was told and is not in the log|the client was refused|was acknowledged and is lost/,
    );
}, 60_000);

test("a store that keeps what a person refused to show is found out", async () => {
  const store = pathOf(new URL("../check/kill/hoarding-store.ts", import.meta.url));
  await expect(undisturbedRun(kit, { store })).rejects.toThrow(/refused is still in/);
}, 60_000);

function firstOf(count: number, cases: Iterable<Case>): Case[] {
  const first: Case[] = [];
  for (const one of cases) {
    if (first.length === count) break;
    first.push(one);
  }
  return first;
}
