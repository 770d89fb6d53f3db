import { defineTool } from "@deltawire/agent";
import { toAnswerTask } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { askForHelpCalls, createHelperAgent } from "../helper-agents.ts";
import {
  waitForEnd,
  scriptedAgent,
  start,
  waitUntil,
  type StartedTask,
} from "../runtime-fixture.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  effect: "pure",
  run: () => {
    const group = {
      type: "text",
      text: "seen",
      id: "a",
      title: "A page",
      url: "https://a.example",
    };
    return { message_content: [group], block_list: [group] };
  },
});

async function waitForAnswerTask(started: StartedTask) {
  const { state } = await waitForEnd(started);
  return toAnswerTask(state);
}

test("references of sub-agents are stored with the task that numbers them", async () => {
  const mainAnswerMayContinue = Promise.withResolvers<void>();
  const last = createHelperAgent("last", [[{ call: "look", args: {} }], [{ text: "There.[^1]" }]], {
    tools: [look],
  });
  const first = createHelperAgent(
    "first",
    [askForHelpCalls("last"), [{ text: "It is there.[^1]" }]],
    { agents: [last] },
  );
  const { agent } = scriptedAgent(
    [askForHelpCalls("first"), [{ wait: mainAnswerMayContinue.promise }, { text: "Yes.[^1]" }]],
    {
      agents: [first],
    },
  );
  const started = await start(agent);
  const state = await waitUntil(started, ({ references }) => references.length === 3);
  const [above, below] = Object.keys(state.tasks).slice(1);
  const child_references = [
    { task_id: below, reference_id: 1, title: "A page", url: "https://a.example" },
    { task_id: above, reference_id: 1, source: { task_id: below, reference_id: 1 } },
  ];
  const references = [{ reference_id: 1, source: { task_id: above, reference_id: 1 } }];
  expect(toAnswerTask(state)).toMatchObject({ references, child_references });
  mainAnswerMayContinue.resolve();
  expect(await waitForAnswerTask(started)).toMatchObject({ references, child_references });
});

test("an answer without sub-agents and further input stores only its own references", async () => {
  const { agent } = scriptedAgent([[{ call: "look", args: {} }], [{ text: "There.[^1]" }]], {
    tools: [look],
  });
  const end = await waitForAnswerTask(await start(agent));
  expect(end.references).toHaveLength(1);
  expect(end).not.toHaveProperty("child_references");
  expect(end).not.toHaveProperty("inputs");
});

test("user messages are at the position where the model received them, regardless of retracted items", async () => {
  const toolResult = Promise.withResolvers<string>();
  const wait = defineTool({ name: "wait", description: "Waits.", run: () => toolResult.promise });
  const { agent } = scriptedAgent(
    [
      [{ reasoning: "Hm." }, { text: "Half" }, { cut: true }],
      [{ call: "wait", args: {} }],
      [{ text: "Done." }],
    ],
    { tools: [wait] },
  );
  const started = await start(agent);
  await waitUntil(started, ({ tasks }) => (tasks[started.id]?.executions.length ?? 0) > 0);
  await started.runtime.input(started.id, "Hurry!", "steer");
  await started.runtime.input(started.id, "Too late.", "queue");
  toolResult.resolve("waited");
  const state = await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("Done."));
  const [taken] = state.tasks[started.id]?.inputs ?? [];
  const { output, inputs = [] } = toAnswerTask(state);
  const index = output.findIndex(({ type }) => type === "tool_result") + 1;
  expect(inputs[0]?.taken_at).toBe(index);
  expect(taken?.taken_at).toBe(index);
  const { inputs: storedInputs, output: allItems } = await waitForAnswerTask(started);
  expect(storedInputs?.map(({ taken_at }) => taken_at)).toEqual([
    index,
    allItems.findIndex(({ type }) => type === "message") + 1,
  ]);
});
