import { defineAgent, defineTool, ModelError } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  ended,
  resultsIn,
  scriptedAgent,
  start,
  toldResults,
  until,
  warningsIn,
} from "./run-kit.ts";
import { help, helper } from "./helpers.ts";
import { scriptedModel } from "./scripted-model.ts";

/** A tool whose result can be cited. */
const look = (name: string) =>
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
  test("is a task of its own in the same log, whose items stand in the parent's result", async () => {
    const { agent } = scriptedAgent([help("anna"), [{ text: "Thanks." }]], {
      agents: [helper("anna", [[{ reasoning: "Hm." }, { text: "Here." }]])],
    });
    const started = await start(agent, { session_id: "chat" });
    const { view, state, events } = await ended(started);
    const [result] = resultsIn(view.output);
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

  test("is heard live, while it still speaks", async () => {
    const rest = Promise.withResolvers<void>();
    const { agent } = scriptedAgent([help("anna")], {
      agents: [
        helper("anna", [
          [{ text: ["One, ", "two, "] }, { wait: rest.promise }, { text: "three." }],
        ]),
      ],
    });
    const started = await start(agent);
    const heard = await until(started, ({ tasks }) => JSON.stringify(tasks).includes("One, two, "));
    expect(heard.tasks[started.id]?.status).toBe("working");
    rest.resolve();
    await ended(started);
  });

  test("is told its prompt and nothing of the conversation", async () => {
    const model = scriptedModel([[{ text: "Yes." }]]);
    const anna = defineAgent({ name: "anna", instructions: "You are anna.", model });
    const { agent } = scriptedAgent([help("anna")], { agents: [anna] });
    await ended(await start(agent, { input: "A secret." }));
    expect(model.asked).toHaveLength(1);
    expect(model.asked[0]?.input).toEqual([
      { type: "message", role: "user", content: [{ type: "input_text", text: "Help, anna." }] },
    ]);
  });

  test("whose name nobody has is an error that lists those there are", async () => {
    const { agent, model } = scriptedAgent([help("otto")], {
      agents: [helper("anna", []), helper("bert", [])],
    });
    const { view } = await ended(await start(agent));
    expect(resultsIn(view.output)[0]?.status).toBe("failed");
    expect(toldResults(model, 1)[0]).toContain("anna, bert");
  });

  test("cites: its groups get the parent's numbers, and the parent's model sees them and the message", async () => {
    const anna = helper(
      "anna",
      [
        [
          { call: "left", args: {} },
          { call: "right", args: {} },
        ],
        [{ text: "Only this.[^2] And [^7]." }],
      ],
      { tools: [look("left"), look("right")] },
    );
    const { agent, model } = scriptedAgent(
      [[{ call: "up", args: {} }], help("anna"), [{ text: "Up [^1], right [^2]." }]],
      { tools: [look("up")], agents: [anna] },
    );
    const { view } = await ended(await start(agent));
    const told = toldResults(model, 2)[1];
    expect(told).toBe(
      "<referencable-item>\nID: 2\nright saw it\n</referencable-item>\nOnly this.[^2] And.",
    );
    expect(view.references).toMatchObject([
      { reference_id: 1 },
      { reference_id: 2, source: { task_id: resultsIn(view.output)[1]?.call_id, reference_id: 2 } },
    ]);
    expect(view.output.at(-1)).toMatchObject({
      block_list: [
        { annotations: [{ reference_id: 1 }, { reference_id: 2, type: "reference_to_block" }] },
      ],
    });
  });

  test("has its own limits", async () => {
    const anna = helper(
      "anna",
      (_request, round) => (round < 2 ? [{ call: "left", args: {} }] : [{ text: "Enough." }]),
      {
        tools: [look("left")],
        limits: { rounds: 2 },
      },
    );
    const { agent } = scriptedAgent([help("anna")], { agents: [anna], limits: { rounds: 5 } });
    const { view, events } = await ended(await start(agent));
    const inside = resultsIn(resultsIn(view.output)[0]?.block_list as never);
    expect(inside.map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(warningsIn(events).map(({ code }) => code)).toContain("limit_reached");
  });

  test("that takes too long expires alone, and the parent goes on", async () => {
    const anna = helper("anna", [[{ text: "I am " }, { wait: new Promise(() => undefined) }]], {
      limits: { seconds: 0.05 },
    });
    const { agent, model } = scriptedAgent([help("anna"), [{ text: "Without her." }]], {
      agents: [anna],
    });
    const { view, state } = await ended(await start(agent));
    expect(view.status).toBe("completed");
    const [result] = resultsIn(view.output);
    expect(result?.outcome).toBe("timeout");
    expect(state.tasks[result?.call_id ?? ""]?.status).toBe("expired");
    expect(toldResults(model, 1)[0]).toContain("did not finish");
    expect(toldResults(model, 1)[0]).toContain("It had said: I am");
  });

  test("is cancelled alone by its id, and the parent goes on", async () => {
    const anna = helper("anna", [[{ wait: new Promise(() => undefined) }]]);
    const { agent } = scriptedAgent([help("anna"), [{ text: "Without her." }]], { agents: [anna] });
    const started = await start(agent);
    const state = await until(started, ({ tasks }) => Object.keys(tasks).length === 2);
    const child = Object.keys(state.tasks).find((id) => id !== started.id) ?? "";
    expect(await started.runtime.cancel(child, "me", "too slow")).toBe("canceled");
    const { view } = await ended(started);
    expect(view.status).toBe("completed");
    expect(resultsIn(view.output)[0]).toMatchObject({ status: "incomplete", outcome: "canceled" });
  });

  test("that fails is a failed call, with what it failed with", async () => {
    const anna = helper("anna", [[{ error: new ModelError("no_money", "the account is empty") }]]);
    const { agent, model } = scriptedAgent([help("anna")], { agents: [anna] });
    const { view } = await ended(await start(agent));
    expect(view.status).toBe("completed");
    expect(resultsIn(view.output)[0]).toMatchObject({ status: "failed", outcome: "failed" });
    expect(toldResults(model, 1)[0]).toContain("the account is empty");
  });

  test("that cannot work, for two of its tools have one name, is a failed call", async () => {
    const { agent, model } = scriptedAgent([help("anna")], {
      agents: [{ ...helper("anna", []), tools: [look("left"), look("left")] }],
    });
    expect((await ended(await start(agent))).view.status).toBe("completed");
    expect(toldResults(model, 1)[0]).toContain("two tools");
  });

  test("costs: the parent knows what all below it used, and its own apart from that", async () => {
    const anna = helper("anna", [[{ call: "left", args: {} }], [{ text: "Here." }]], {
      tools: [look("left")],
    });
    const { agent } = scriptedAgent([help("anna"), [{ text: "Thanks." }]], { agents: [anna] });
    const price = () => ({ input: 1, output: 2 });
    const started = await start(agent, {}, { price });
    const { state, events } = await ended(started);
    const root = state.tasks[started.id];
    expect(root?.usage).toMatchObject({ total_tokens: 30, cost: 40 / 1e6 });
    expect(root?.tree_usage?.total_tokens).toBe(60);
    expect(root?.tree_usage?.cost).toBeCloseTo(80 / 1e6);
    // Known as soon as the helper has ended, and not only after another round.
    const updates = events.flatMap((event) =>
      event.type === "task.usage.updated" && event.task_id === started.id
        ? [event.tree_usage?.total_tokens]
        : [],
    );
    expect(updates).toEqual([15, 45, 60]);
  });

  test("works beside others of the same round", async () => {
    let reached = 0;
    const both = Promise.withResolvers<void>();
    const meets = () => {
      reached += 1;
      if (reached === 2) both.resolve();
      return [{ wait: both.promise }, { text: "Met." }];
    };
    const { agent } = scriptedAgent([help("anna", "bert")], {
      agents: [helper("anna", meets), helper("bert", meets)],
    });
    const { view } = await ended(await start(agent));
    expect(resultsIn(view.output).map(({ status }) => status)).toEqual(["completed", "completed"]);
  });
});
