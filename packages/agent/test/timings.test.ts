import { defineAgent, defineTool, type Model } from "@deltawire/agent";
import { computeStateHash, validateLog } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { waitForEnd, scriptedAgent, start, waitUntil } from "./runtime-fixture.ts";

/** Creates a clock that advances only when the test calls `advance`. */
function createClock(): { now: () => number; advance: (ms: number) => void } {
  let time = Date.parse("2026-01-01T00:00:00.000Z");
  return { now: () => time, advance: (ms) => void (time += ms) };
}

const reasoningItem = { type: "reasoning", id: "rs_up", summary: [], status: "completed" };
const added: JsonObject = {
  type: "response.output_item.added",
  output_index: 0,
  item: { ...reasoningItem },
};
const reasoningDelta = (delta: string): JsonObject => ({
  type: "response.reasoning_summary_text.delta",
  item_id: "rs_up",
  output_index: 0,
  summary_index: 0,
  delta,
});
const done = (text: string): JsonObject => ({
  type: "response.output_item.done",
  output_index: 0,
  item: { ...reasoningItem, summary: [{ type: "summary_text", text }] },
});
const completed: JsonObject = { type: "response.completed", response: { usage: null } };

function createStreamingModel(...steps: (JsonObject | (() => unknown))[]): Model {
  return {
    async *stream(_request, signal) {
      for (const step of steps) {
        if (typeof step === "function") await step();
        else yield [step];
        signal.throwIfAborted();
      }
    },
  };
}

const createAgent = (model: Model) => defineAgent({ name: "main", instructions: "Help.", model });

describe("the duration of reasoning", () => {
  test("is measured from the first delta to the end, by the clock of the runtime", async () => {
    const { now, advance } = createClock();
    const model = createStreamingModel(
      added,
      () => advance(10_000),
      reasoningDelta("Let me "),
      () => advance(1200),
      reasoningDelta("think."),
      () => advance(300),
      done("Let me think."),
      completed,
    );
    const { view, events } = await waitForEnd(await start(createAgent(model), {}, { now }));
    expect(view.output).toMatchObject([
      { type: "reasoning", summary: [{ text: "Let me think." }], duration_ms: 1500 },
    ]);
    // The duration is part of the view and therefore of its hash.
    expect(events.at(-1)).toMatchObject({ state_hash: computeStateHash(view) });
  });

  test("is recorded even if the reply is incomplete or a user stops the task", async () => {
    const { now, advance } = createClock();
    const cut = createStreamingModel(added, reasoningDelta("Hm"), () => advance(70), {
      type: "response.incomplete",
      response: { usage: null, incomplete_details: { reason: "max_output_tokens" } },
    });
    const { view } = await waitForEnd(await start(createAgent(cut), {}, { now }));
    expect(view.output[0]).toMatchObject({ status: "incomplete", duration_ms: 70 });
    const endlessModel = createStreamingModel(
      added,
      reasoningDelta("Hm"),
      () => advance(40),
      reasoningDelta("m"),
      () => new Promise(() => undefined),
    );
    const started = await start(createAgent(endlessModel), {}, { now });
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("Hmm"));
    advance(5);
    await started.runtime.cancel(started.id, "user");
    const { view: stopped, events } = await waitForEnd(started);
    expect(stopped.output[0]).toMatchObject({ status: "incomplete", duration_ms: 45 });
    expect(validateLog(events, { complete: true })).toBeUndefined();
  });

  test("is unknown for reasoning that arrived in one piece", async () => {
    const { view } = await waitForEnd(
      await start(createAgent(createStreamingModel(done("All at once."), completed))),
    );
    expect(view.output[0]).toMatchObject({ summary: [{ text: "All at once." }] });
    expect(view.output[0]).not.toHaveProperty("duration_ms");
  });

  test("is never negative, even if the clock is set back", async () => {
    const { now, advance } = createClock();
    const model = createStreamingModel(
      added,
      reasoningDelta("Hm"),
      () => advance(-3_600_000),
      done("Hm"),
      completed,
    );
    const { view } = await waitForEnd(await start(createAgent(model), {}, { now }));
    expect(view.output[0]).toMatchObject({ duration_ms: 0 });
  });
});

test("the state has the start time and the duration of an execution, and the view has no start time", async () => {
  const { now, advance } = createClock();
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    effect: "pure",
    run: () => advance(250),
  });
  const { agent } = scriptedAgent([[{ call: "wait", args: {} }], [{ text: "Done." }]], {
    tools: [wait],
  });
  const { state, view } = await waitForEnd(await start(agent, {}, { now }));
  const [execution] = state.tasks[state.root_task_id]?.executions ?? [];
  expect(execution).toMatchObject({
    started_at: "2026-01-01T00:00:00.000Z",
    outcome: "completed",
    duration_ms: expect.any(Number),
  });
  expect(JSON.stringify(view)).not.toContain("started_at");
});
