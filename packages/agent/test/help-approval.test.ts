import { defineAgent, type Agent } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  decide,
  ended,
  question,
  recovered,
  resultsIn,
  scriptedAgent,
  start,
  toldResults,
  type Started,
} from "./run-kit.ts";
import { scriptedModel, type ScriptedModel } from "./scripted-model.ts";

const said = "What anna found.";

/** An agent that asks anna once, and then answers. */
function asking(helpApproval: Agent["helpApproval"]): { agent: Agent; model: ScriptedModel } {
  const anna = defineAgent({
    name: "anna",
    instructions: "",
    model: scriptedModel([[{ text: said }]]),
  });
  return scriptedAgent(
    ({ input }) =>
      JSON.stringify(input).includes("function_call_output")
        ? [{ text: "Done." }]
        : [{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }],
    { agents: [anna], helpApproval },
  );
}

describe("a person is asked", () => {
  test("before another agent is, where the agent says so", async () => {
    const { agent, model } = asking({ call: "ask always", result: "never" });
    const started = await start(agent);
    expect(await question(started)).toMatchObject({ kind: "call", tool: "ask_for_help" });
    await decide(started, { decision: "deny", reason: "not her" });
    const { state } = await ended(started);
    expect(Object.keys(state.tasks)).toEqual([started.id]);
    expect(toldResults(model, 1)).toEqual(["The user refused this call: not her"]);
  });

  const held = { call: "auto", result: "always" } as const;

  test("before its answer is told on; what people see of it stays", async () => {
    const { agent, model } = asking(held);
    const started = await start(agent);
    expect(await question(started)).toMatchObject({ kind: "result", tool: "ask_for_help" });
    await decide(started, { decision: "redact", replacement: "She found something." });
    const { view } = await ended(started);
    expect(toldResults(model, 1)).toEqual(["She found something."]);
    expect(JSON.stringify(resultsIn(view.output))).toContain(said);
  });

  test.each([
    ["approve", said],
    ["deny", "The call was run, but the user does not show you its result."],
  ] as const)("and the answer waits through a crash: %s", async (decision, told) => {
    const left: Started = await start(asking(held).agent);
    await question(left);
    await left.runtime.close();
    const { agent, model } = asking(held);
    const next = await recovered(agent, left);
    await decide(next, { decision });
    await ended(next);
    expect(toldResults(model, 0)).toEqual([told]);
  });
});
