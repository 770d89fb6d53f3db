import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";
import { assertRejects, completed, created, durable, entry } from "./scenario.ts";
import { notDurable, numbersOf, warning } from "./scenario.ts";

/** Events: what is appended is what is read. */
export const logScenarios: Scenarios = {
  "events are read back in order, as the text that they were": async (store) => {
    const entries = [
      created("t"),
      entry("t", 1, { type: "task.working" }, { response_id: "resp_1", nested: [1, { a: null }] }),
      warning("t", 2, 'quotes ", zero \u0000, half \ud83d, whole \ud83d\ude00, line \u2028'),
    ];
    await store.append("t", entries, durable);
    assert.deepEqual(
      await store.read("t", -1, 10),
      entries.map(({ event, json, private: hidden }) => ({
        sequence_number: event.sequence_number,
        json,
        ...(hidden === undefined ? {} : { private: JSON.stringify(hidden) }),
      })),
    );
  },

  "an entry takes the place of another, which is gone": async (store) => {
    const secret = entry("t", 1, { type: "task.working" }, { held: "a secret" });
    await store.append("t", [created("t"), secret, warning("t", 2)], durable);
    const rest = entry("t", 1, { type: "task.working" });
    await store.append("t", [warning("t", 3)], { ...durable, replaced: [rest, warning("t", 7)] });
    assert.deepEqual(await numbersOf(store, "t"), [0, 1, 2, 3]);
    assert.deepEqual(await store.read("t", 0, 1), [{ sequence_number: 1, json: rest.json }]);
    assert.equal((await store.head("t"))?.head, 3);
  },

  "an entry takes the place of one that comes in the same batch": async (store) => {
    const secrets = [warning("t", 1, "a secret"), warning("t", 2, "another")];
    const rest = [warning("t", 2, "nothing"), warning("t", 1, "nothing")];
    await store.append("t", [created("t"), ...secrets], { ...notDurable, replaced: rest });
    assert.deepEqual(
      (await store.read("t", 0, 10)).map(({ json }) => json),
      rest.toReversed().map(({ json }) => json),
    );
  },

  "a batch that is refused replaces nothing": async (store) => {
    const said = warning("t", 1, "what was said");
    await store.append("t", [created("t"), said], durable);
    const replaced = [warning("t", 1, "nothing")];
    const refused = [[warning("t", 3)], [warning("t", 2), warning("t", 4)]];
    for (const batch of refused)
      await assertRejects(store.append("t", batch, { ...durable, replaced }), "store_failed");
    const stranger = store.append("u", [warning("u", 0)], { ...durable, replaced });
    await assertRejects(stranger, "store_failed");
    assert.equal((await store.read("t", 0, 1))[0]?.json, said.json);
    await store.append("t", [], { ...durable, replaced });
    assert.equal((await store.read("t", 0, 1))[0]?.json, replaced[0]?.json);
  },

  "a snapshot that adds up what was replaced is gone, one of before is not": async (store) => {
    await store.append("t", [created("t"), warning("t", 1), warning("t", 2)], durable);
    await store.saveSnapshot("t", 1, "{}");
    await store.append("t", [], { ...durable, replaced: [warning("t", 2, "less")] });
    assert.equal((await store.snapshot("t"))?.as_of, 1);
    await store.append("t", [], { ...durable, replaced: [warning("t", 1, "less")] });
    assert.equal(await store.snapshot("t"), undefined);
  },

  "an event of five megabytes is kept whole": async (store) => {
    const long = warning("t", 1, "é".repeat(2_500_000));
    await store.append("t", [created("t"), long], notDurable);
    assert.equal((await store.read("t", 0, 1))[0]?.json, long.json);
  },

  "reading begins after a number and ends at a limit": async (store) => {
    await store.append("t", [created("t"), ...warnings("t", 1, 9)], notDurable);
    const numbers = async (after: number, limit: number) =>
      (await store.read("t", after, limit)).map((row) => row.sequence_number);
    assert.deepEqual(await numbers(-1, 3), [0, 1, 2]);
    assert.deepEqual(await numbers(2, 3), [3, 4, 5]);
    assert.deepEqual(await numbers(7, 100), [8, 9]);
    assert.deepEqual(await numbers(9, 100), []);
    assert.deepEqual(await store.read("nobody", -1, 10), []);
  },

  "a task's batches are kept in the order of their calls, also those that nobody waits for": async (
    store,
  ) => {
    const batches = [
      [created("t")],
      ...[1, 6, 11, 16].map((from) => warnings("t", from, from + 4)),
    ];
    await Promise.all(
      batches.map((batch, at) => store.append("t", batch, { durable: at % 2 === 0 })),
    );
    assert.deepEqual(await numbersOf(store, "t"), [...Array(21).keys()]);
  },

  "the caller may use its array again": async (store) => {
    const entries = [created("t"), warning("t", 1)];
    const appended = store.append("t", entries, durable);
    entries.length = 0;
    await appended;
    assert.deepEqual(await numbersOf(store, "t"), [0, 1]);
  },

  "a batch of nothing changes nothing": async (store) => {
    await store.append("t", [], durable);
    assert.equal(await store.head("t"), undefined);
  },

  "an event that stands for several numbers is followed by the next one": async (store) => {
    const joined = warning("t", 4);
    joined.event.coalesced_from = 1;
    await store.append("t", [created("t"), joined, warning("t", 5)], durable);
    assert.deepEqual(await numbersOf(store, "t"), [0, 4, 5]);
  },

  "a batch that leaves a gap or comes twice is refused whole, and the right one is taken after it":
    async (store) => {
      await store.append("t", [created("t"), warning("t", 1)], durable);
      await assertRejects(store.append("t", [warning("t", 3)], durable), "store_failed");
      await assertRejects(store.append("t", [warning("t", 1)], durable), "store_failed");
      const torn = [warning("t", 2), completed("t", 4)];
      await assertRejects(store.append("t", torn, durable), "store_failed");
      assert.deepEqual(await store.head("t"), { head: 1, oldest: 0, status: "created" });
      await store.append("t", [warning("t", 2)], durable);
      assert.deepEqual(await numbersOf(store, "t"), [0, 1, 2]);
    },

  "a task begins with its creation": async (store) => {
    await assertRejects(store.append("t", [warning("t", 0)], durable), "store_failed");
    assert.equal(await store.rootOf("t"), undefined);
  },

  "a batch that is refused takes no other with it": async (store) => {
    const [good, bad, better] = await Promise.allSettled([
      store.append("good", [created("good")], durable),
      store.append("bad", [created("bad"), warning("bad", 7)], durable),
      store.append("better", [created("better"), warning("better", 1)], durable),
      store.append("good", [warning("good", 2)], durable),
      store.append("good", [warning("good", 1)], durable),
    ]);
    assert.deepEqual(
      [good, bad, better].map((result) => result.status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await numbersOf(store, "good"), [0, 1]);
    assert.deepEqual(await numbersOf(store, "bad"), []);
    assert.deepEqual(await numbersOf(store, "better"), [0, 1]);
  },

  "all of it is there when the store is opened again": async (store, reopen) => {
    await store.append("t", [created("t"), ...warnings("t", 1, 99)], notDurable);
    const before = await store.read("t", -1, 1000);
    const again = await reopen();
    assert.deepEqual(await again.read("t", -1, 1000), before);
    await again.append("t", [warning("t", 100)], durable);
    assert.equal((await again.head("t"))?.head, 100);
  },
};

function warnings(taskId: string, from: number, to: number) {
  return Array.from({ length: to - from + 1 }, (_, at) => warning(taskId, from + at));
}
