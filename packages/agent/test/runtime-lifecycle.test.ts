import { defineTool, RuntimeError, type Agent } from "@deltawire/agent";
import type { TaskTree } from "@deltawire/tasks";
import { describe, expect, test, vi } from "vitest";
import {
  waitForEnd,
  readEvents,
  copyLogUntil,
  waitForApproval,
  recoverTask,
  filterResults,
  createRuntime,
  scriptedAgent,
  start,
  waitUntil,
  type StartedTask,
} from "./runtime-fixture.ts";

const never = new Promise<never>(() => undefined);
const askingTool = defineTool({
  name: "send",
  description: "Sends.",
  input: { type: "object", properties: { to: { type: "string" } }, additionalProperties: false },
  approval: "ask_always",
  run: (input) => `sent ${JSON.stringify(input)}`,
});

/** Starts a task whose sub-agent waits for an approval, and closes its runtime. */
async function startWaitingTask(): Promise<{
  stoppedTask: StartedTask;
  createAgent: () => Agent;
  approvalId: string;
  child: string;
}> {
  const createAgent = (): Agent => {
    const { agent: anna } = scriptedAgent(
      (request) =>
        JSON.stringify(request.input).includes("_output")
          ? [{ text: "Sent." }]
          : [{ call: "send", args: {} }],
      {
        name: "anna",
        tools: [askingTool],
      },
    );
    return scriptedAgent(
      (request) =>
        JSON.stringify(request.input).includes("_output")
          ? [{ text: "Done." }]
          : [{ call: "ask_for_help", args: { name: "anna", prompt: "Send." } }],
      { agents: [anna] },
    ).agent;
  };
  const stoppedTask = await start(createAgent());
  const { approval_id, task_id } = await waitForApproval(stoppedTask);
  await stoppedTask.runtime.close();
  return { stoppedTask, createAgent, approvalId: approval_id, child: task_id };
}

describe("a task that was not resumed yet", () => {
  test("accepts a decision with edited arguments for a sub-agent, and continues", async () => {
    const { stoppedTask, createAgent, approvalId } = await startWaitingTask();
    const fixture = { ...stoppedTask, ...createRuntime(createAgent(), stoppedTask) };
    const bad = await fixture.runtime.decide(approvalId, {
      decision: "approve",
      by: "me",
      arguments: '{"to":7}',
    });
    expect(bad).toMatchObject({ type: "invalid" });
    const { type } = await fixture.runtime.decide(approvalId, {
      decision: "approve",
      by: "me",
      arguments: '{"to":"you"}',
    });
    expect(type).toBe("resolved");
    const { view } = await waitForEnd(fixture);
    expect(JSON.stringify(view)).toContain('sent {\\"to\\":\\"you\\"}');
  });

  test("is resumed once, however many recoveries and decisions arrive at the same time", async () => {
    const { stoppedTask, createAgent, approvalId } = await startWaitingTask();
    const fixture = { ...stoppedTask, ...createRuntime(createAgent(), stoppedTask) };
    const [, , one, two] = await Promise.all([
      fixture.runtime.recover(),
      fixture.runtime.recover(),
      fixture.runtime.decide(approvalId, { decision: "approve", by: "one" }),
      fixture.runtime.decide(approvalId, { decision: "deny", by: "two" }),
    ]);
    expect([one.type, two.type].toSorted()).toEqual(["resolved", "superseded"]);
    const { events } = await waitForEnd(fixture);
    expect(
      events.filter((event) => event.type === "task.working" && event.recovered === true),
    ).toHaveLength(2);
  });

  test("is resumed once, even if a message arrives during the recovery", async () => {
    const { stoppedTask, createAgent } = await startWaitingTask();
    const other = await start(createAgent(), {}, { log: stoppedTask.log });
    await waitForApproval(other);
    await other.runtime.close();
    const first = Promise.withResolvers<void>();
    const firstPrepared = Promise.withResolvers<void>();
    let prepareCount = 0;
    const agentFor = async (): Promise<Agent> => {
      prepareCount += 1;
      if (prepareCount === 1) {
        firstPrepared.resolve();
        await first.promise;
      }
      return createAgent();
    };
    const { runtime, log } = createRuntime(createAgent(), { log: stoppedTask.log, agentFor });
    const recovery = runtime.recover();
    await firstPrepared.promise;
    expect(await runtime.input(other.id, "Hello.", "steer")).toBe("added");
    first.resolve();
    expect(await recovery).toEqual([stoppedTask.id, other.id]);
    expect(await runtime.input(other.id, "Hello again.", "steer")).toBe("added");
    await runtime.close();
    const recoveries = (await readEvents({ log, id: other.id })).filter(
      ({ type, task_id }) => type === "task.working" && task_id === other.id,
    );
    expect(recoveries).toHaveLength(2);
  });

  test("can be canceled, and so can its sub-agent alone", async () => {
    const waitingTask = await startWaitingTask();
    const one = {
      ...waitingTask.stoppedTask,
      ...createRuntime(waitingTask.createAgent(), waitingTask.stoppedTask),
    };
    expect(await one.runtime.cancel(one.id, "me")).toBe("canceled");
    expect((await waitForEnd(one)).view.status).toBe("canceled");
    const otherTask = await startWaitingTask();
    const two = {
      ...otherTask.stoppedTask,
      ...createRuntime(otherTask.createAgent(), otherTask.stoppedTask),
    };
    expect(await two.runtime.cancel(otherTask.child, "me")).toBe("canceled");
    const { view, state } = await waitForEnd(two);
    expect(view.status).toBe("completed");
    expect(state.tasks[otherTask.child]?.status).toBe("canceled");
  });

  test("accepts user messages", async () => {
    const { stoppedTask, createAgent, approvalId } = await startWaitingTask();
    const fixture = { ...stoppedTask, ...createRuntime(createAgent(), stoppedTask) };
    expect(await fixture.runtime.input(fixture.id, "Hurry!", "steer")).toBe("added");
    await fixture.runtime.decide(approvalId, { decision: "approve", by: "me" });
    expect((await waitForEnd(fixture)).state.tasks[fixture.id]?.inputs).toHaveLength(1);
  });

  test("can be canceled while it is being resumed, with running tools and sub-agents", async () => {
    const hang = defineTool({
      name: "hang",
      description: "Hangs.",
      effect: "once",
      parallel: true,
      run: () => never,
    });
    const createAgent = () => {
      const { agent: anna } = scriptedAgent([[{ text: "I " }, { wait: never }]], { name: "anna" });
      return scriptedAgent(
        [
          [
            { call: "hang", args: {} },
            { call: "ask_for_help", args: { name: "anna", prompt: "Help." } },
          ],
        ],
        { agents: [anna], tools: [hang] },
      ).agent;
    };
    const started = await start(createAgent());
    await waitUntil(
      started,
      ({ tasks }) =>
        JSON.stringify(tasks).includes('"I "') && tasks[started.id]?.executions.length === 2,
    );
    await started.runtime.close();
    for (const ticks of [0, 1, 2, 3, 5, 8, 20]) {
      const next = await recoverTask(createAgent(), {
        log: await copyLogUntil(started),
        id: started.id,
      });
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      expect(await next.runtime.cancel(started.id, "me")).toBe("canceled");
      const { view } = await waitForEnd(next);
      expect(filterResults(view.output).map(({ outcome }) => outcome)).toEqual([
        "unknown",
        "canceled",
      ]);
    }
  });
});

