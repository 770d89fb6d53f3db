import { validateLog, type TaskEvent } from "@deltawire/tasks";
import { describe, expect, test, vi } from "vitest";
import { scriptedAgent } from "../runtime-fixture.ts";
import { createAgentWithTool, createSendTool, sendCalls } from "../send-tool.ts";
import {
  createProcess,
  createSuspendableStore,
  hasStatus,
  leaseMs,
  openTestStore,
  replaceMethod,
  waitForPending,
  waitForState,
  type TestProcess,
} from "./two-runtimes.ts";

const never = new Promise<never>(() => undefined);

describe("when a process ends", () => {
  test("another one resumes its tasks immediately", async () => {
    const store = await openTestStore();
    const { agent } = scriptedAgent([[{ text: "One." }, { wait: never }], [{ text: "Two." }]]);
    const [first, second] = [createProcess(store, agent), createProcess(store, agent)];
    await second.runtime.recover();
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    await waitForState(second, id, ({ tasks }) => JSON.stringify(tasks).includes("One."));
    const closedAt = performance.now();
    await first.runtime.close();
    await waitForState(second, id, hasStatus(id, "completed"));
    expect(performance.now() - closedAt).toBeLessThan(leaseMs);
  });

  test("its pending approvals can be decided in another one", async () => {
    const store = await openTestStore();
    const { tool, ran } = createSendTool("ask_always");
    const { agent } = createAgentWithTool(tool, [sendCalls("anna"), [{ text: "Sent." }]]);
    const [first, second] = [createProcess(store, agent), createProcess(store, agent)];
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    const { approval_id } = await waitForPending(first, id);
    await first.runtime.close();
    const decision = { decision: "approve", by: "me" } as const;
    expect(await second.runtime.decide(approval_id, decision)).toMatchObject({ type: "resolved" });
    await waitForState(second, id, hasStatus(id, "completed"));
    expect(ran).toEqual([{ to: "anna" }]);
  });
});

