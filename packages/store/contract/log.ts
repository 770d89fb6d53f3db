import assert from "node:assert/strict";
import type { StoreScenarios } from "./scenario.ts";
import {
  assertRejects,
  taskCompletedEntry,
  taskCreatedEntry,
  durable,
  createEntry,
} from "./scenario.ts";
import { notDurable, readSequenceNumbers, warningEntry } from "./scenario.ts";

/** Appending and reading events. */
export const logScenarios: StoreScenarios = {
  "events are read back in order with unchanged text": async (store) => {
    const entries = [
      taskCreatedEntry("t"),
      createEntry(
        "t",
        1,
        { type: "task.working" },
        { response_id: "resp_1", nested: [1, { a: null }] },
      ),
      warningEntry("t", 2, 'quotes ", zero \u0000, half \ud83d, whole \ud83d\ude00, line \u2028'),
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

  "a replacement deletes the original of an event": async (store) => {
    const secret = createEntry("t", 1, { type: "task.working" }, { held: "a secret" });
    await store.append("t", [taskCreatedEntry("t"), secret, warningEntry("t", 2)], durable);
    const replacement = createEntry("t", 1, { type: "task.working" });
    await store.append("t", [warningEntry("t", 3)], {
      ...durable,
      replacements: [replacement, warningEntry("t", 7)],
    });
    assert.deepEqual(await readSequenceNumbers(store, "t"), [0, 1, 2, 3]);
    assert.deepEqual(await store.read("t", 0, 1), [{ sequence_number: 1, json: replacement.json }]);
    assert.equal((await store.head("t"))?.head, 3);
  },

  "a replacement can apply to an event of the same batch": async (store) => {
    const secrets = [warningEntry("t", 1, "a secret"), warningEntry("t", 2, "another")];
    const replacements = [warningEntry("t", 2, "nothing"), warningEntry("t", 1, "nothing")];
    await store.append("t", [taskCreatedEntry("t"), ...secrets], { ...notDurable, replacements });
    assert.deepEqual(
      (await store.read("t", 0, 10)).map(({ json }) => json),
      replacements.toReversed().map(({ json }) => json),
    );
  },

  "a rejected batch replaces nothing": async (store) => {
    const entry = warningEntry("t", 1, "the original");
    await store.append("t", [taskCreatedEntry("t"), entry], durable);
    const replacements = [warningEntry("t", 1, "nothing")];
    const rejectedBatches = [[warningEntry("t", 3)], [warningEntry("t", 2), warningEntry("t", 4)]];
    for (const batch of rejectedBatches)
      await assertRejects(store.append("t", batch, { ...durable, replacements }), "store_failed");
    const appendedToUnknownTask = store.append("u", [warningEntry("u", 0)], {
      ...durable,
      replacements,
    });
    await assertRejects(appendedToUnknownTask, "store_failed");
    assert.equal((await store.read("t", 0, 1))[0]?.json, entry.json);
    await store.append("t", [], { ...durable, replacements });
    assert.equal((await store.read("t", 0, 1))[0]?.json, replacements[0]?.json);
  },

  "a snapshot that includes a replaced event is deleted, and an earlier one is kept": async (
    store,
  ) => {
    await store.append(
      "t",
      [taskCreatedEntry("t"), warningEntry("t", 1), warningEntry("t", 2)],
      durable,
    );
    await store.saveSnapshot("t", 1, "{}");
    await store.append("t", [], { ...durable, replacements: [warningEntry("t", 2, "less")] });
    assert.equal((await store.snapshot("t"))?.as_of, 1);
    await store.append("t", [], { ...durable, replacements: [warningEntry("t", 1, "less")] });
    assert.equal(await store.snapshot("t"), undefined);
  },

  "an event of five megabytes is stored completely": async (store) => {
    const long = warningEntry("t", 1, "é".repeat(2_500_000));
    await store.append("t", [taskCreatedEntry("t"), long], notDurable);
    assert.equal((await store.read("t", 0, 1))[0]?.json, long.json);
  },

  "reading starts after the given sequence number and returns at most the given number of events":
    async (store) => {
      await store.append("t", [taskCreatedEntry("t"), ...warningEntries("t", 1, 9)], notDurable);
      const readNumbers = async (after: number, limit: number) =>
        (await store.read("t", after, limit)).map((row) => row.sequence_number);
      assert.deepEqual(await readNumbers(-1, 3), [0, 1, 2]);
      assert.deepEqual(await readNumbers(2, 3), [3, 4, 5]);
      assert.deepEqual(await readNumbers(7, 100), [8, 9]);
      assert.deepEqual(await readNumbers(9, 100), []);
      assert.deepEqual(await store.read("nobody", -1, 10), []);
    },

  "the batches of a task are stored in the order of the calls, even without awaiting them": async (
    store,
  ) => {
    const batches = [
      [taskCreatedEntry("t")],
      ...[1, 6, 11, 16].map((from) => warningEntries("t", from, from + 4)),
    ];
    await Promise.all(
      batches.map((batch, index) => store.append("t", batch, { durable: index % 2 === 0 })),
    );
    assert.deepEqual(await readSequenceNumbers(store, "t"), [...Array(21).keys()]);
  },

  "the caller may change its array while the batch is being stored": async (store) => {
    const entries = [taskCreatedEntry("t"), warningEntry("t", 1)];
    const appended = store.append("t", entries, durable);
    entries.length = 0;
    await appended;
    assert.deepEqual(await readSequenceNumbers(store, "t"), [0, 1]);
  },

  "an empty batch changes nothing": async (store) => {
    await store.append("t", [], durable);
    assert.equal(await store.head("t"), undefined);
  },

  "a coalesced event covers several sequence numbers and is followed by the next one": async (
    store,
  ) => {
    const coalesced = warningEntry("t", 4);
    coalesced.event.coalesced_from = 1;
    await store.append("t", [taskCreatedEntry("t"), coalesced, warningEntry("t", 5)], durable);
    assert.deepEqual(await readSequenceNumbers(store, "t"), [0, 4, 5]);
  },

  "a batch with a gap or a duplicate is rejected completely, and a correct one is accepted afterwards":
    async (store) => {
      await store.append("t", [taskCreatedEntry("t"), warningEntry("t", 1)], durable);
      await assertRejects(store.append("t", [warningEntry("t", 3)], durable), "store_failed");
      await assertRejects(store.append("t", [warningEntry("t", 1)], durable), "store_failed");
      const batchWithGap = [warningEntry("t", 2), taskCompletedEntry("t", 4)];
      await assertRejects(store.append("t", batchWithGap, durable), "store_failed");
      assert.deepEqual(await store.head("t"), { head: 1, oldest: 0, status: "created" });
      await store.append("t", [warningEntry("t", 2)], durable);
      assert.deepEqual(await readSequenceNumbers(store, "t"), [0, 1, 2]);
    },

  "the first event of a task must be its creation": async (store) => {
    await assertRejects(store.append("t", [warningEntry("t", 0)], durable), "store_failed");
    assert.equal(await store.findRootTask("t"), undefined);
  },

  "a rejected batch does not affect others": async (store) => {
    const [good, bad, better] = await Promise.allSettled([
      store.append("good", [taskCreatedEntry("good")], durable),
      store.append("bad", [taskCreatedEntry("bad"), warningEntry("bad", 7)], durable),
      store.append("better", [taskCreatedEntry("better"), warningEntry("better", 1)], durable),
      store.append("good", [warningEntry("good", 2)], durable),
      store.append("good", [warningEntry("good", 1)], durable),
    ]);
    assert.deepEqual(
      [good, bad, better].map((result) => result.status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await readSequenceNumbers(store, "good"), [0, 1]);
    assert.deepEqual(await readSequenceNumbers(store, "bad"), []);
    assert.deepEqual(await readSequenceNumbers(store, "better"), [0, 1]);
  },

  "all events are still there after reopening the store": async (store, reopen) => {
    await store.append("t", [taskCreatedEntry("t"), ...warningEntries("t", 1, 99)], notDurable);
    const before = await store.read("t", -1, 1000);
    const reopened = await reopen();
    assert.deepEqual(await reopened.read("t", -1, 1000), before);
    await reopened.append("t", [warningEntry("t", 100)], durable);
    assert.equal((await reopened.head("t"))?.head, 100);
  },
};

function warningEntries(taskId: string, from: number, to: number) {
  return Array.from({ length: to - from + 1 }, (_, index) => warningEntry(taskId, from + index));
}
