import { defineAgent, defineTool, ModelError } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  waitForEnd,
  filterResults,
  scriptedAgent,
  start,
  getSentResults,
  waitUntil,
  filterWarnings,
} from "./runtime-fixture.ts";
import { askForHelpCalls, createHelperAgent } from "./helper-agents.ts";
import { scriptedModel } from "./scripted-model.ts";

/** Creates a tool whose result can be cited. */
const createLookTool = (name: string) =>
  defineTool({
    name,
    description: "Looks.",
    effect: "pure",
    run: () => ({
      message_content: [{ type: "text", text: `${name} saw it`, id: name }],
      block_list: [{ type: "text", text: `${name} saw it`, id: name }],
    }),
  });

describe("a sub-agent", () => {
  test("is a task of its own in the same log, and its items are part of the parent's result", async () => {
    const { agent } = scriptedAgent([askForHelpCalls("anna"), [{ text: "Thanks." }]], {
      agents: [createHelperAgent("anna", [[{ reasoning: "Hm." }, { text: "Here." }]])],
    });
    const started = await start(agent, { session_id: "chat" });
    const { view, state, events } = await waitForEnd(started);
    const [result] = filterResults(view.output);
    expect(result?.block_list.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    const child = state.tasks[result?.call_id ?? ""];
    expect(child?.info).toMatchObject({
      parent_task_id: started.id,
      parent_call_id: result?.call_id,
      root_task_id: started.id,
      depth: 1,
      session_id: "chat",
      agent: "anna",
    });
    const call = view.output.find((item) => item.type === "tool_call");
    expect(call).toMatchObject({ child_task_ids: [child?.task_id] });
    const done = events.find(
      (event) => event.type === "task.output_item.done" && event.item.id === result?.id,
    );
    expect(done).not.toHaveProperty("item.block_list");
  });

  test("is visible live while it is answering", async () => {
    const rest = Promise.withResolvers<void>();
    const { agent } = scriptedAgent([askForHelpCalls("anna")], {
      agents: [
        createHelperAgent("anna", [
          [{ text: ["One, ", "two, "] }, { wait: rest.promise }, { text: "three." }],
        ]),
      ],
    });
    const started = await start(agent);
    const live = await waitUntil(started, ({ tasks }) =>
      JSON.stringify(tasks).includes("One, two, "),
    );
    expect(live.tasks[started.id]?.status).toBe("working");
    rest.resolve();
    await waitForEnd(started);
  });

  test("receives its prompt and nothing of the conversation", async () => {
    const model = scriptedModel([[{ text: "Yes." }]]);
    const anna = defineAgent({ name: "anna", instructions: "You are anna.", model });
    const { agent } = scriptedAgent([askForHelpCalls("anna")], { agents: [anna] });
    await waitForEnd(await start(agent, { input: "A secret." }));
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]?.input).toEqual([
      { type: "message", role: "user", content: [{ type: "input_text", text: "Help, anna." }] },
    ]);
  });

  test("with an unknown name causes an error that lists the available ones", async () => {
    const { agent, model } = scriptedAgent([askForHelpCalls("otto")], {
      agents: [createHelperAgent("anna", []), createHelperAgent("bert", [])],
    });
    const { view } = await waitForEnd(await start(agent));
    expect(filterResults(view.output)[0]?.status).toBe("failed");
    expect(getSentResults(model, 1)[0]).toContain("anna, bert");
  });

  test.each([
    [{ prompt: "Help." }, "name: expected the name of an agent; available: anna"],
    [{ name: "anna", prompt: "Help.", description: 5 }, "description: expected a string"],
  ])("called with invalid arguments causes an error: %j", async (args, problem) => {
    const { agent, model } = scriptedAgent(
      [[{ call: "ask_for_help", args }], [{ text: "I see." }]],
      { agents: [createHelperAgent("anna", [])] },
    );
    await waitForEnd(await start(agent));
    expect(getSentResults(model, 1)[0]).toContain(problem);
  });

  test("may cite: its groups are renumbered, and the parent's model receives them with the message", async () => {
    const anna = createHelperAgent(
      "anna",
      [
        [
          { call: "left", args: {} },
          { call: "right", args: {} },
        ],
        [{ text: "Only this.[^2] And [^7]." }],
      ],
      { tools: [createLookTool("left"), createLookTool("right")] },
    );
    const { agent, model } = scriptedAgent(
      [[{ call: "up", args: {} }], askForHelpCalls("anna"), [{ text: "Up [^1], right [^2]." }]],
      { tools: [createLookTool("up")], agents: [anna] },
    );
    const { view } = await waitForEnd(await start(agent));
    const resultText = getSentResults(model, 2)[1];
    expect(resultText).toBe(
      "<referencable-item>\nID: 2\nright saw it\n</referencable-item>\nOnly this.[^2] And.",
    );
    expect(view.references).toMatchObject([
      { reference_id: 1 },
      {
        reference_id: 2,
        source: { task_id: filterResults(view.output)[1]?.call_id, reference_id: 2 },
      },
    ]);
    expect(view.output.at(-1)).toMatchObject({
      block_list: [
        { annotations: [{ reference_id: 1 }, { reference_id: 2, type: "reference_to_block" }] },
      ],
    });
  });

  test("has its own limits", async () => {
    const anna = createHelperAgent(
      "anna",
      (_request, round) => (round < 2 ? [{ call: "left", args: {} }] : [{ text: "Enough." }]),
      {
        tools: [createLookTool("left")],
        limits: { rounds: 2 },
      },
    );
    const { agent } = scriptedAgent([askForHelpCalls("anna")], {
      agents: [anna],
      limits: { rounds: 5 },
    });
    const { view, events } = await waitForEnd(await start(agent));
    const inside = filterResults(filterResults(view.output)[0]?.block_list as never);
    expect(inside.map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(filterWarnings(events).map(({ code }) => code)).toContain("limit_reached");
  });

  test("that exceeds its time limit expires alone, and the parent continues", async () => {
    const anna = createHelperAgent(
      "anna",
      [[{ text: "I am " }, { wait: new Promise(() => undefined) }]],
      {
        limits: { seconds: 0.05 },
      },
    );
    const { agent, model } = scriptedAgent([askForHelpCalls("anna"), [{ text: "Without her." }]], {
      agents: [anna],
    });
    const { view, state } = await waitForEnd(await start(agent));
    expect(view.status).toBe("completed");
    const [result] = filterResults(view.output);
    expect(result?.outcome).toBe("timeout");
    expect(state.tasks[result?.call_id ?? ""]?.status).toBe("expired");
    expect(getSentResults(model, 1)[0]).toContain("did not finish");
    expect(getSentResults(model, 1)[0]).toContain("Its last message: I am");
  });

  test("can be canceled alone by its id, and the parent continues", async () => {
    const anna = createHelperAgent("anna", [[{ wait: new Promise(() => undefined) }]]);
    const { agent } = scriptedAgent([askForHelpCalls("anna"), [{ text: "Without her." }]], {
      agents: [anna],
    });
    const started = await start(agent);
    const state = await waitUntil(started, ({ tasks }) => Object.keys(tasks).length === 2);
    const child = Object.keys(state.tasks).find((id) => id !== started.id) ?? "";
    expect(await started.runtime.cancel(child, "me", "too slow")).toBe("canceled");
    const { view } = await waitForEnd(started);
    expect(view.status).toBe("completed");
    expect(filterResults(view.output)[0]).toMatchObject({
      status: "incomplete",
      outcome: "canceled",
    });
  });

  test("that fails results in a failed call with its error", async () => {
    const anna = createHelperAgent("anna", [
      [{ error: new ModelError("no_money", "the account is empty") }],
    ]);
    const { agent, model } = scriptedAgent([askForHelpCalls("anna")], { agents: [anna] });
    const { view } = await waitForEnd(await start(agent));
    expect(view.status).toBe("completed");
    expect(filterResults(view.output)[0]).toMatchObject({ status: "failed", outcome: "failed" });
    expect(getSentResults(model, 1)[0]).toContain("the account is empty");
  });

  test("that is invalid, for example with two tools of the same name, results in a failed call", async () => {
    const { agent, model } = scriptedAgent([askForHelpCalls("anna")], {
      agents: [
        {
          ...createHelperAgent("anna", []),
          tools: [createLookTool("left"), createLookTool("left")],
        },
      ],
    });
    expect((await waitForEnd(await start(agent))).view.status).toBe("completed");
    expect(getSentResults(model, 1)[0]).toContain("two tools");
  });

  test("counts towards the tree usage of its parent, but not towards the parent's own usage", async () => {
    const anna = createHelperAgent("anna", [[{ call: "left", args: {} }], [{ text: "Here." }]], {
      tools: [createLookTool("left")],
    });
    const { agent } = scriptedAgent([askForHelpCalls("anna"), [{ text: "Thanks." }]], {
      agents: [anna],
    });
    const getPrice = () => ({ input: 1, output: 2 });
    const started = await start(agent, {}, { getPrice });
    const { state, events } = await waitForEnd(started);
    const root = state.tasks[started.id];
    expect(root?.usage).toMatchObject({ total_tokens: 30, cost: 40 / 1e6 });
    expect(root?.tree_usage?.total_tokens).toBe(60);
    expect(root?.tree_usage?.cost).toBeCloseTo(80 / 1e6);
    // Updated as soon as the sub-agent has ended, before the next round.
    const updates = events.flatMap((event) =>
      event.type === "task.usage.updated" && event.task_id === started.id
        ? [event.tree_usage?.total_tokens]
        : [],
    );
    expect(updates).toEqual([15, 45, 60]);
  });

  test("runs in parallel with others of the same round", async () => {
    let reached = 0;
    const both = Promise.withResolvers<void>();
    const waitForBoth = () => {
      reached += 1;
      if (reached === 2) both.resolve();
      return [{ wait: both.promise }, { text: "Met." }];
    };
    const { agent } = scriptedAgent([askForHelpCalls("anna", "bert")], {
      agents: [createHelperAgent("anna", waitForBoth), createHelperAgent("bert", waitForBoth)],
    });
    const { view } = await waitForEnd(await start(agent));
    expect(filterResults(view.output).map(({ status }) => status)).toEqual([
      "completed",
      "completed",
    ]);
  });
});