describe("an agent that is no longer configured", () => {
  const throwMissingAgent = () => {
    throw new RuntimeError("agent_not_found", 'there is no agent "main"');
  };

  test("is reported, and its task continues when the agent is configured again", async () => {
    const { stoppedTask, createAgent, approvalId } = await startWaitingTask();
    const failures: string[] = [];
    const fixture = {
      ...stoppedTask,
      ...createRuntime(createAgent(), {
        ...stoppedTask,
        agentFor: throwMissingAgent,
        onFailure: (message) => failures.push(message),
      }),
    };
    expect(await fixture.runtime.recover()).toEqual([]);
    expect(failures.join()).toContain('there is no agent "main"');
    expect(await fixture.runtime.decide(approvalId, { decision: "approve", by: "me" })).toEqual({
      type: "invalid",
      message: 'there is no agent "main"',
    });
    const resumedTask = await recoverTask(createAgent(), stoppedTask);
    await resumedTask.runtime.decide(approvalId, { decision: "approve", by: "me" });
    expect((await waitForEnd(resumedTask)).view.status).toBe("completed");
  });

  test("does not prevent its task from being canceled, only once", async () => {
    const { stoppedTask, createAgent } = await startWaitingTask();
    const fixture = {
      ...stoppedTask,
      ...createRuntime(createAgent(), { ...stoppedTask, agentFor: throwMissingAgent }),
    };
    const both = await Promise.all([
      fixture.runtime.cancel(stoppedTask.id, "one"),
      fixture.runtime.cancel(stoppedTask.id, "two"),
    ]);
    expect(both.toSorted()).toEqual(["canceled", "ended"]);
    const { state } = await waitForEnd(fixture);
    expect(Object.values(state.tasks).map(({ status }) => status)).toEqual([
      "canceled",
      "canceled",
    ]);
  });
});

describe("a runtime that is closed immediately", () => {
  test("leaves its tasks to the next one, with the results that tools return when they are aborted", async () => {
    let ran = 0;
    const tool = defineTool({
      name: "send",
      description: "Sends.",
      effect: "once",
      run: (_input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(`sent ${(ran += 1)}`));
        }),
    });
    const { agent } = scriptedAgent([[{ call: "send", args: {} }]], { tools: [tool] });
    const started = await start(agent);
    await waitUntil(started, ({ tasks }) => tasks[started.id]?.executions.length === 1);
    await started.runtime.close();
    const next = await recoverTask(
      scriptedAgent([[{ text: "Done." }]], { tools: [tool] }).agent,
      started,
    );
    const { view } = await waitForEnd(next);
    expect(ran).toBe(1);
    expect(view.approvals).toEqual([]);
    expect(filterResults(view.output)).toMatchObject([
      { status: "completed", block_list: [{ text: "sent 1" }] },
    ]);
  });

  test("starts nothing new", async () => {
    const { agent } = scriptedAgent([]);
    const { runtime } = createRuntime(agent);
    await runtime.close();
    await expect(runtime.start({ input: "Go." })).rejects.toThrow("shutting down");
  });
});

