import type { TaskEvent } from "@deltawire/tasks";
import { describe, expect, test, vi } from "vitest";
import { scriptedAgent } from "../runtime-fixture.ts";
import { createLocalBus } from "./local-bus.ts";
import { createProcess, leaseMs, openTestStore } from "./two-runtimes.ts";

/** Pseudo-random numbers from 0 to 1, the same for each seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

describe.each([
  ["loses half of the messages", (random: () => number) => (random() < 0.5 ? [] : [0])],
  ["loses all messages", () => []],
  ["delivers twice and out of order", (random: () => number) => [random() * 20, random() * 20]],
])("a bus that %s", (_description, getDelays) => {
  test.each([1, 2, 3])(
    "does not keep another process from receiving each event once and in order (seed %i)",
    async (seed) => {
      const store = await openTestStore();
      const random = createRandom(seed);
      const bus = createLocalBus(() => getDelays(random));
      const pause = (): Promise<void> =>
        new Promise((resolve) => setTimeout(resolve, random() * 8));
      const words = Array.from({ length: 30 }, (_, index) => [
        { text: `word ${index} ` },
        { wait: pause() },
      ]);
      const { agent } = scriptedAgent([words.flat()]);
      const cluster = { store, bus, leaseMs, renewMs: 50 };
      const first = createProcess(store, agent, { cluster });
      const second = createProcess(store, agent, { cluster });
      const received: TaskEvent[] = [];
      second.runtime.subscribe("task_1", (entries, { head }) => {
        received.push(...entries.map(({ event }) => event));
        expect(received.at(-1)?.sequence_number ?? head).toBe(head);
      });
      await first.runtime.start({ agent: "main", input: "Go." }, "task_1");
      await vi.waitFor(() => expect(received.at(-1)?.type).toBe("task.completed"), {
        timeout: 8000,
      });
      const stored = (await store.read("task_1", -1, 1000)).map(
        ({ json }) => JSON.parse(json) as TaskEvent,
      );
      // Events are delivered from the head that the log had when the subscription first read it.
      const [firstReceived] = received;
      expect(received).toEqual(stored.slice(firstReceived?.sequence_number));
      expect([...first.failures, ...second.failures]).toEqual([]);
    },
  );
});
