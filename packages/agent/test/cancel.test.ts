import { defineAgent, defineTool, runTask, type Model } from "@deltawire/agent";
import type { TaskTree } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  waitForEnd,
  waitForApproval,
  filterResults,
  scriptedAgent,
  start,
  waitUntil,
  type StartedTask,
} from "./runtime-fixture.ts";

const never = new Promise<never>(() => undefined);

/** Cancels a task and measures how long that takes. */
async function cancelAndMeasure(started: StartedTask, id = started.id) {
  const began = performance.now();
  const answer = await started.runtime.cancel(id, "me", "enough");
  const durationMs = performance.now() - began;
  return { answer, durationMs, ...(await waitForEnd(started)) };
}

const isToolRunning = ({ tasks }: TaskTree): boolean =>
  Object.values(tasks).some(({ executions }) => executions.length > 0);

describe("canceling a task", () => {
  test(
    "during a reply closes the connection and retains the partial text as incomplete",
    { retry: 2 },
    async () => {
      const { agent, model } = scriptedAgent([
        [{ reasoning: "Hm." }, { text: ["It is ", "su"] }, { wait: never }],
      ]);
      const started = await start(agent);
      await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("It is su"));
      expect(model.openStreams).toBe(1);
      const { answer, view, durationMs, state } = await cancelAndMeasure(started);
      expect(answer).toBe("canceled");
      expect(durationMs).toBeLessThan(1000);
      expect(model.openStreams).toBe(0);
      expect(view.status).toBe("canceled");
      expect(view.output).toMatchObject([
        { type: "reasoning", status: "completed" },
        { type: "message", status: "incomplete", block_list: [{ text: "It is su" }] },
      ]);
      expect(state.tasks[started.id]?.ended).toEqual({ by: "me", reason: "enough" });
    },
  );

  test("during a reply counts an estimate of the input and of the partial output", async () => {
    const words = "It is sunny in Paris and it will stay so. ".repeat(50);
    const { agent } = scriptedAgent([[{ text: [words] }, { wait: never }]]);
    const price = { input: 1, output: 1000 };
    const started = await start(agent, {}, { getPrice: () => price });
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("sunny"));
    const { state } = await cancelAndMeasure(started);
    const { usage } = state.tasks[started.id] ?? {};
    expect(usage).toMatchObject({ estimated: true });
    expect(usage?.input_tokens).toBeGreaterThan(0);
    expect(usage?.output_tokens).toBeGreaterThan(words.length / 6);
    expect(usage?.output_tokens).toBeLessThan(words.length / 2);
    expect(usage?.total_tokens).toBe((usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0));
    expect(usage?.cost).toBeGreaterThan(0.1);
  });

  test("before the model has accepted its request counts no usage", async () => {
    const silent: Model = {
      async *stream() {
        await never;
        yield [];
      },
    };
    const started = await start(defineAgent({ name: "main", instructions: "", model: silent }));
    await waitUntil(started, ({ tasks }) => tasks[started.id]?.round === 1);
    const { state } = await cancelAndMeasure(started);
    expect(state.tasks[started.id]?.usage.total_tokens).toBe(0);
  });

  test("during a streamed tool call writes a result for the call without running it", async () => {
    let ran = 0;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const { agent } = scriptedAgent(
      [[{ call: "send", args: { to: "a" } }, { call: "send", args: { to: "b" } }, { wait: never }]],
      { tools: [tool] },
    );
    const started = await start(agent);
    await waitUntil(started, ({ tasks }) => tasks[started.id]?.output.length === 2);
    const { view } = await cancelAndMeasure(started);
    expect(ran).toBe(0);
    expect(view.output.filter(({ type }) => type === "tool_call")).toHaveLength(2);
    expect(filterResults(view.output).map(({ outcome }) => outcome)).toEqual([
      "canceled",
      "canceled",
    ]);
  });

  test("works with a model that ignores its signal", { retry: 2 }, async () => {
    const deaf: Model = {
      async *stream() {
        yield [{ type: "response.created" }];
        await never;
      },
    };
    const started = await start(defineAgent({ name: "main", instructions: "", model: deaf }));
    await waitUntil(started, ({ tasks }) => tasks[started.id]?.round === 1);
    const { durationMs, view } = await cancelAndMeasure(started);
    expect(durationMs).toBeLessThan(1000);
    expect(view.status).toBe("canceled");
  });

  test(
    "aborts the signal of a running tool and uses what the tool still returns",
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
      await waitUntil(started, isToolRunning);
      const { view, durationMs } = await cancelAndMeasure(started);
      expect(durationMs).toBeLessThan(500);
      expect(filterResults(view.output)).toMatchObject([
        { status: "completed", block_list: [{ text: "half of it" }] },
      ]);
      expect(view.status).toBe("canceled");
    },
  );

  test(
    "stops waiting within a second for a tool that ignores its signal",
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
      await waitUntil(started, ({ tasks }) => tasks[started.id]?.executions.length === 2);
      const { view, durationMs, events } = await cancelAndMeasure(started);
      expect(durationMs).toBeLessThan(1000);
      expect(filterResults(view.output).map(({ outcome }) => outcome)).toEqual([
        "canceled",
        "canceled",
        "canceled",
      ]);
      expect(events.filter(({ type }) => type === "task.tool_execution.started")).toHaveLength(2);
    },
  );

  test("ignores the progress of a tool that was abandoned", async () => {
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
    await waitUntil(started, isToolRunning);
    const { events } = await cancelAndMeasure(started);
    say?.();
    expect((await waitForEnd(started)).events).toHaveLength(events.length);
  });

  test("reaches the models and tools of sub-agents at any depth", { retry: 2 }, async () => {
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
    await waitUntil(
      started,
      ({ tasks }) => Object.keys(tasks).length === 4 && JSON.stringify(tasks).includes('"I "'),
    );
    await waitUntil(
      started,
      ({ tasks }) =>
        Object.values(tasks).filter(({ executions }) => executions.length > 0).length === 3,
    );
    const { durationMs, state } = await cancelAndMeasure(started);
    expect(durationMs).toBeLessThan(1000);
    expect(model.openStreams).toBe(0);
    expect(Object.values(state.tasks).map(({ status }) => status)).toEqual(
      Array<string>(4).fill("canceled"),
    );
  });

  test("while an approval is pending expires the approval", async () => {
    const tool = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask_always",
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
    const { approval_id } = await waitForApproval(started);
    const { view } = await cancelAndMeasure(started);
    expect(view.status).toBe("canceled");
    expect(view.approvals.every(({ status }) => status === "expired")).toBe(true);
    expect((await started.runtime.decide(approval_id, { decision: "approve", by: "x" })).type).toBe(
      "superseded",
    );
  });

  test("expires the approval of a held result, and the question whether to continue at a limit", async () => {
    const tool = defineTool({
      name: "read",
      description: "Reads.",
      approval: { result: "always" },
      run: () => "secret",
    });
    const { agent } = scriptedAgent([[{ call: "read", args: {} }]], { tools: [tool] });
    const held = await start(agent);
    await waitForApproval(held);
    expect(JSON.stringify((await cancelAndMeasure(held)).view)).not.toContain("secret");
    const { agent: limited } = scriptedAgent(() => [{ call: "read", args: {} }], {
      tools: [defineTool({ name: "read", description: "Reads.", run: () => "x" })],
      limits: { rounds: 1 },
      atLimit: "ask",
    });
    const limitedTask = await start(limited);
    await waitForApproval(limitedTask);
    expect((await cancelAndMeasure(limitedTask)).view.status).toBe("canceled");
  });

  test("of a sub-agent with a pending approval lets the parent continue", async () => {
    const tool = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask_always",
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
    const { task_id } = await waitForApproval(started);
    expect(await started.runtime.cancel(task_id, "me")).toBe("canceled");
    expect((await waitForEnd(started)).view.status).toBe("completed");
  });

  test('returns "ended" or "unknown" if it has ended or does not exist', async () => {
    const { agent } = scriptedAgent([[{ text: "Done." }]]);
    const started = await start(agent);
    await waitForEnd(started);
    expect(await started.runtime.cancel(started.id, "me")).toBe("ended");
    expect(await started.runtime.cancel("task_none", "me")).toBe("unknown");
  });

  test("twice at the same time cancels it once", async () => {
    const { agent } = scriptedAgent([[{ wait: never }]]);
    const started = await start(agent);
    const answers = await Promise.all([
      started.runtime.cancel(started.id, "one"),
      started.runtime.cancel(started.id, "two"),
    ]);
    expect(answers).toEqual(["canceled", "canceled"]);
    expect((await waitForEnd(started)).state.tasks[started.id]?.ended).toEqual({ by: "one" });
  });

  test("during the delay before a retry does not wait for the retry", { retry: 2 }, async () => {
    const { agent } = scriptedAgent([[{ text: "a" }, { cut: true }]]);
    const started = await start(agent);
    await waitUntil(started, ({ tasks }) => tasks[started.id]?.output[0]?.type === "retracted");
    const { durationMs, view } = await cancelAndMeasure(started);
    expect(durationMs).toBeLessThan(300);
    expect(view.output).toEqual([]);
  });
});

test("the signal of runTask cancels the task, even if it was aborted before the start", async () => {
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
