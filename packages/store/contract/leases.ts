import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@deltawire/store";
import {
  assertRejects,
  durable,
  readSequenceNumbers,
  taskCompletedEntry,
  taskCreatedEntry,
  warningEntry,
  type StoreScenarios,
} from "./scenario.ts";

const longMs = 60_000;
const shortMs = 150;

/** Which process runs which task. */
export const leaseScenarios: StoreScenarios = {
  "a process claims the unfinished tasks that no process runs, oldest first": async (store) => {
    await createTasks(store, ["a", "b", "c"]);
    await store.append("b", [taskCompletedEntry("b", 1)], durable);
    await store.renewLease("p", longMs);
    assert.deepEqual(await claim(store, "p", { limit: 1 }), ["a"]);
    assert.deepEqual(await claim(store, "p"), ["c"]);
    assert.deepEqual(await claim(store, "p"), []);
    const leases = await store.listLeases("p");
    assert.deepEqual(
      leases.map(({ taskId }) => taskId),
      ["a", "c"],
    );
    await store.renewLease("q", longMs);
    assert.deepEqual(await claim(store, "q"), [], "the tasks of a live process");
    assert.deepEqual(await store.listLeases("q"), []);
  },

  "the time that decides about leases can be read": async (store) => {
    const before = await store.getTime();
    await sleep(50);
    const elapsed = (await store.getTime()) - before;
    assert.ok(Number.isFinite(before), String(before));
    assert.ok(elapsed >= 45 && elapsed < 10_000, `${elapsed} ms`);
  },

  "a process without a valid lease claims nothing": async (store) => {
    await createTasks(store, ["t"]);
    assert.deepEqual(await claim(store, "unknown"), []);
    await store.renewLease("p", 1);
    await sleep(20);
    assert.deepEqual(await claim(store, "p"), []);
    assert.deepEqual(await claim(store, "p", { taskIds: ["t"] }), []);
    await store.renewLease("p", longMs);
    assert.deepEqual(await claim(store, "p"), ["t"]);
  },

  "given tasks are claimed if they are free or held by the process, and left out if excluded":
    async (store) => {
      await createTasks(store, ["a", "b", "c", "d"]);
      await store.renewLease("p", longMs);
      await store.renewLease("q", longMs);
      assert.deepEqual(await claim(store, "q", { taskIds: ["b"] }), ["b"]);
      assert.deepEqual(await claim(store, "p", { taskIds: ["b", "a", "unknown"] }), ["a"]);
      assert.deepEqual(await claim(store, "p", { taskIds: [] }), []);
      const exclude = ["c"];
      assert.deepEqual(await claim(store, "p", { taskIds: ["c", "d"], exclude }), ["d"]);
      assert.deepEqual(await claim(store, "p", { exclude }), []);
      assert.deepEqual(await claim(store, "p", { taskIds: ["a", "c", "d"], limit: 2 }), ["a", "c"]);
    },

  "each claim of a task increments its epoch, and an append with an earlier one stores nothing":
    async (store) => {
      await createTasks(store, ["t"]);
      await store.renewLease("p", longMs);
      const [first] = await store.claimTasks("p", { limit: 1 });
      assert.ok(first);
      const buildLease = (processId: string, epoch: number) => ({ processId, epoch });
      const append = (number: number, lease: ReturnType<typeof buildLease>) =>
        store.append("t", [warningEntry("t", number)], { ...durable, lease });
      await append(1, buildLease("p", first.epoch));
      const [second] = await store.claimTasks("p", { limit: 1, taskIds: ["t"] });
      assert.equal(second?.epoch, first.epoch + 1);
      await assertRejects(append(2, buildLease("p", first.epoch)), "lease_lost");
      await assertRejects(append(2, buildLease("q", first.epoch + 1)), "lease_lost");
      await assertRejects(append(7, buildLease("p", first.epoch)), "lease_lost");
      const replacements = [warningEntry("t", 1, "replaced")];
      const stale = { ...durable, lease: buildLease("p", first.epoch), replacements };
      await assertRejects(store.append("t", [], stale), "lease_lost");
      await assertRejects(store.append("t", [taskCompletedEntry("t", 2)], stale), "lease_lost");
      assert.deepEqual(await store.head("t"), { head: 1, oldest: 0, status: "created" });
      assert.equal((await store.read("t", 0, 1))[0]?.json, warningEntry("t", 1).json);
      await append(2, buildLease("p", first.epoch + 1));
      assert.deepEqual(await readSequenceNumbers(store, "t"), [0, 1, 2]);
    },

  "a task belongs to the process that creates it with a lease": async (store) => {
    await store.renewLease("p", longMs);
    await store.renewLease("q", longMs);
    const lease = { processId: "p", epoch: 1 };
    await store.append("t", [taskCreatedEntry("t")], { ...durable, lease });
    assert.deepEqual(await store.listLeases("p"), [{ taskId: "t", epoch: 1 }]);
    assert.deepEqual(await claim(store, "q"), []);
    await store.append("t", [warningEntry("t", 1)], { ...durable, lease });
  },

  "if many processes claim tasks at the same time, each task goes to exactly one of them": async (
    store,
  ) => {
    const taskIds = Array.from({ length: 40 }, (_, index) => `t${index}`);
    await createTasks(store, taskIds);
    const processes = Array.from({ length: 8 }, (_, index) => `p${index}`);
    for (const id of processes) await store.renewLease(id, longMs);
    const claimedIds = new Map<string, string[]>(processes.map((id) => [id, []]));
    // A call may leave out tasks that another one is claiming.
    for (let round = 0; round < 20 && sumLengths(claimedIds) < taskIds.length; round += 1)
      await Promise.all(
        processes.map(async (id) => {
          const byId = round % 2 === 0 ? {} : { taskIds };
          for (const taskId of await claim(store, id, { limit: 3, ...byId }))
            if (!claimedIds.get(id)?.includes(taskId)) claimedIds.get(id)?.push(taskId);
        }),
      );
    assert.deepEqual([...claimedIds.values()].flat().toSorted(), taskIds.toSorted());
    for (const id of processes) {
      const heldIds = (await store.listLeases(id)).map(({ taskId }) => taskId);
      assert.deepEqual(heldIds.toSorted(), claimedIds.get(id)?.toSorted());
    }
  },

  "the tasks of a process whose lease has expired can be claimed by other processes": async (
    store,
  ) => {
    await createTasks(store, ["t"]);
    await store.renewLease("p", shortMs);
    await store.renewLease("q", longMs);
    const [lease] = await store.claimTasks("p", { limit: 1 });
    assert.ok(lease);
    assert.deepEqual(await claim(store, "q"), []);
    await sleep(shortMs + 50);
    const [newLease] = await store.claimTasks("q", { limit: 1 });
    assert.deepEqual(newLease, { taskId: "t", epoch: lease.epoch + 1 });
    const late = { ...durable, lease: { processId: "p", epoch: lease.epoch } };
    await assertRejects(store.append("t", [warningEntry("t", 1)], late), "lease_lost");
    assert.equal(await store.renewLease("p", longMs), false);
    assert.deepEqual(await store.listLeases("p"), []);
  },

  "renewing a lease reports whether it had expired, and tasks that nobody has claimed stay with the process":
    async (store) => {
      await createTasks(store, ["t"]);
      assert.equal(await store.renewLease("p", shortMs), false, "the first time");
      assert.equal(await store.renewLease("p", shortMs), true);
      const [lease] = await store.claimTasks("p", { limit: 1 });
      await sleep(shortMs + 50);
      assert.equal(await store.renewLease("p", longMs), false);
      assert.equal(await store.renewLease("p", longMs), true);
      assert.deepEqual(await store.listLeases("p"), [lease]);
      await store.renewLease("q", longMs);
      assert.deepEqual(await claim(store, "q"), []);
    },

  "released tasks can be claimed immediately by other processes": async (store) => {
    await createTasks(store, ["a", "b", "c"]);
    await store.renewLease("p", longMs);
    await store.renewLease("q", longMs);
    const leases = await store.claimTasks("p", { limit: 9 });
    await store.releaseLeases("q", ["a"]);
    await store.releaseLeases("p", ["b", "unknown"]);
    assert.deepEqual(await claim(store, "q"), ["b"]);
    await store.releaseLeases("p", []);
    assert.deepEqual(await claim(store, "q"), []);
    await store.releaseLeases("p");
    assert.deepEqual(await store.listLeases("p"), []);
    assert.deepEqual(await claim(store, "q"), ["a", "c"]);
    assert.deepEqual(await claim(store, "p"), [], "the lease has ended, too");
    const stale = { ...durable, lease: { processId: "p", epoch: leases[0]?.epoch ?? 0 } };
    await assertRejects(store.append("a", [warningEntry("a", 1)], stale), "lease_lost");
  },

  "no process holds a task that has ended": async (store) => {
    await createTasks(store, ["t"]);
    await store.renewLease("p", longMs);
    const [lease] = await store.claimTasks("p", { limit: 1 });
    assert.ok(lease);
    const options = { ...durable, lease: { processId: "p", epoch: lease.epoch } };
    await store.append("t", [taskCompletedEntry("t", 1)], options);
    assert.deepEqual(await store.listLeases("p"), []);
    assert.deepEqual(await claim(store, "p", { taskIds: ["t"] }), []);
  },

  "pruning does not affect the leases of live processes": async (store) => {
    await createTasks(store, ["t"]);
    await store.renewLease("p", longMs);
    const leases = await store.claimTasks("p", { limit: 1 });
    await store.prune(Date.now());
    assert.deepEqual(await store.listLeases("p"), leases);
    assert.equal(await store.renewLease("p", longMs), true);
  },
};

async function createTasks(store: Store, taskIds: readonly string[]): Promise<void> {
  for (const id of taskIds) await store.append(id, [taskCreatedEntry(id)], durable);
}

async function claim(
  store: Store,
  processId: string,
  options: { limit?: number; taskIds?: readonly string[]; exclude?: readonly string[] } = {},
): Promise<string[]> {
  const leases = await store.claimTasks(processId, { limit: 100, ...options });
  return leases.map(({ taskId }) => taskId);
}

function sumLengths(lists: ReadonlyMap<string, readonly string[]>): number {
  return [...lists.values()].reduce((sum, { length }) => sum + length, 0);
}
