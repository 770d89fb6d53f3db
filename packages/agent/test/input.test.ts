import { defineTool } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  waitForEnd,
  scriptedAgent,
  start,
  readLogText,
  getSentItems,
  waitUntil,
  type StartedTask,
} from "./runtime-fixture.ts";
import type { ScriptedModel } from "./scripted-model.ts";

/** Returns the user's texts in the request of a round. */
const listUserTexts = (model: ScriptedModel, round: number): (string | undefined)[] =>
  getSentItems(model, round)
    .filter(({ role }) => role === "user")
    .map(({ content }) => content?.[0]?.text);

const waitForToolStart = (started: StartedTask) =>
  waitUntil(started, ({ tasks }) => (tasks[started.id]?.executions.length ?? 0) > 0);

/** Creates a tool that runs until the test resolves `toolResult`. */
function createWaitingTool() {
  const toolResult = Promise.withResolvers<string>();
  return {
    toolResult,
    tool: defineTool({ name: "wait", description: "Waits.", run: () => toolResult.promise }),
  };
}

describe("a user message to a running task", () => {
  test('with delivery "steer" is sent in the next round, after the tool results', async () => {
    const { toolResult, tool } = createWaitingTool();
    const { agent, model } = scriptedAgent([[{ call: "wait", args: {} }], [{ text: "Done." }]], {
      tools: [tool],
    });
    const started = await start(agent);
    await waitForToolStart(started);
    expect(await started.runtime.input(started.id, "Hurry!", "steer")).toBe("added");
    toolResult.resolve("waited");
    const { view } = await waitForEnd(started);
    expect(model.requests).toHaveLength(2);
    const types = getSentItems(model, 1).map(({ type }) => type);
    expect(types).toEqual(["message", "function_call", "function_call_output", "message"]);
    expect(listUserTexts(model, 1)).toEqual(["Go.", "Hurry!"]);
    expect(view.status).toBe("completed");
  });

  test('with delivery "queue" is sent after the agent has answered', async () => {
    const { toolResult, tool } = createWaitingTool();
    const { agent, model } = scriptedAgent(
      [[{ call: "wait", args: {} }], [{ text: "Done." }], [{ text: "And more." }]],
      {
        tools: [tool],
      },
    );
    const started = await start(agent);
    await waitForToolStart(started);
    await started.runtime.input(started.id, "And then?", "queue");
    toolResult.resolve("waited");
    const { view } = await waitForEnd(started);
    expect(model.requests).toHaveLength(3);
    expect(listUserTexts(model, 1)).toEqual(["Go."]);
    expect(listUserTexts(model, 2)).toEqual(["Go.", "And then?"]);
    expect(view.output.filter(({ type }) => type === "message")).toHaveLength(2);
  });

  test("that arrives during the final answer is sent in another round", async () => {
    const answerMayEnd = Promise.withResolvers<void>();
    const { agent, model } = scriptedAgent([
      [{ text: "One" }, { wait: answerMayEnd.promise }],
      [{ text: "Two." }],
    ]);
    const started = await start(agent);
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("One"));
    await started.runtime.input(started.id, "More!", "steer");
    answerMayEnd.resolve();
    await waitForEnd(started);
    expect(listUserTexts(model, 1)).toEqual(["Go.", "More!"]);
  });

  test("that arrives during the last round without tools is answered without tools", async () => {
    const answerMayEnd = Promise.withResolvers<void>();
    const { tool, toolResult } = createWaitingTool();
    toolResult.resolve("waited");
    const { agent, model } = scriptedAgent(
      [
        [{ call: "wait", args: {} }],
        [{ text: "Enough" }, { wait: answerMayEnd.promise }],
        [{ text: "You are welcome." }],
      ],
      { tools: [tool], limits: { rounds: 1 } },
    );
    const started = await start(agent);
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("Enough"));
    await started.runtime.input(started.id, "Thanks!", "queue");
    answerMayEnd.resolve();
    const { view } = await waitForEnd(started);
    expect(model.requests.map(({ tool_choice }) => tool_choice)).toEqual(["auto", "none", "none"]);
    expect(JSON.stringify(view)).toContain("You are welcome.");
  });

  test("is logged without the bytes of its images, which the model receives", async () => {
    const { toolResult, tool } = createWaitingTool();
    const { agent, model } = scriptedAgent([[{ call: "wait", args: {} }]], { tools: [tool] });
    const started = await start(agent);
    await waitForToolStart(started);
    const url = "data:image/png;base64,iVBORw0KGgo=";
    await started.runtime.input(started.id, [{ type: "image_url", image_url: { url } }], "steer");
    toolResult.resolve("waited");
    await waitForEnd(started);
    expect(await readLogText(started)).not.toContain("iVBORw0KGgo");
    expect(JSON.stringify(model.requests[1]?.input)).toContain(url);
  });

  test("can be sent to a sub-agent", async () => {
    const { toolResult, tool } = createWaitingTool();
    const { agent: anna, model } = scriptedAgent([[{ call: "wait", args: {} }]], {
      name: "anna",
      tools: [tool],
    });
    const { agent } = scriptedAgent(
      [[{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }]],
      { agents: [anna] },
    );
    const started = await start(agent);
    const state = await waitUntil(started, ({ tasks }) =>
      Object.values(tasks).some(
        ({ info, executions }) => info.depth === 1 && executions.length > 0,
      ),
    );
    const child = Object.keys(state.tasks).find((id) => id !== started.id) ?? "";
    expect(await started.runtime.input(child, "Anna!", "steer")).toBe("added");
    toolResult.resolve("waited");
    await waitForEnd(started);
    expect(listUserTexts(model, 1)).toEqual(["Help.", "Anna!"]);
  });

  test("that is queued is sent after a round without output, and the task then ends", async () => {
    const { toolResult, tool } = createWaitingTool();
    const { agent, model } = scriptedAgent(
      (_request, round) => (round === 0 ? [{ call: "wait", args: {} }] : []),
      { tools: [tool] },
    );
    const started = await start(agent);
    await waitForToolStart(started);
    await started.runtime.input(started.id, "And then?", "queue");
    toolResult.resolve("waited");
    await waitForEnd(started);
    expect(model.requests).toHaveLength(2);
  });
});

