import { defineAgent, defineTool, runTask, type Model } from "@deltawire/agent";
import type { TaskTree } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  ended,
  question,
  resultsIn,
  scriptedAgent,
  start,
  until,
  type Started,
} from "./run-kit.ts";

const never = new Promise<never>(() => undefined);

/** Cancels, and says how long it took. */
async function cancelled(started: Started, id = started.id) {
  const began = performance.now();
  const answer = await started.runtime.cancel(id, "me", "enough");
  const took = performance.now() - began;
  return { answer, took, ...(await ended(started)) };
}

const runs = ({ tasks }: TaskTree): boolean =>
  Object.values(tasks).some(({ executions }) => executions.length > 0);

describe("cancel", () => {
  test(
    "while the model speaks frees its connection and keeps what it said, as incomplete",
    { retry: 2 },
    async () => {
      const { agent, model } = scriptedAgent([
        [{ reasoning: "Hm." }, { text: ["It is ", "su"] }, { wait: never }],
      ]);
      const started = await start(agent);
      await until(started, ({ tasks }) => JSON.stringify(tasks).includes("It is su"));
      expect(model.open).toBe(1);
      const { answer, view, took, state } = await cancelled(started);
      expect(answer).toBe("canceled");
      expect(took).toBeLessThan(1000);
      expect(model.open).toBe(0);
      expect(view.status).toBe("canceled");
      expect(view.output).toMatchObject([
        { type: "reasoning", status: "completed" },
        { type: "message", status: "incomplete", block_list: [{ text: "It is su" }] },
      ]);
      expect(state.tasks[started.id]?.ended).toEqual({ by: "me", reason: "enough" });
    },
  );

  test("while the model speaks counts about what it was told and has said, as an estimate", async () => {
    const words = "It is sunny in Paris and it will stay so. ".repeat(50);
    const { agent } = scriptedAgent([[{ text: [words] }, { wait: never }]]);
    const price = { input: 1, output: 1000 };
    const started = await start(agent, {}, { price: () => price });
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes("sunny"));
    const { state } = await cancelled(started);
    const { usage } = state.tasks[started.id] ?? {};
    expect(usage).toMatchObject({ estimated: true });
    expect(usage?.input_tokens).toBeGreaterThan(0);
    expect(usage?.output_tokens).toBeGreaterThan(words.length / 6);
    expect(usage?.output_tokens).toBeLessThan(words.length / 2);
    expect(usage?.total_tokens).toBe((usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0));
    expect(usage?.cost).toBeGreaterThan(0.1);
  });

  test("before the model has taken the request counts nothing", async () => {
    const silent: Model = {
      async *stream() {
        await never;
        yield [];
      },
    };
    const started = await start(defineAgent({ name: "main", instructions: "", model: silent }));
    await until(started, ({ tasks }) => tasks[started.id]?.round === 1);
    const { state } = await cancelled(started);
    expect(state.tasks[started.id]?.usage.total_tokens).toBe(0);
  });

  test("while the model is in the midst of a call answers the call, which is not run", async () => {
    let ran = 0;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const { agent } = scriptedAgent(
      [[{ call: "send", args: { to: "a" } }, { call: "send", args: { to: "b" } }, { wait: never }]],
      { tools: [tool] },
    );
    const started = await start(agent);
    await until(started, ({ tasks }) => tasks[started.id]?.output.length === 2);
    const { view } = await cancelled(started);
    expect(ran).toBe(0);
    expect(view.output.filter(({ type }) => type === "tool_call")).toHaveLength(2);
    expect(resultsIn(view.output).map(({ outcome }) => outcome)).toEqual(["canceled", "canceled"]);
  });

  test("works on a model that does not listen to its signal", { retry: 2 }, async () => {
    const deaf: Model = {
      async *stream() {
        yield [{ type: "response.created" }];
        await never;
      },
    };
    const started = await start(defineAgent({ name: "main", instructions: "", model: deaf }));
    await until(started, ({ tasks }) => tasks[started.id]?.round === 1);
    const { took, view } = await cancelled(started);
    expect(took).toBeLessThan(1000);
    expect(view.status).toBe("canceled");
  });

  test(
    "tells a running tool by its signal, and takes what it still returns",
    { retry: 2 },
    async () => {
      const tool = defineTool({
        name: "work",
        description: "Works.",
        run: (_input, { signal }) =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve("half of it"))),
      });
      const { agent } = scriptedAgent([[{ call: "work", args: {} }]], { tools: [tool] });
      const started = await start(agent);
      await until(started, runs);
      const { view, took } = await cancelled(started);
      expect(took).toBeLessThan(500);
      expect(resultsIn(view.output)).toMatchObject([
        { status: "completed", block_list: [{ text: "half of it" }] },
      ]);
      expect(view.status).toBe("canceled");
    },
  );

  test(
    "gives up within a second a tool that never returns and ignores its signal",
    { retry: 2 },
    async () => {
      const tool = defineTool({
        name: "hang",
        description: "Hangs.",
        parallel: true,
        run: () => never,
      });
      const last = defineTool({
        name: "last",
        description: "Waits for its turn.",
        run: () => "never begun",
      });
      const { agent } = scriptedAgent(
        [
          [
            { call: "hang", args: {} },
            { call: "hang", args: {} },
            { call: "last", args: {} },
          ],
        ],
        { tools: [tool, last] },
      );
      const started = await start(agent);
      await until(started, ({ tasks }) => tasks[started.id]?.executions.length === 2);
      const { view, took, events } = await cancelled(started);
      expect(took).toBeLessThan(1000);
      expect(resultsIn(view.output).map(({ outcome }) => outcome)).toEqual([
        "canceled",
        "canceled",
        "canceled",
      ]);
      expect(events.filter(({ type }) => type === "task.tool_execution.started")).toHaveLength(2);
    },
  );

  test("what a tool says after it was given up is not heard", async () => {
    let say: (() => void) | undefined;
    const tool = defineTool({
      name: "hang",
      description: "Hangs.",
      run: (_input, context) => {
        say = () => context.progress("still here");
        return never;
      },
    });
    const { agent } = scriptedAgent([[{ call: "hang", args: {} }]], { tools: [tool] });
    const started = await start(agent);
    await until(started, runs);
    const { events } = await cancelled(started);
    say?.();
    expect((await ended(started)).events).toHaveLength(events.length);
  });

  test("reaches the model and the tools of sub-agents, at any depth", { retry: 2 }, async () => {
    const tool = defineTool({
      name: "hang",
      description: "Hangs.",
      parallel: true,
      run: () => never,
    });
    const { agent: speaks, model } = scriptedAgent([[{ text: "I " }, { wait: never }]], {
      name: "speaks",
    });
    const { agent: hangs } = scriptedAgent([[{ call: "hang", args: {} }]], {
      name: "hangs",
      tools: [tool],
    });
    const asks = (name: string) => ({ call: "ask_for_help", args: { name, prompt: "Help." } });
    const { agent: middle } = scriptedAgent([[asks("speaks"), asks("hangs")]], {
      name: "middle",
      agents: [speaks, hangs],
    });
    const { agent } = scriptedAgent([[asks("middle")]], { agents: [middle] });
    const started = await start(agent);
    await until(
      started,
      ({ tasks }) => Object.keys(tasks).length === 4 && JSON.stringify(tasks).includes('"I "'),
    );
    await until(
      started,
      ({ tasks }) =>
        Object.values(tasks).filter(({ executions }) => executions.length > 0).length === 3,
    );
    const { took, state } = await cancelled(started);
    expect(took).toBeLessThan(1000);
    expect(model.open).toBe(0);
    expect(Object.values(state.tasks).map(({ status }) => status)).toEqual(
      Array<string>(4).fill("canceled"),
    );
  });

  test("while a person is asked ends the question too", async () => {
    const tool = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask always",
      run: () => "sent",
    });
    const { agent } = scriptedAgent(
      [
        [
          { call: "send", args: {} },
          { call: "send", args: {} },
        ],
      ],
      { tools: [tool] },
    );
    const started = await start(agent);
    const { approval_id } = await question(started);
    const { view } = await cancelled(started);
    expect(view.status).toBe("canceled");
    expect(view.approvals.every(({ status }) => status === "expired")).toBe(true);
    expect((await started.runtime.decide(approval_id, { decision: "approve", by: "x" })).is).toBe(
      "late",
    );
  });

  test("while a result is held, or the user is asked at a limit, ends that too", async () => {
    const tool = defineTool({
      name: "read",
      description: "Reads.",
      approval: { result: "always" },
      run: () => "secret",
    });
    const { agent } = scriptedAgent([[{ call: "read", args: {} }]], { tools: [tool] });
    const held = await start(agent);
    await question(held);
    expect(JSON.stringify((await cancelled(held)).view)).not.toContain("secret");
    const { agent: limited } = scriptedAgent(() => [{ call: "read", args: {} }], {
      tools: [defineTool({ name: "read", description: "Reads.", run: () => "x" })],
      limits: { rounds: 1 },
      atLimit: "ask",
    });
    const asked = await start(limited);
    await question(asked);
    expect((await cancelled(asked)).view.status).toBe("canceled");
  });

  test("in a sub-agent while it asks a person lets the parent go on", async () => {
    const tool = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask always",
      run: () => "sent",
    });
    const { agent: anna } = scriptedAgent([[{ call: "send", args: {} }]], {
      name: "anna",
      tools: [tool],
    });
    const { agent } = scriptedAgent(
      [
        [{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }],
        [{ text: "So be it." }],
      ],
      {
        agents: [anna],
      },
    );
    const started = await start(agent);
    const { task_id } = await question(started);
    expect(await started.runtime.cancel(task_id, "me")).toBe("canceled");
    expect((await ended(started)).view.status).toBe("completed");
  });

  test("of what has ended, or nobody knows, says so", async () => {
    const { agent } = scriptedAgent([[{ text: "Done." }]]);
    const started = await start(agent);
    await ended(started);
    expect(await started.runtime.cancel(started.id, "me")).toBe("ended");
    expect(await started.runtime.cancel("task_none", "me")).toBe("unknown");
  });

  test("twice at once is once", async () => {
    const { agent } = scriptedAgent([[{ wait: never }]]);
    const started = await start(agent);
    const answers = await Promise.all([
      started.runtime.cancel(started.id, "one"),
      started.runtime.cancel(started.id, "two"),
    ]);
    expect(answers).toEqual(["canceled", "canceled"]);
    expect((await ended(started)).state.tasks[started.id]?.ended).toEqual({ by: "one" });
  });

  test(
    "during a time-out between two attempts does not wait for the second",
    { retry: 2 },
    async () => {
      const { agent } = scriptedAgent([[{ text: "a" }, { cut: true }]]);
      const started = await start(agent);
      await until(started, ({ tasks }) => tasks[started.id]?.output[0]?.type === "retracted");
      const { took, view } = await cancelled(started);
      expect(took).toBeLessThan(300);
      expect(view.output).toEqual([]);
    },
  );
});

test("the signal of runTask cancels, also when it was aborted before", async () => {
  const { agent } = scriptedAgent([[{ wait: never }]]);
  const task = await runTask(agent, "Go.", { signal: AbortSignal.abort() });
  expect((await task.result).status).toBe("canceled");
  const controller = new AbortController();
  const other = await runTask(scriptedAgent([[{ wait: never }]]).agent, "Go.", {
    signal: controller.signal,
  });
  controller.abort();
  expect((await other.result).status).toBe("canceled");
});