test("a listener that throws does not affect the task", async () => {
  const failures: string[] = [];
  const modelMayContinue = Promise.withResolvers<void>();
  const { agent } = scriptedAgent([[{ wait: modelMayContinue.promise }, { text: "Done." }]]);
  const started = await start(agent, {}, { onFailure: (message) => failures.push(message) });
  started.runtime.subscribe(started.id, () => {
    throw new Error("the listener failed");
  });
  modelMayContinue.resolve();
  expect((await waitForEnd(started)).view.status).toBe("completed");
  expect(failures[0]).toContain("the listener failed");
});

test("an invalid agent is rejected before a task is created", async () => {
  const group = { name: "mail", description: "Mail.", rules: "", tools: [askingTool] };
  const { agent } = scriptedAgent([], { tools: [askingTool, group] });
  const fixture = createRuntime(agent);
  await expect(fixture.runtime.start({ input: "Go." })).rejects.toMatchObject({
    name: "RuntimeError",
    code: "invalid_agent",
    message: expect.stringContaining("two tools") as string,
  });
  expect(await fixture.log.listUnfinished()).toEqual([]);
});

test("a task whose agent has become invalid is reported once, and can be canceled", async () => {
  const { agent } = scriptedAgent([[{ call: "send", args: {} }]], { tools: [askingTool] });
  const started = await start(agent);
  await waitForApproval(started);
  await started.runtime.close();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const failures: string[] = [];
    const { runtime } = createRuntime(
      { ...agent, tools: [askingTool, askingTool] },
      { log: started.log, onFailure: (message) => failures.push(message) },
    );
    expect(await runtime.recover()).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(failures).toEqual([expect.stringContaining("two tools")]);
    expect(await runtime.cancel(started.id, "me")).toBe("canceled");
  } finally {
    vi.useRealTimers();
  }
});

test.each(["cancel", "message"] as const)(
  "a %s that arrives while a runtime is closed is rejected, because the task goes on later",
  async (kind) => {
    const running = Promise.withResolvers<void>();
    const tool = defineTool({
      name: "wait",
      description: "Ignores the abort signal.",
      input: { type: "object" },
      effect: "once",
      run: () => {
        running.resolve();
        return never;
      },
    });
    const { agent } = scriptedAgent([[{ call: "wait", args: {} }]], { tools: [tool] });
    const { runtime, id } = await start(agent);
    await running.promise;
    const closed = runtime.close();
    const action = kind === "cancel" ? runtime.cancel(id, "me") : runtime.input(id, "Hi.", "steer");
    await expect(action).rejects.toMatchObject({ name: "RuntimeError", code: "closed" });
    await closed;
    expect((await runtime.state(id)).tasks[id]?.status).toBe("working");
  },
);

describe("a runtime that is closed with a waiting time", () => {
  const createSlowTool = (ms: number) =>
    defineTool({
      name: "pay",
      description: "Pays.",
      run: () => new Promise((resolve) => setTimeout(resolve, ms, "paid")),
    });
  const isToolRunning = ({ tasks }: TaskTree): boolean =>
    Object.values(tasks).some(({ executions }) => executions.length > 0);

  test("lets a running tool finish and starts nothing new", async () => {
    const { agent, model } = scriptedAgent([[{ call: "pay", args: {} }]], {
      tools: [createSlowTool(100)],
    });
    const started = await start(agent);
    await waitUntil(started, isToolRunning);
    await started.runtime.close(10_000);
    expect(model.requests).toHaveLength(1);
    const next = scriptedAgent([[{ text: "Done." }]], { tools: [createSlowTool(1)] });
    const { view } = await waitForEnd(await recoverTask(next.agent, started));
    expect(filterResults(view.output)).toMatchObject([{ status: "completed" }]);
    expect(view.approvals).toEqual([]);
    expect(next.model.requests).toHaveLength(1);
  });

  test("waits no longer than that time, and not for approvals", async () => {
    const long = await start(
      scriptedAgent([[{ call: "pay", args: {} }]], { tools: [createSlowTool(9000)] }).agent,
    );
    await waitUntil(long, isToolRunning);
    const asking = await start(
      scriptedAgent([[{ call: "send", args: {} }]], { tools: [askingTool] }).agent,
    );
    await waitForApproval(asking);
    const began = Date.now();
    await asking.runtime.close(10_000);
    await long.runtime.close(50);
    expect(Date.now() - began).toBeLessThan(5000);
  });
});
