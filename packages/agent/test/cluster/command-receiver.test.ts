import type { Store } from "@deltawire/store";
import { expect, onTestFinished, test, vi } from "vitest";
import { CommandReceiver } from "../../src/cluster/command-receiver.ts";
import type { TaskActionResult } from "../../src/cluster/task-command.ts";
import { scriptedAgent } from "../runtime-fixture.ts";
import { createProcess, openTestStore } from "./two-runtimes.ts";

const never = new Promise<never>(() => undefined);
const processId = "receiver";
const rootTaskId = "task_1";

/** Creates an unfinished task that the process `processId` holds. */
async function holdTask(store: Store): Promise<void> {
  const { agent } = scriptedAgent([[{ text: "One." }, { wait: never }]]);
  const { runtime } = createProcess(store, agent);
  await runtime.start({ agent: "main", input: "Go." }, rootTaskId);
  await runtime.close();
  await store.renewLease(processId, 60_000);
  expect(await store.claimTasks(processId, { limit: 1 })).toHaveLength(1);
}

test("an action is performed while more than a hundred older ones wait", async () => {
  const store = await openTestStore();
  await holdTask(store);
  const performed: string[] = [];
  const mayEnd = Promise.withResolvers<TaskActionResult>();
  const failures: string[] = [];
  const receiver = new CommandReceiver({
    store,
    bus: undefined,
    processId,
    isRunning: () => true,
    perform: async (_rootTaskId, action) => {
      const taskId = "taskId" in action ? action.taskId : "";
      performed.push(taskId);
      return taskId === "last" ? { type: "canceled" } : mayEnd.promise;
    },
    onFailure: (message) => failures.push(message),
  });
  onTestFinished(() => receiver.close());
  const send = (id: string) =>
    store.sendCommand({
      id,
      rootTaskId,
      json: JSON.stringify({ type: "cancel", taskId: id, by: "me" }),
    });
  const waiting = Array.from({ length: 120 }, (_, index) => `waiting_${index}`);
  for (const id of waiting) await send(id);
  await send("last");
  const readAnswer = async (id: string): Promise<unknown> =>
    JSON.parse((await store.getCommandAnswer(id)) ?? "null");
  await vi.waitFor(async () => expect(await readAnswer("last")).toEqual({ type: "canceled" }), {
    timeout: 4000,
  });
  mayEnd.resolve({ type: "added" });
  await vi.waitFor(
    async () => {
      for (const id of waiting) expect(await readAnswer(id)).toEqual({ type: "added" });
    },
    { timeout: 4000 },
  );
  expect(performed.toSorted()).toEqual([...waiting, "last"].toSorted());
  expect(failures).toEqual([]);
});

test("an action that was withdrawn while its task was being resumed is not performed", async () => {
  const store = await openTestStore();
  await holdTask(store);
  const [mayResume, resuming] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { agent, model } = scriptedAgent([[{ text: "One." }, { wait: never }]]);
  const { runtime } = createProcess(store, agent, {
    cluster: { store, processId, leaseMs: 60_000, renewMs: 50 },
    agentFor: async () => {
      resuming.resolve();
      await mayResume.promise;
      return agent;
    },
  });
  void runtime.recover();
  await resuming.promise;
  const action = { type: "cancel", taskId: rootTaskId, by: "me" };
  await store.sendCommand({ id: "cmd_1", rootTaskId, json: JSON.stringify(action) });
  // Received by now, and waiting for the agent.
  await new Promise((resolve) => setTimeout(resolve, 500));
  await store.answerCommand("cmd_1", JSON.stringify({ type: "withdrawn" }));
  mayResume.resolve();
  await vi.waitFor(() => expect(model.requests).toHaveLength(1), { timeout: 4000 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await runtime.state(rootTaskId)).tasks[rootTaskId]?.status).toBe("working");
});
