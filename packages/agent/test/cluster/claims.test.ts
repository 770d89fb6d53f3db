import { StoreError, type Store } from "@deltawire/store";
import { describe, expect, test, vi } from "vitest";
import { scriptedAgent } from "../runtime-fixture.ts";
import {
  createProcess,
  leaseMs,
  openTestStore,
  replaceMethod,
  waitForState,
} from "./two-runtimes.ts";

const never = new Promise<never>(() => undefined);

/** An agent that never ends, for up to 50 requests. */
function createHangingAgent() {
  return scriptedAgent(Array.from({ length: 50 }, () => [{ text: "One." }, { wait: never }])).agent;
}

const lostConnection = () => new StoreError("store_unreachable", "the connection was lost");

const clusterOf = (store: Store) => ({ cluster: { store, leaseMs, renewMs: 50 } });

/** Stores tasks that no process runs. */
async function storeFreeTasks(store: Store, count: number, agent?: string): Promise<string[]> {
  const { runtime } = createProcess(store, createHangingAgent());
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1)
    ids.push(await runtime.start({ agent: agent ?? "main", input: "Go." }));
  await runtime.close();
  return ids;
}

describe("a task is resumed although the store's reply to its claim was lost", () => {
  test("while a process looks for free tasks", async () => {
    const store = await openTestStore();
    let lostReplies = 0;
    const faultyStore = replaceMethod(store, "claimTasks", async (call) => {
      const leases = await call();
      if (!Array.isArray(leases) || leases.length === 0 || lostReplies > 0) return leases;
      lostReplies += 1;
      throw lostConnection();
    });
    const process = createProcess(faultyStore, createHangingAgent(), clusterOf(faultyStore));
    expect(await process.runtime.recover()).toEqual([]);
    const [id = ""] = await storeFreeTasks(store, 1);
    await vi.waitFor(() => expect(process.runtime.live(id)).toBeDefined(), { timeout: 3000 });
    expect(lostReplies).toBe(1);
    expect(process.runtime.isStoreReachable).toBe(true);
  });

  test("for an action of a user", async () => {
    const store = await openTestStore();
    const [id = ""] = await storeFreeTasks(store, 1);
    let lostReplies = 0;
    const faultyStore = replaceMethod(store, "claimTasks", async (call) => {
      const leases = await call();
      lostReplies += 1;
      if (lostReplies > 1) return leases;
      throw lostConnection();
    });
    const process = createProcess(faultyStore, createHangingAgent(), clusterOf(faultyStore));
    await expect(process.runtime.input(id, "More.", "steer")).rejects.toThrow("was lost");
    await vi.waitFor(() => expect(process.runtime.live(id)).toBeDefined(), { timeout: 3000 });
  });
});

test("a process that cannot reach the store when it starts takes over tasks as soon as it can", async () => {
  const store = await openTestStore();
  const [id = ""] = await storeFreeTasks(store, 1);
  let isReachable = false;
  const faultyStore = replaceMethod(store, "renewLease", (call) =>
    isReachable ? call() : Promise.reject(lostConnection()),
  );
  const process = createProcess(faultyStore, createHangingAgent(), clusterOf(faultyStore));
  await expect(process.runtime.recover()).rejects.toThrow("was lost");
  expect(process.runtime.isStoreReachable).toBe(false);
  isReachable = true;
  await vi.waitFor(() => expect(process.runtime.live(id)).toBeDefined(), { timeout: 3000 });
  expect(process.runtime.isStoreReachable).toBe(true);
  expect(process.failures).toEqual([
    "could not start the lease of this process: the connection was lost",
  ]);
});

test("a task whose agent starts slowly does not delay the other tasks of a process that has ended", async () => {
  const store = await openTestStore();
  const slowIds = await storeFreeTasks(store, 3, "slow");
  const otherIds = await storeFreeTasks(store, 20);
  const mayStart = Promise.withResolvers<void>();
  const agent = createHangingAgent();
  const { runtime } = createProcess(store, agent, {
    agentFor: async ({ agent: name }) => {
      if (name === "slow") await mayStart.promise;
      return agent;
    },
  });
  const recovered = runtime.recover();
  await vi.waitFor(() => {
    for (const id of otherIds) expect(runtime.live(id)).toBeDefined();
  });
  expect(slowIds.map((id) => runtime.live(id))).toEqual(slowIds.map(() => undefined));
  mayStart.resolve();
  expect(await recovered).toEqual([...slowIds, ...otherIds]);
});

test("a process reports how many tasks it has taken over", async () => {
  const store = await openTestStore();
  const claimed: number[] = [];
  const { runtime } = createProcess(store, createHangingAgent(), {
    onClaimed: (tasks) => claimed.push(tasks),
  });
  await runtime.recover();
  const first = createProcess(store, createHangingAgent());
  for (let index = 0; index < 3; index += 1)
    await first.runtime.start({ agent: "main", input: "Go." });
  await first.runtime.close();
  await vi.waitFor(() => expect(claimed.reduce((sum, tasks) => sum + tasks, 0)).toBe(3), {
    timeout: 3000,
  });
});

describe("a task that moves between processes whose clocks differ by an hour", () => {
  const hourMs = 3_600_000;

  test.each([-hourMs, hourMs])("keeps its time limit (%i ms)", async (shiftMs) => {
    const store = await openTestStore();
    const { agent } = scriptedAgent([[{ text: "One." }, { wait: never }], [{ text: "Two." }]]);
    const limited = { ...agent, limits: { ...agent.limits, seconds: 600 } };
    const first = createProcess(store, limited, { now: () => Date.now() + shiftMs });
    const startedAt = Date.now();
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    await waitForState(first, id, ({ tasks }) => JSON.stringify(tasks).includes("One."));
    await first.runtime.close();
    const second = createProcess(store, limited);
    await second.runtime.recover();
    const { tasks } = await waitForState(second, id, (state) =>
      ["completed", "expired"].includes(state.tasks[id]?.status ?? ""),
    );
    expect(tasks[id]?.status).toBe("completed");
    const createdAt = Date.parse(tasks[id]?.info.created_at ?? "");
    expect(Math.abs(createdAt - startedAt)).toBeLessThan(10_000);
  });
});
