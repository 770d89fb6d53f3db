import { expect, test } from "vitest";
import { MissingEvents } from "../../../test/cluster/missing-events.ts";
import { judgeFollowers } from "../check/cluster/judge-cluster.ts";

/* How check:cluster judges what followers have received. */

function follow(receive: (missing: MissingEvents) => void): string[] {
  const missing = new MissingEvents();
  receive(missing);
  return judgeFollowers([
    { listMissingEvents: () => [] },
    { listMissingEvents: () => missing.list() },
  ]);
}

test("a gap that is never closed is a fault", () => {
  expect(follow((missing) => missing.add("task_1", 5, 7))).toEqual([
    "follower 2: task_1: events 5 to 7 were never received",
  ]);
});

test("a gap is closed by the events, or by a later state, of the same task", () => {
  expect(
    follow((missing) => {
      missing.add("task_1", 5, 7);
      missing.remove("task_1", 0, 4);
      for (const number of [5, 6, 7]) missing.remove("task_1", number, number);
      missing.add("task_2", 3, 9);
      missing.remove("task_2", 0, 12);
      missing.add("task_3", 4, 3); // a repeated event
    }),
  ).toEqual([]);
  expect(
    follow((missing) => {
      missing.add("task_1", 5, 9);
      missing.remove("task_1", 6, 7);
      missing.remove("task_2", 0, 20);
    }),
  ).toEqual([
    "follower 2: task_1: events 5 to 5 were never received",
    "follower 2: task_1: events 8 to 9 were never received",
  ]);
});
