import type { LogEntry, LogRow, TaskEvent } from "@deltawire/tasks";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TaskDelivery } from "../../src/cluster/task-delivery.ts";

function createEntry(number: number): LogEntry {
  const event = { type: "task.warning", sequence_number: number, task_id: "t" } as TaskEvent;
  return { event, json: JSON.stringify(event) };
}

/** A log of `length` events, of which the first `stored` are visible. */
function createLog(length: number) {
  const entries = Array.from({ length }, (_, number) => createEntry(number));
  const log = {
    stored: 0,
    read: async (_id: string, after: number, limit: number): Promise<LogRow[]> =>
      entries
        .slice(after + 1, Math.min(log.stored, after + 1 + limit))
        .map(({ event, json }) => ({ sequence_number: event.sequence_number, json })),
  };
  return { entries, log };
}

/** A batch of stored events: it may arrive late, repeatedly or not at all. */
const batchArbitrary = fc.record({
  start: fc.nat({ max: 60 }),
  length: fc.integer({ min: 1, max: 12 }),
  readsAfterwards: fc.boolean(),
});

test("each event is delivered once and in order, however batches arrive", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(batchArbitrary, { maxLength: 40 }),
      fc.integer({ min: 1, max: 60 }),
      fc.nat({ max: 59 }),
      async (batches, length, skipped) => {
        const first = skipped % length;
        const { entries, log } = createLog(length);
        const delivery = new TaskDelivery("t", undefined, (call) => call());
        const numbers: number[] = [];
        delivery.listeners.add((received) =>
          numbers.push(...received.map(({ event }) => event.sequence_number)),
        );
        for (const [index, { start, length: count, readsAfterwards }] of batches.entries()) {
          const batch = entries.slice(start, start + count);
          log.stored = Math.max(log.stored, start + batch.length);
          delivery.push(batch);
          if (index === 1) delivery.setStoredHead({ head: first - 1, status: "created" });
          if (readsAfterwards && delivery.isBehind) await delivery.readNext(log);
        }
        log.stored = length;
        delivery.setStoredHead({ head: first - 1, status: "created" });
        delivery.announce(length - 1);
        while (delivery.isBehind) await delivery.readNext(log);
        expect(numbers).toEqual(
          Array.from({ length: length - first }, (_, index) => first + index),
        );
      },
    ),
  );
});

test("after the store has lost events, delivery continues at the end of its log", async () => {
  const { entries, log } = createLog(10);
  const delivery = new TaskDelivery("t", { head: -1, status: "created" }, (call) => call());
  const calls: { numbers: number[]; head: number }[] = [];
  delivery.listeners.add((received, { head }) =>
    calls.push({ numbers: received.map(({ event }) => event.sequence_number), head }),
  );
  delivery.push(entries.slice(0, 8));
  log.stored = 8;
  delivery.announce(9);
  const reading = delivery.readNext(log);
  delivery.rewind({ head: 5, status: "working" });
  await reading;
  delivery.push(entries.slice(6, 8));
  expect(calls.map(({ numbers }) => numbers)).toEqual([[0, 1, 2, 3, 4, 5, 6, 7], [], [6, 7]]);
  expect(calls.map(({ head }) => head)).toEqual([7, 5, 7]);
});