test("a user message is not added to an ended or unknown task", async () => {
  const { agent } = scriptedAgent([[{ text: "Done." }]]);
  const started = await start(agent);
  const { events } = await waitForEnd(started);
  expect(await started.runtime.input(started.id, "Hello?", "steer")).toBe("ended");
  expect(await started.runtime.input("task_none", "Hello?", "steer")).toBe("unknown");
  expect((await waitForEnd(started)).events).toHaveLength(events.length);
});

test("the created event of a task contains its input, with URLs instead of bytes, but not its history", async () => {
  const { agent: anna } = scriptedAgent([[{ text: "Here." }]], { name: "anna" });
  const { agent } = scriptedAgent(
    [[{ call: "ask_for_help", args: { name: "anna", prompt: "Look at it." } }]],
    { agents: [anna] },
  );
  const started = await start(agent, {
    input: [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ],
    history: [{ type: "message", role: "user", content: "An old word." }],
    instructions: "A secret rule.",
  });
  const { events } = await waitForEnd(started);
  const createdEvents = events.filter((event) => event.type === "task.created");
  expect(createdEvents.map(({ task }) => task["input"])).toEqual([
    [
      { type: "text", text: "What is this?" },
      {
        type: "image_url",
        image_url: { url: expect.stringMatching(/^\/api\/blobs\/[0-9a-f]{64}$/) as string },
      },
    ],
    [{ type: "text", text: "Look at it." }],
  ]);
  expect(JSON.stringify(createdEvents)).not.toMatch(/An old word|A secret rule/);
});
