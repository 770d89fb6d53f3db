import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@deltawire/store";
import { durable, taskCreatedEntry, type StoreScenarios } from "./scenario.ts";

const longMs = 60_000;

/** Commands to the processes that run tasks, and jobs that only one process runs. */
export const inboxScenarios: StoreScenarios = {
  "commands reach the process that holds the task, in the order in which they were sent": async (
    store,
    reopen,
  ) => {
    await holdTasks(store, "p", ["a", "b"]);
    await holdTasks(store, "q", ["c"]);
    for (const [id, rootTaskId] of [
      ["1", "b"],
      ["2", "c"],
      ["3", "a"],
      ["4", "b"],
      ["5", "nobody"],
    ] as const)
      await store.sendCommand({ id, rootTaskId, json: `{"id":"${id}"}` });
    assert.deepEqual(await listIds(store, "p"), ["1", "3", "4"]);
    assert.deepEqual(await store.listCommands("p", { limit: 2 }), [
      { id: "1", rootTaskId: "b", json: '{"id":"1"}' },
      { id: "3", rootTaskId: "a", json: '{"id":"3"}' },
    ]);
    assert.deepEqual(await listIds(store, "q"), ["2"]);
    assert.deepEqual(await listIds(store, "unknown"), []);
    assert.equal(await (await reopen()).getCommandAnswer("1"), undefined);
  },

  "a command is delivered until it is answered, and only the first answer counts": async (
    store,
    reopen,
  ) => {
    await holdTasks(store, "p", ["t"]);
    await store.sendCommand({ id: "1", rootTaskId: "t", json: "{}" });
    assert.deepEqual(await listIds(store, "p"), ["1"]);
    assert.deepEqual(await listIds(store, "p"), ["1"]);
    assert.equal(await store.getCommandAnswer("1"), undefined);
    await store.answerCommand("1", '{"ok":true}');
    await store.answerCommand("1", '{"ok":false}');
    assert.deepEqual(await listIds(store, "p"), []);
    assert.equal(await (await reopen()).getCommandAnswer("1"), '{"ok":true}');
  },

  "commands that are being performed are left out, and do not count towards the limit": async (
    store,
  ) => {
    await holdTasks(store, "p", ["t"]);
    const ids = Array.from({ length: 5 }, (_, index) => `${index}`);
    for (const id of ids) await store.sendCommand({ id, rootTaskId: "t", json: "{}" });
    const list = async (exclude: readonly string[]) =>
      (await store.listCommands("p", { limit: 2, exclude })).map(({ id }) => id);
    assert.deepEqual(await list(["0", "2", "unknown"]), ["1", "3"]);
    assert.deepEqual(await list(ids.slice(0, 4)), ["4"]);
    assert.deepEqual(await list(ids), []);
    assert.deepEqual(await list([]), ["0", "1"]);
  },

  "a command that is sent twice is delivered once, even after its answer": async (store) => {
    await holdTasks(store, "p", ["t"]);
    const command = { id: "1", rootTaskId: "t", json: '{"n":1}' };
    await store.sendCommand(command);
    await store.sendCommand({ ...command, json: '{"n":2}' });
    assert.deepEqual(await store.listCommands("p", { limit: 10 }), [command]);
    await store.answerCommand("1", "{}");
    await store.sendCommand(command);
    assert.deepEqual(await listIds(store, "p"), []);
  },

  "a command goes to the process that takes over the task": async (store) => {
    await holdTasks(store, "p", ["t"]);
    await store.sendCommand({ id: "1", rootTaskId: "t", json: "{}" });
    await store.releaseLeases("p");
    assert.deepEqual(await listIds(store, "p"), []);
    await store.renewLease("q", longMs);
    await store.claimTasks("q", { limit: 1 });
    assert.deepEqual(await listIds(store, "q"), ["1"]);
  },

  "answering an unknown command has no effect": async (store) => {
    await store.answerCommand("unknown", "{}");
    assert.equal(await store.getCommandAnswer("unknown"), undefined);
  },

  "a job can be claimed only once per interval, by any process": async (store, reopen) => {
    const results = await Promise.all(
      Array.from({ length: 8 }, () => store.claimJob("prune", longMs)),
    );
    assert.equal(results.filter(Boolean).length, 1);
    assert.equal(await store.claimJob("titles", longMs), true, "another job");
    const reopened = await reopen();
    assert.equal(await reopened.claimJob("prune", longMs), false);
    await sleep(30);
    assert.equal(await reopened.claimJob("prune", 20), true);
    assert.equal(await reopened.claimJob("prune", longMs), false);
  },
};

/** Creates the tasks and lets the process hold them. */
async function holdTasks(store: Store, processId: string, taskIds: readonly string[]) {
  await store.renewLease(processId, longMs);
  for (const id of taskIds) await store.append(id, [taskCreatedEntry(id)], durable);
  await store.claimTasks(processId, { limit: 100, taskIds });
}

async function listIds(store: Store, processId: string): Promise<string[]> {
  return (await store.listCommands(processId, { limit: 100 })).map(({ id }) => id);
}
