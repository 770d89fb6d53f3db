import { defineTool } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  ended,
  scriptedAgent,
  start,
  textOfLog,
  toldItems,
  until,
  type Started,
} from "./run-kit.ts";
import type { ScriptedModel } from "./scripted-model.ts";

/** What the user has said, as the model heard it in a round. */
const heard = (model: ScriptedModel, round: number): (string | undefined)[] =>
  toldItems(model, round)
    .filter(({ role }) => role === "user")
    .map(({ content }) => content?.[0]?.text);

const running = (started: Started) =>
  until(started, ({ tasks }) => (tasks[started.id]?.executions.length ?? 0) > 0);

/** A tool that waits until it is told to end. */
function waiting() {
  const go = Promise.withResolvers<string>();
  return { go, tool: defineTool({ name: "wait", description: "Waits.", run: () => go.promise }) };
}

describe("a word while the task runs", () => {
  test("to steer it is heard in the next round, behind the results", async () => {
    const { go, tool } = waiting();
    const { agent, model } = scriptedAgent([[{ call: "wait", args: {} }], [{ text: "Done." }]], {
      tools: [tool],
    });
    const started = await start(agent);
    await running(started);
    expect(await started.runtime.input(started.id, "Hurry!", "steer")).toBe("added");
    go.resolve("waited");
    const { view } = await ended(started);
    expect(model.asked).toHaveLength(2);
    const types = toldItems(model, 1).map(({ type }) => type);
    expect(types).toEqual(["message", "function_call", "function_call_output", "message"]);
    expect(heard(model, 1)).toEqual(["Go.", "Hurry!"]);
    expect(view.status).toBe("completed");
  });

  test("that is queued is heard when the agent has answered", async () => {
    const { go, tool } = waiting();
    const { agent, model } = scriptedAgent(
      [[{ call: "wait", args: {} }], [{ text: "Done." }], [{ text: "And more." }]],
      {
        tools: [tool],
      },
    );
    const started = await start(agent);
    await running(started);
    await started.runtime.input(started.id, "And then?", "queue");
    go.resolve("waited");
    const { view } = await ended(started);
    expect(model.asked).toHaveLength(3);
    expect(heard(model, 1)).toEqual(["Go."]);
    expect(heard(model, 2)).toEqual(["Go.", "And then?"]);
    expect(view.output.filter(({ type }) => type === "message")).toHaveLength(2);
  });

  test("that comes while the model gives its last answer is answered too", async () => {
    const rest = Promise.withResolvers<void>();
    const { agent, model } = scriptedAgent([
      [{ text: "One" }, { wait: rest.promise }],
      [{ text: "Two." }],
    ]);
    const started = await start(agent);
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes("One"));
    await started.runtime.input(started.id, "More!", "steer");
    rest.resolve();
    await ended(started);
    expect(heard(model, 1)).toEqual(["Go.", "More!"]);
  });

  test("that comes while the last round without tools is spoken is answered too, without tools", async () => {
    const rest = Promise.withResolvers<void>();
    const { tool, go } = waiting();
    go.resolve("waited");
    const { agent, model } = scriptedAgent(
      [
        [{ call: "wait", args: {} }],
        [{ text: "Enough" }, { wait: rest.promise }],
        [{ text: "You are welcome." }],
      ],
      { tools: [tool], limits: { rounds: 1 } },
    );
    const started = await start(agent);
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes("Enough"));
    await started.runtime.input(started.id, "Thanks!", "queue");
    rest.resolve();
    const { view } = await ended(started);
    expect(model.asked.map(({ tool_choice }) => tool_choice)).toEqual(["auto", "none", "none"]);
    expect(JSON.stringify(view)).toContain("You are welcome.");
  });

  test("keeps its pictures in the store", async () => {
    const { go, tool } = waiting();
    const { agent, model } = scriptedAgent([[{ call: "wait", args: {} }]], { tools: [tool] });
    const started = await start(agent);
    await running(started);
    const url = "data:image/png;base64,iVBORw0KGgo=";
    await started.runtime.input(started.id, [{ type: "image_url", image_url: { url } }], "steer");
    go.resolve("waited");
    await ended(started);
    expect(await textOfLog(started)).not.toContain("iVBORw0KGgo");
    expect(JSON.stringify(model.asked[1]?.input)).toContain(url);
  });

  test("may be said to a sub-agent", async () => {
    const { go, tool } = waiting();
    const { agent: anna, model } = scriptedAgent([[{ call: "wait", args: {} }]], {
      name: "anna",
      tools: [tool],
    });
    const { agent } = scriptedAgent(
      [[{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }]],
      { agents: [anna] },
    );
    const started = await start(agent);
    const state = await until(started, ({ tasks }) =>
      Object.values(tasks).some(
        ({ info, executions }) => info.depth === 1 && executions.length > 0,
      ),
    );
    const child = Object.keys(state.tasks).find((id) => id !== started.id) ?? "";
    expect(await started.runtime.input(child, "Anna!", "steer")).toBe("added");
    go.resolve("waited");
    await ended(started);
    expect(heard(model, 1)).toEqual(["Help.", "Anna!"]);
  });

  test("that waits for the end of a turn in which the model says nothing does not keep the task running", async () => {
    const { go, tool } = waiting();
    const { agent, model } = scriptedAgent(
      (_request, round) => (round === 0 ? [{ call: "wait", args: {} }] : []),
      { tools: [tool] },
    );
    const started = await start(agent);
    await running(started);
    await started.runtime.input(started.id, "And then?", "queue");
    go.resolve("waited");
    await ended(started);
    expect(model.asked).toHaveLength(2);
  });
});

test("after the end, and to a task that nobody knows, it is not added", async () => {
  const { agent } = scriptedAgent([[{ text: "Done." }]]);
  const started = await start(agent);
  const { events } = await ended(started);
  expect(await started.runtime.input(started.id, "Hello?", "steer")).toBe("ended");
  expect(await started.runtime.input("task_none", "Hello?", "steer")).toBe("unknown");
  expect((await ended(started)).events).toHaveLength(events.length);
});

test("what a task was asked is told where it is created, with addresses for bytes, and nothing of what came before", async () => {
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
  const { events } = await ended(started);
  const created = events.filter((event) => event.type === "task.created");
  expect(created.map(({ task }) => task["input"])).toEqual([
    [
      { type: "text", text: "What is this?" },
      {
        type: "image_url",
        image_url: { url: expect.stringMatching(/^\/api\/blobs\/[0-9a-f]{64}$/) as string },
      },
    ],
    [{ type: "text", text: "Look at it." }],
  ]);
  expect(JSON.stringify(created)).not.toMatch(/An old word|A secret rule/);
});
