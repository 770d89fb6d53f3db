import { defineTool, RuntimeError, type Agent } from "@deltawire/agent";
import type { TaskTree } from "@deltawire/tasks";
import { describe, expect, test, vi } from "vitest";
import {
  ended,
  eventsOf,
  logUpTo,
  question,
  recovered,
  resultsIn,
  runtimeOf,
  scriptedAgent,
  start,
  until,
  type Started,
} from "./run-kit.ts";

const never = new Promise<never>(() => undefined);
const asks = defineTool({
  name: "send",
  description: "Sends.",
  input: { type: "object", properties: { to: { type: "string" } }, additionalProperties: false },
  approval: "ask always",
  run: (input) => `sent ${JSON.stringify(input)}`,
});

/** A task whose sub-agent waits for a person, in a process that has ended. */
async function waiting(): Promise<{
  left: Started;
  agent: () => Agent;
  approvalId: string;
  child: string;
}> {
  const agent = (): Agent => {
    const { agent: anna } = scriptedAgent(
      (request) =>
        JSON.stringify(request.input).includes("_output")
          ? [{ text: "Sent." }]
          : [{ call: "send", args: {} }],
      {
        name: "anna",
        tools: [asks],
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
  const left = await start(agent());
  const { approval_id, task_id } = await question(left);
  await left.runtime.close();
  return { left, agent, approvalId: approval_id, child: task_id };
}

describe("a task that has not been taken up yet", () => {
  test("takes a decision, also with changed arguments in a sub-agent, and goes on", async () => {
    const { left, agent, approvalId } = await waiting();
    const made = { ...left, ...runtimeOf(agent(), left) };
    const bad = await made.runtime.decide(approvalId, {
      decision: "approve",
      by: "me",
      arguments: '{"to":7}',
    });
    expect(bad).toMatchObject({ is: "invalid" });
    const { is } = await made.runtime.decide(approvalId, {
      decision: "approve",
      by: "me",
      arguments: '{"to":"you"}',
    });
    expect(is).toBe("resolved");
    const { view } = await ended(made);
    expect(JSON.stringify(view)).toContain('sent {\\"to\\":\\"you\\"}');
  });

  test("is taken up once, however many come at the same time", async () => {
    const { left, agent, approvalId } = await waiting();
    const made = { ...left, ...runtimeOf(agent(), left) };
    const [, , one, two] = await Promise.all([
      made.runtime.recover(),
      made.runtime.recover(),
      made.runtime.decide(approvalId, { decision: "approve", by: "one" }),
      made.runtime.decide(approvalId, { decision: "deny", by: "two" }),
    ]);
    expect([one.is, two.is].toSorted()).toEqual(["late", "resolved"]);
    const { events } = await ended(made);
    expect(
      events.filter((event) => event.type === "task.working" && event.recovered === true),
    ).toHaveLength(2);
  });

  test("is not taken up again by a recovery that had looked before it was", async () => {
    const { left, agent } = await waiting();
    const other = await start(agent(), {}, { log: left.log });
    await question(other);
    await other.runtime.close();
    const first = Promise.withResolvers<void>();
    const isTaken = Promise.withResolvers<void>();
    let taken = 0;
    const agentFor = async (): Promise<Agent> => {
      taken += 1;
      if (taken === 1) {
        isTaken.resolve();
        await first.promise;
      }
      return agent();
    };
    const { runtime, log } = runtimeOf(agent(), { log: left.log, agentFor });
    const recovery = runtime.recover();
    await isTaken.promise;
    expect(await runtime.input(other.id, "Hello.", "steer")).toBe("added");
    first.resolve();
    expect(await recovery).toEqual([left.id, other.id]);
    expect(await runtime.input(other.id, "Hello again.", "steer")).toBe("added");
    await runtime.close();
    const again = (await eventsOf({ log, id: other.id })).filter(
      ({ type, task_id }) => type === "task.working" && task_id === other.id,
    );
    expect(again).toHaveLength(2);
  });

  test("can be cancelled, and so can its sub-agent", async () => {
    const whole = await waiting();
    const one = { ...whole.left, ...runtimeOf(whole.agent(), whole.left) };
    expect(await one.runtime.cancel(one.id, "me")).toBe("canceled");
    expect((await ended(one)).view.status).toBe("canceled");
    const part = await waiting();
    const two = { ...part.left, ...runtimeOf(part.agent(), part.left) };
    expect(await two.runtime.cancel(part.child, "me")).toBe("canceled");
    const { view, state } = await ended(two);
    expect(view.status).toBe("completed");
    expect(state.tasks[part.child]?.status).toBe("canceled");
  });

  test("hears what a user says", async () => {
    const { left, agent, approvalId } = await waiting();
    const made = { ...left, ...runtimeOf(agent(), left) };
    expect(await made.runtime.input(made.id, "Hurry!", "steer")).toBe("added");
    await made.runtime.decide(approvalId, { decision: "approve", by: "me" });
    expect((await ended(made)).state.tasks[made.id]?.inputs).toHaveLength(1);
  });

  test("can be cancelled in the very moment in which it is taken up, with tools and helpers under way", async () => {
    const hang = defineTool({
      name: "hang",
      description: "Hangs.",
      effect: "once",
      parallel: true,
      run: () => never,
    });
    const agent = () => {
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
    const started = await start(agent());
    await until(
      started,
      ({ tasks }) =>
        JSON.stringify(tasks).includes('"I "') && tasks[started.id]?.executions.length === 2,
    );
    await started.runtime.close();
    for (const ticks of [0, 1, 2, 3, 5, 8, 20]) {
      const next = await recovered(agent(), { log: await logUpTo(started), id: started.id });
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      expect(await next.runtime.cancel(started.id, "me")).toBe("canceled");
      const { view } = await ended(next);
      expect(resultsIn(view.output).map(({ outcome }) => outcome)).toEqual(["unknown", "canceled"]);
    }
  });
});

describe("an agent that is no longer configured", () => {
  const gone = () => {
    throw new RuntimeError("unknown_agent", 'there is no agent "main"');
  };

  test("leaves its task as it is, says so, and the task goes on when it is there again", async () => {
    const { left, agent, approvalId } = await waiting();
    const said: string[] = [];
    const made = {
      ...left,
      ...runtimeOf(agent(), {
        ...left,
        agentFor: gone,
        onFailure: (message) => said.push(message),
      }),
    };
    expect(await made.runtime.recover()).toEqual([]);
    expect(said.join()).toContain('there is no agent "main"');
    expect(await made.runtime.decide(approvalId, { decision: "approve", by: "me" })).toEqual({
      is: "invalid",
      message: 'there is no agent "main"',
    });
    const back = await recovered(agent(), left);
    await back.runtime.decide(approvalId, { decision: "approve", by: "me" });
    expect((await ended(back)).view.status).toBe("completed");
  });

  test("does not keep its task from being cancelled, once", async () => {
    const { left, agent } = await waiting();
    const made = { ...left, ...runtimeOf(agent(), { ...left, agentFor: gone }) };
    const both = await Promise.all([
      made.runtime.cancel(left.id, "one"),
      made.runtime.cancel(left.id, "two"),
    ]);
    expect(both.toSorted()).toEqual(["canceled", "ended"]);
    const { state } = await ended(made);
    expect(Object.values(state.tasks).map(({ status }) => status)).toEqual([
      "canceled",
      "canceled",
    ]);
  });
});

describe("a runtime that is closed", () => {
  test("leaves its tasks to the next one, and what a tool had done by then is kept", async () => {
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
    await until(started, ({ tasks }) => tasks[started.id]?.executions.length === 1);
    await started.runtime.close();
    const next = await recovered(
      scriptedAgent([[{ text: "Done." }]], { tools: [tool] }).agent,
      started,
    );
    const { view } = await ended(next);
    expect(ran).toBe(1);
    expect(view.approvals).toEqual([]);
    expect(resultsIn(view.output)).toMatchObject([
      { status: "completed", block_list: [{ text: "sent 1" }] },
    ]);
  });

  test("starts nothing more", async () => {
    const { agent } = scriptedAgent([]);
    const { runtime } = runtimeOf(agent);
    await runtime.close();
    await expect(runtime.start({ input: "Go." })).rejects.toThrow("shutting down");
  });
});

test("a listener that throws is no harm to the task", async () => {
  const said: string[] = [];
  const rest = Promise.withResolvers<void>();
  const { agent } = scriptedAgent([[{ wait: rest.promise }, { text: "Done." }]]);
  const started = await start(agent, {}, { onFailure: (message) => said.push(message) });
  started.runtime.subscribe(started.id, () => {
    throw new Error("not my day");
  });
  rest.resolve();
  expect((await ended(started)).view.status).toBe("completed");
  expect(said[0]).toContain("not my day");
});

test("an agent that cannot work is refused before there is a task", async () => {
  const group = { name: "mail", description: "Mail.", rules: "", tools: [asks] };
  const { agent } = scriptedAgent([], { tools: [asks, group] });
  const made = runtimeOf(agent);
  await expect(made.runtime.start({ input: "Go." })).rejects.toMatchObject({
    name: "RuntimeError",
    code: "invalid_agent",
    message: expect.stringContaining("two tools") as string,
  });
  expect(await made.log.unfinished()).toEqual([]);
});

test("a task whose agent cannot work any more is told of once, and can be cancelled", async () => {
  const { agent } = scriptedAgent([[{ call: "send", args: {} }]], { tools: [asks] });
  const started = await start(agent);
  await question(started);
  await started.runtime.close();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const said: string[] = [];
    const { runtime } = runtimeOf(
      { ...agent, tools: [asks, asks] },
      { log: started.log, onFailure: (message) => said.push(message) },
    );
    expect(await runtime.recover()).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual([expect.stringContaining("two tools")]);
    expect(await runtime.cancel(started.id, "me")).toBe("canceled");
  } finally {
    vi.useRealTimers();
  }
});

describe("a runtime that closes in time", () => {
  const slow = (ms: number) =>
    defineTool({
      name: "pay",
      description: "Pays.",
      run: () => new Promise((resolve) => setTimeout(resolve, ms, "paid")),
    });
  const isAtWork = ({ tasks }: TaskTree): boolean =>
    Object.values(tasks).some(({ executions }) => executions.length > 0);

  test("lets a tool come to its end, and begins nothing new", async () => {
    const { agent, model } = scriptedAgent([[{ call: "pay", args: {} }]], { tools: [slow(100)] });
    const started = await start(agent);
    await until(started, isAtWork);
    await started.runtime.close(10_000);
    expect(model.asked).toHaveLength(1);
    const next = scriptedAgent([[{ text: "Done." }]], { tools: [slow(1)] });
    const { view } = await ended(await recovered(next.agent, started));
    expect(resultsIn(view.output)).toMatchObject([{ status: "completed" }]);
    expect(view.approvals).toEqual([]);
    expect(next.model.asked).toHaveLength(1);
  });

  test("waits no longer than it is told, and not for a person", async () => {
    const long = await start(
      scriptedAgent([[{ call: "pay", args: {} }]], { tools: [slow(9000)] }).agent,
    );
    await until(long, isAtWork);
    const asking = await start(
      scriptedAgent([[{ call: "send", args: {} }]], { tools: [asks] }).agent,
    );
    await question(asking);
    const began = Date.now();
    await asking.runtime.close(10_000);
    await long.runtime.close(50);
    expect(Date.now() - began).toBeLessThan(5000);
  });
});
