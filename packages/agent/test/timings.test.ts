import { defineAgent, defineTool, type Model } from "@deltawire/agent";
import { stateHash, validateLog } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { ended, scriptedAgent, start, until } from "./run-kit.ts";

/** A clock that stands until it is told to go on. */
function clock(): { now: () => number; passes: (ms: number) => void } {
  let time = Date.parse("2026-01-01T00:00:00.000Z");
  return { now: () => time, passes: (ms) => void (time += ms) };
}

const reasoningItem = { type: "reasoning", id: "rs_up", summary: [], status: "completed" };
const added: JsonObject = {
  type: "response.output_item.added",
  output_index: 0,
  item: { ...reasoningItem },
};
const thinks = (delta: string): JsonObject => ({
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

function says(...steps: (JsonObject | (() => unknown))[]): Model {
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

const agentOf = (model: Model) => defineAgent({ name: "main", instructions: "Help.", model });

describe("how long was thought", () => {
  test("is from the first word to the end, by the clock of the runtime", async () => {
    const { now, passes } = clock();
    const model = says(
      added,
      () => passes(10_000),
      thinks("Let me "),
      () => passes(1200),
      thinks("think."),
      () => passes(300),
      done("Let me think."),
      completed,
    );
    const { view, events } = await ended(await start(agentOf(model), {}, { now }));
    expect(view.output).toMatchObject([
      { type: "reasoning", summary: [{ text: "Let me think." }], duration_ms: 1500 },
    ]);
    // It is a part of the view, and so of what its hash says.
    expect(events.at(-1)).toMatchObject({ state_hash: stateHash(view) });
  });

  test("is told also where the model was cut off, or a person has stopped it", async () => {
    const { now, passes } = clock();
    const cut = says(added, thinks("Hm"), () => passes(70), {
      type: "response.incomplete",
      response: { usage: null, incomplete_details: { reason: "max_output_tokens" } },
    });
    const { view } = await ended(await start(agentOf(cut), {}, { now }));
    expect(view.output[0]).toMatchObject({ status: "incomplete", duration_ms: 70 });
    const forever = says(
      added,
      thinks("Hm"),
      () => passes(40),
      thinks("m"),
      () => new Promise(() => undefined),
    );
    const started = await start(agentOf(forever), {}, { now });
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes("Hmm"));
    passes(5);
    await started.runtime.cancel(started.id, "user");
    const { view: stopped, events } = await ended(started);
    expect(stopped.output[0]).toMatchObject({ status: "incomplete", duration_ms: 45 });
    expect(validateLog(events, { complete: true })).toBeUndefined();
  });

  test("is not known of a thought that came as a whole", async () => {
    const { view } = await ended(await start(agentOf(says(done("All at once."), completed))));
    expect(view.output[0]).toMatchObject({ summary: [{ text: "All at once." }] });
    expect(view.output[0]).not.toHaveProperty("duration_ms");
  });

  test("is never less than nothing, also where the clock is set back", async () => {
    const { now, passes } = clock();
    const model = says(added, thinks("Hm"), () => passes(-3_600_000), done("Hm"), completed);
    const { view } = await ended(await start(agentOf(model), {}, { now }));
    expect(view.output[0]).toMatchObject({ duration_ms: 0 });
  });
});

test("a run of a tool tells when it began and how long it took, and only its state does", async () => {
  const { now, passes } = clock();
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    effect: "pure",
    run: () => passes(250),
  });
  const { agent } = scriptedAgent([[{ call: "wait", args: {} }], [{ text: "Done." }]], {
    tools: [wait],
  });
  const { state, view } = await ended(await start(agent, {}, { now }));
  const [execution] = state.tasks[state.root_task_id]?.executions ?? [];
  expect(execution).toMatchObject({
    started_at: "2026-01-01T00:00:00.000Z",
    outcome: "completed",
    duration_ms: expect.any(Number),
  });
  expect(JSON.stringify(view)).not.toContain("started_at");
});