describe("a process that was stopped for a while", () => {
  test("cannot write to a task that another one has taken over", async () => {
    const store = await openTestStore();
    const slow = createSuspendableStore(store);
    const mayContinue = Promise.withResolvers<void>();
    const slowModel = scriptedAgent([
      [{ text: "One." }, { wait: mayContinue.promise }, { text: "Stale." }],
    ]);
    const first = createProcess(slow.store, slowModel.agent, {
      cluster: { store: slow.store, leaseMs, renewMs: 50 },
    });
    const second = createProcess(store, scriptedAgent([[{ text: "Whole." }]]).agent);
    await second.runtime.recover();
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    await waitForState(second, id, ({ tasks }) => JSON.stringify(tasks).includes("One."));
    slow.suspend();
    mayContinue.resolve();
    await waitForState(second, id, hasStatus(id, "completed"));
    slow.resume();
    await vi.waitFor(() => expect(first.runtime.live(id)).toBeUndefined(), { timeout: 5000 });
    const rows = await store.read(id, -1, 1000);
    expect(JSON.stringify(rows)).not.toContain("Stale.");
    const events = rows.map(({ json }) => JSON.parse(json) as TaskEvent);
    expect(validateLog(events, { complete: true })).toBeUndefined();
  });

  test("does not start a tool in a task that another one has taken over", async () => {
    const store = await openTestStore();
    const slow = createSuspendableStore(store);
    const { tool, ran } = createSendTool("auto", { effect: "once" });
    const mayCall = Promise.withResolvers<void>();
    const script = [[{ text: "One." }, { wait: mayCall.promise }, ...sendCalls("anna")]];
    const first = createProcess(slow.store, createAgentWithTool(tool, script).agent, {
      cluster: { store: slow.store, leaseMs, renewMs: 50 },
    });
    const second = createProcess(store, createAgentWithTool(tool, [[{ wait: never }]]).agent);
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    await waitForState(second, id, ({ tasks }) => JSON.stringify(tasks).includes("One."));
    slow.suspend();
    await second.runtime.recover();
    await vi.waitFor(() => expect(second.runtime.live(id)).toBeDefined(), { timeout: 5000 });
    mayCall.resolve();
    slow.resume();
    await vi.waitFor(() => expect(first.runtime.live(id)).toBeUndefined(), { timeout: 5000 });
    await first.runtime.close();
    expect(ran).toEqual([]);
    expect(second.runtime.live(id)).toBeDefined();
  });

  test("does not run a tool whose start it had stored", async () => {
    const store = await openTestStore();
    const slow = createSuspendableStore(store);
    const { tool, ran } = createSendTool("auto", { effect: "once" });
    const mayCall = Promise.withResolvers<void>();
    const first = createProcess(
      slow.store,
      createAgentWithTool(tool, [[{ wait: mayCall.promise }, ...sendCalls("anna")]]).agent,
      { cluster: { store: slow.store, leaseMs, renewMs: 50 } },
    );
    const second = createProcess(store, createAgentWithTool(tool, [[{ text: "Asked." }]]).agent);
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    // Suspended when the start of the execution is stored, but before the process is told.
    const append = store.append.bind(store);
    vi.spyOn(store, "append").mockImplementation(async (...batch) => {
      await append(...batch);
      if (JSON.stringify(batch).includes("task.tool_execution.started")) slow.suspend();
    });
    mayCall.resolve();
    await vi.waitFor(
      async () =>
        expect(JSON.stringify(await store.read(id, -1, 100))).toContain("tool_execution.started"),
      { timeout: 5000 },
    );
    await second.runtime.recover();
    // The recovery rules ask the user whether the call was carried out.
    expect(await waitForPending(second, id)).toMatchObject({ kind: "reconcile" });
    slow.resume();
    await vi.waitFor(() => expect(first.runtime.live(id)).toBeUndefined(), { timeout: 5000 });
    expect(ran).toEqual([]);
    expect(await waitForPending(second, id)).toMatchObject({ kind: "reconcile" });
  });

  test("shows what another one has stored of its tasks, before it knows that it has lost them", async () => {
    const store = await openTestStore();
    const slow = createSuspendableStore(store);
    const waiting = scriptedAgent([[{ text: "One." }, { wait: never }]]);
    const first = createProcess(store, waiting.agent, {
      cluster: { store: slow.store, leaseMs, renewMs: 50 },
    });
    const second = createProcess(store, scriptedAgent([[{ text: "Whole." }]]).agent);
    await second.runtime.recover();
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    await waitForState(second, id, ({ tasks }) => JSON.stringify(tasks).includes("One."));
    slow.suspend();
    await waitForState(second, id, hasStatus(id, "completed"));
    expect((await first.runtime.state(id)).tasks[id]?.status).toBe("completed");
    slow.resume();
  });

  test("keeps the tasks that no other process has taken over", async () => {
    const store = await openTestStore();
    const slow = createSuspendableStore(store);
    const mayContinue = Promise.withResolvers<void>();
    const { agent, model } = scriptedAgent([
      [{ text: "One." }, { wait: mayContinue.promise }, { text: "Two." }],
    ]);
    const only = createProcess(slow.store, agent, {
      cluster: { store: slow.store, leaseMs, renewMs: 50 },
    });
    const id = await only.runtime.start({ agent: "main", input: "Go." });
    slow.suspend();
    await new Promise((resolve) => setTimeout(resolve, leaseMs * 2));
    slow.resume();
    mayContinue.resolve();
    await waitForState(only, id, hasStatus(id, "completed"));
    expect(model.requests).toHaveLength(1);
  });
});

