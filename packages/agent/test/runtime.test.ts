import { defineAgent, defineTool, runTask } from "@deltawire/agent";
import { validateLog, type TaskEvent, type TaskView } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scriptedModel, type ScriptStep } from "./scripted-model.ts";

const weather = defineTool({
  name: "get_weather",
  description: "The weather of a place.",
  input: z.object({ location: z.string() }),
  effect: "pure",
  run: ({ location }) => ({
    message_content: [{ type: "text", text: `15C in ${location}`, id: "w" }],
    block_list: [{ type: "text", text: `15C in ${location}`, id: "w" }],
  }),
});

async function runToEnd(
  script: Parameters<typeof scriptedModel>[0],
  overrides: Partial<Parameters<typeof defineAgent>[0]> = {},
): Promise<{ view: TaskView; events: TaskEvent[]; model: ReturnType<typeof scriptedModel> }> {
  const model = scriptedModel(script);
  const agent = defineAgent({
    name: "main",
    instructions: "Help.",
    model,
    tools: [weather],
    ...overrides,
  });
  const task = await runTask(agent, "What is the weather in Paris?");
  const events: TaskEvent[] = [];
  for await (const event of task) events.push(event);
  const view = await task.result;
  expect(validateLog(events, { complete: true })).toBeUndefined();
  return { view, events, model };
}

describe("an agent", () => {
  test("calls a tool, gets its result and answers with a citation", async () => {
    const { view, model } = await runToEnd([
      [{ reasoning: "Thinking." }, { call: "get_weather", args: { location: "Paris" } }],
      [{ text: ["It is 15C", ".[^", "1]"] }],
    ]);
    expect(view.status).toBe("completed");
    expect(view.output.map(({ type }) => type)).toEqual([
      "reasoning",
      "tool_call",
      "tool_result",
      "message",
    ]);
    expect(view.output[3]).toMatchObject({
      block_list: [
        {
          text: "It is 15C.[^1]",
          annotations: [{ reference_id: 1, start_index: 10, end_index: 14 }],
        },
      ],
    });
    expect(model.requests[1]?.input).toMatchObject([
      { role: "user" },
      { type: "reasoning" },
      { type: "function_call", name: "get_weather", call_id: "provider_call_0" },
      { type: "function_call_output", call_id: "provider_call_0" },
    ]);
  });

  test("continues after calls with the finish reason stop, repeated ids, an unknown tool or incomplete JSON", async () => {
    const rounds: ScriptStep[][] = [
      [{ call: "get_weather", args: { location: "A" }, id: "same_id_1" }, { finish: "stop" }],
      [{ call: "get_weather", args: { location: "B" }, id: "same_id_1" }, { finish: "stop" }],
      [{ call: "nonsense", args: {} }],
      [{ call: "get_weather", args: {}, raw: '{"location": "C' }],
      [{ call: "get_weather", args: { place: 1 } }],
      [{ text: "Enough.[^9]" }],
    ];
    const { view } = await runToEnd(rounds);
    expect(view.status).toBe("completed");
    const results = view.output.filter((item) => item.type === "tool_result");
    expect(results.map(({ status }) => status)).toEqual([
      "completed",
      "completed",
      "failed",
      "incomplete",
      "failed",
    ]);
    const calls = view.output.flatMap((item) => (item.type === "tool_call" ? [item.call_id] : []));
    expect(new Set(calls).size).toBe(calls.length);
    expect(view.output.at(-1)).toMatchObject({
      block_list: [{ annotations: [{ type: "unresolved_reference" }] }],
    });
  });

  test("answers without tools once its limit of rounds is reached", async () => {
    const { view, model } = await runToEnd(
      (_request, round) =>
        round < 3 ? [{ call: "get_weather", args: { location: "X" } }] : [{ text: "That is all." }],
      { limits: { rounds: 3 } },
    );
    expect(model.requests).toHaveLength(4);
    expect(model.requests[3]?.tool_choice).toBe("none");
    const results = view.output.filter((item) => item.type === "tool_result");
    expect(results.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(view.status).toBe("completed");
  });

  test("retracts the output of a truncated stream and retries", async () => {
    const { view, events } = await runToEnd([
      [{ text: ["It is ", "su"] }, { cut: true }],
      [{ text: "It is sunny." }],
    ]);
    expect(view.output).toHaveLength(1);
    expect(events.some(({ type }) => type === "task.output_item.retracted")).toBe(true);
  });
});
