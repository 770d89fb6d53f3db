import { defineTool } from "@deltawire/agent";
import { answerTask } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { help, helper } from "../helpers.ts";
import { ended, scriptedAgent, start, until, type Started } from "../run-kit.ts";

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

async function endOf(started: Started) {
  const { state } = await ended(started);
  return answerTask(state);
}

test("references of sub-agents are kept with the tasks whose numbers they are", async () => {
  const rest = Promise.withResolvers<void>();
  const last = helper("last", [[{ call: "look", args: {} }], [{ text: "There.[^1]" }]], {
    tools: [look],
  });
  const first = helper("first", [help("last"), [{ text: "It is there.[^1]" }]], { agents: [last] });
  const { agent } = scriptedAgent([help("first"), [{ wait: rest.promise }, { text: "Yes.[^1]" }]], {
    agents: [first],
  });
  const started = await start(agent);
  const state = await until(started, ({ references }) => references.length === 3);
  const [above, below] = Object.keys(state.tasks).slice(1);
  const child_references = [
    { task_id: below, reference_id: 1, title: "A page", url: "https://a.example" },
    { task_id: above, reference_id: 1, source: { task_id: below, reference_id: 1 } },
  ];
  const references = [{ reference_id: 1, source: { task_id: above, reference_id: 1 } }];
  expect(answerTask(state)).toMatchObject({ references, child_references });
  rest.resolve();
  expect(await endOf(started)).toMatchObject({ references, child_references });
});

test("an answer without sub-agents that cite has nothing of them", async () => {
  const { agent } = scriptedAgent([[{ call: "look", args: {} }], [{ text: "There.[^1]" }]], {
    tools: [look],
  });
  const end = await endOf(await start(agent));
  expect(end.references).toHaveLength(1);
  expect(end).not.toHaveProperty("child_references");
  expect(end).not.toHaveProperty("inputs");
});

test("what the user said stands where the model heard it, whatever was taken back before", async () => {
  const go = Promise.withResolvers<string>();
  const wait = defineTool({ name: "wait", description: "Waits.", run: () => go.promise });
  const { agent } = scriptedAgent(
    [
      [{ reasoning: "Hm." }, { text: "Half" }, { cut: true }],
      [{ call: "wait", args: {} }],
      [{ text: "Done." }],
    ],
    { tools: [wait] },
  );
  const started = await start(agent);
  await until(started, ({ tasks }) => (tasks[started.id]?.executions.length ?? 0) > 0);
  await started.runtime.input(started.id, "Hurry!", "steer");
  await started.runtime.input(started.id, "Too late.", "queue");
  go.resolve("waited");
  const state = await until(started, ({ tasks }) => JSON.stringify(tasks).includes("Done."));
  const [taken] = state.tasks[started.id]?.inputs ?? [];
  const { output, inputs = [] } = answerTask(state);
  const at = output.findIndex(({ type }) => type === "tool_result") + 1;
  expect(inputs[0]?.taken_at).toBe(at);
  expect(taken?.taken_at).toBe(at);
  const { inputs: kept, output: whole } = await endOf(started);
  expect(kept?.map(({ taken_at }) => taken_at)).toEqual([
    at,
    whole.findIndex(({ type }) => type === "message") + 1,
  ]);
});