describe("a process that shuts down", () => {
  test("holds its tasks until their running tools have ended", async () => {
    const store = await openTestStore();
    const started = Promise.withResolvers<void>();
    const { tool, ran } = createSendTool("auto", {
      effect: "once",
      run: async (input: unknown) => {
        started.resolve();
        await new Promise((resolve) => setTimeout(resolve, leaseMs * 3));
        ran.push(input);
        return "sent";
      },
    });
    const first = createProcess(store, createAgentWithTool(tool, [sendCalls("anna")]).agent);
    const { agent, model } = createAgentWithTool(tool, [[{ text: "Sent." }]]);
    const second = createProcess(store, agent);
    await second.runtime.recover();
    const id = await first.runtime.start({ agent: "main", input: "Go." });
    await started.promise;
    await first.runtime.close(leaseMs * 10);
    await waitForState(second, id, hasStatus(id, "completed"));
    expect(ran).toEqual([{ to: "anna" }]);
    expect(JSON.stringify(model.requests[0]?.input)).toContain("sent");
    expect([...first.failures, ...second.failures]).toEqual([]);
  });

  test("releases a task that only writes while a tool of another task is running", async () => {
    const store = await openTestStore();
    const [started, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { tool } = createSendTool("auto", {
      effect: "once",
      run: async () => {
        started.resolve();
        await mayEnd.promise;
        return "sent";
      },
    });
    const caller = createAgentWithTool(tool, [sendCalls("anna")]).agent;
    const script = [
      [{ text: "One." }, { wait: never }],
      [{ text: "Two." }, { wait: never }],
    ];
    const writer = scriptedAgent(script).agent;
    const closing = createProcess(store, writer, {
      agentFor: ({ agent }) => (agent === "caller" ? caller : writer),
    });
    const other = createProcess(store, writer);
    await other.runtime.recover();
    const callingId = await closing.runtime.start({ agent: "caller", input: "Call." });
    const writingId = await closing.runtime.start({ agent: "main", input: "Write." });
    await started.promise;
    const closed = closing.runtime.close(60_000);
    await vi.waitFor(() => expect(other.runtime.live(writingId)).toBeDefined(), { timeout: 3000 });
    expect(other.runtime.live(callingId)).toBeUndefined();
    mayEnd.resolve();
    await closed;
  });

  test.each(["decision", "cancel", "message"] as const)(
    "leaves a %s of another process to the one that resumes the task",
    async (kind) => {
      const store = await openTestStore();
      const { tool, ran } = createSendTool("ask_always");
      const script = [sendCalls("anna"), [{ text: "Sent." }]];
      const { agent, model } = createAgentWithTool(tool, script);
      // Receives the request, and has released its tasks before it can perform it.
      const receiving = replaceMethod(store, "listCommands", async (call) => {
        const commands = (await call()) as unknown[];
        if (commands.length > 0) await first.runtime.close();
        return commands;
      });
      const first: TestProcess = createProcess(receiving, agent, {
        cluster: { store: receiving, leaseMs, renewMs: 50 },
      });
      const second = createProcess(store, agent);
      const id = await first.runtime.start({ agent: "main", input: "Go." });
      const { approval_id } = await waitForPending(first, id);
      const actions = {
        decision: () => second.runtime.decide(approval_id, { decision: "approve", by: "me" }),
        cancel: () => second.runtime.cancel(id, "me"),
        message: () => second.runtime.input(id, "To bob too.", "steer"),
      };
      expect(await actions[kind]()).toEqual(
        {
          decision: expect.objectContaining({ type: "resolved" }),
          cancel: "canceled",
          message: "added",
        }[kind],
      );
      if (kind === "message") await actions.decision();
      await waitForState(second, id, hasStatus(id, kind === "cancel" ? "canceled" : "completed"));
      expect(ran).toEqual(kind === "cancel" ? [] : [{ to: "anna" }]);
      expect(JSON.stringify(model.requests).includes("To bob too.")).toBe(kind === "message");
      expect([...first.failures, ...second.failures]).toEqual([]);
    },
  );

  test("while it claims tasks leaves them to others", async () => {
    const store = await openTestStore();
    const { agent } = scriptedAgent([[{ text: "One." }, { wait: never }], [{ text: "Two." }]]);
    const earlier = createProcess(store, agent);
    const id = await earlier.runtime.start({ agent: "main", input: "Go." });
    await waitForState(earlier, id, ({ tasks }) => JSON.stringify(tasks).includes("One."));
    await earlier.runtime.close();
    const mayContinue = Promise.withResolvers<void>();
    const closing = createProcess(store, agent, {
      agentFor: () => mayContinue.promise.then(() => agent),
    });
    const recovering = closing.runtime.recover();
    await vi.waitFor(async () =>
      expect(await store.claimTasks("nobody", { limit: 10 })).toEqual([]),
    );
    const closed = closing.runtime.close();
    mayContinue.resolve();
    expect(await recovering).toEqual([]);
    await closed;
    const later = createProcess(store, agent);
    expect(await later.runtime.recover()).toEqual([id]);
  });
});
