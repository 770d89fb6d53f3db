import { RuntimeError } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { scriptedAgent } from "../runtime-fixture.ts";
import { createAgentWithTool, createSendTool, sendCalls } from "../send-tool.ts";
import {
  createProcess,
  hasStatus,
  openTestStore,
  waitForPending,
  waitForState,
} from "./two-runtimes.ts";

const never = new Promise<never>(() => undefined);

describe("a task that another process runs", () => {
  test("receives a decision, and its tool runs once", async () => {
    const store = await openTestStore();
    const { tool, ran } = createSendTool("ask_always");
    const { agent } = createAgentWithTool(tool, [sendCalls("anna"), [{ text: "Sent." }]]);
    const [first, second] = [createProcess(store, agent), createProcess(store, agent)];
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    const { approval_id } = await waitForPending(second, id);
    const decision = { decision: "approve", by: "me" } as const;
    expect(await second.runtime.decide(approval_id, decision)).toMatchObject({
      type: "resolved",
      approval: { resolution: { by: "me" } },
    });
    expect(await second.runtime.decide(approval_id, decision)).toMatchObject({ type: "repeated" });
    await waitForState(second, id, hasStatus(id, "completed"));
    expect(ran).toEqual([{ to: "anna" }]);
    expect(second.runtime.live(id)).toBeUndefined();
    expect(await second.runtime.decide(approval_id, { decision: "deny", by: "me" })).toMatchObject({
      type: "superseded",
    });
  });

  test("two processes that decide at the same time agree on the first decision", async () => {
    const store = await openTestStore();
    const { tool } = createSendTool("ask_always");
    const { agent } = createAgentWithTool(tool, [sendCalls("anna"), [{ text: "Sent." }]]);
    const [first, second, third] = [
      createProcess(store, agent),
      createProcess(store, agent),
      createProcess(store, agent),
    ];
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    const { approval_id } = await waitForPending(first, id);
    const results = await Promise.all([
      second.runtime.decide(approval_id, { decision: "approve", by: "bob" }),
      third.runtime.decide(approval_id, { decision: "deny", by: "eve" }),
    ]);
    expect(results.map(({ type }) => type).toSorted()).toEqual(["resolved", "superseded"]);
  });

  test("receives a message", async () => {
    const store = await openTestStore();
    const mayContinue = Promise.withResolvers<void>();
    const { agent, model } = scriptedAgent([
      [{ text: "One." }, { wait: mayContinue.promise }],
      [{ text: "Two." }],
    ]);
    const [first, second] = [createProcess(store, agent), createProcess(store, agent)];
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    const sendTwice = [1, 2].map(() => second.runtime.input(id, "And two.", "queue", "in_1"));
    expect(await Promise.all(sendTwice)).toEqual(["added", "added"]);
    mayContinue.resolve();
    await waitForState(second, id, hasStatus(id, "completed"));
    expect(JSON.stringify(model.requests[1]).match(/And two\./g)).toHaveLength(1);
    expect(await second.runtime.input(id, "More.", "queue")).toBe("ended");
  });

  test("is canceled", async () => {
    const store = await openTestStore();
    const { agent, model } = scriptedAgent([[{ text: "One." }, { wait: never }]]);
    const [first, second] = [createProcess(store, agent), createProcess(store, agent)];
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    await waitForState(second, id, ({ tasks }) => JSON.stringify(tasks).includes("One."));
    expect(await second.runtime.cancel(id, "me", "enough")).toBe("canceled");
    expect(model.openStreams).toBe(0);
    expect((await second.runtime.state(id)).tasks[id]).toMatchObject({
      status: "canceled",
      ended: { by: "me", reason: "enough" },
    });
    expect(await second.runtime.cancel(id, "me")).toBe("ended");
  });

  test("is not started again with the same id", async () => {
    const store = await openTestStore();
    const { agent, model } = scriptedAgent(() => [{ text: "One." }, { wait: never }]);
    const [first, second] = [createProcess(store, agent), createProcess(store, agent)];
    const request = { agent: "main", input: "Go." };
    await first.runtime.start(request, "task_1");
    for (const { runtime } of [first, second])
      await expect(runtime.start(request, "task_1")).rejects.toMatchObject({ code: "id_taken" });
    await waitForState(second, "task_1", ({ tasks }) => JSON.stringify(tasks).includes("One."));
    expect(model.openStreams).toBe(1);
    expect([...first.failures, ...second.failures]).toEqual([]);
    expect(second.runtime.live("task_1")).toBeUndefined();
  });
});

test("a task whose agent only another process knows is left to that process", async () => {
  const store = await openTestStore();
  const { agent, model } = scriptedAgent([[{ text: "One." }, { wait: never }], [{ text: "Two." }]]);
  const first = createProcess(store, agent);
  const id = await first.runtime.start({ agent: "main", input: "Go." });
  await waitForState(first, id, ({ tasks }) => JSON.stringify(tasks).includes("One."));
  const agentFor = (): never => {
    throw new RuntimeError("agent_not_found", "no agent main");
  };
  const unable = createProcess(store, agent, { agentFor });
  await unable.runtime.recover();
  await first.runtime.close();
  await expect.poll(() => unable.failures).toEqual([expect.stringContaining("no agent main")]);
  const able = createProcess(store, agent);
  await able.runtime.recover();
  await waitForState(able, id, hasStatus(id, "completed"));
  expect(model.requests).toHaveLength(2);
});
