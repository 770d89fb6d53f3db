import { defineAgent, type Agent } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  decide,
  waitForEnd,
  waitForApproval,
  recoverTask,
  filterResults,
  scriptedAgent,
  start,
  getSentResults,
  type StartedTask,
} from "./runtime-fixture.ts";
import { scriptedModel, type ScriptedModel } from "./scripted-model.ts";

const findings = "What anna found.";

/** An agent that asks anna once, and then answers. */
function createCaller(helpApproval: Agent["helpApproval"]): { agent: Agent; model: ScriptedModel } {
  const anna = defineAgent({
    name: "anna",
    instructions: "",
    model: scriptedModel([[{ text: findings }]]),
  });
  return scriptedAgent(
    ({ input }) =>
      JSON.stringify(input).includes("function_call_output")
        ? [{ text: "Done." }]
        : [{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }],
    { agents: [anna], helpApproval },
  );
}

describe("an approval is requested", () => {
  test("before a sub-agent is called, if the agent's policy requires it", async () => {
    const { agent, model } = createCaller({ call: "ask_always", result: "never" });
    const started = await start(agent);
    expect(await waitForApproval(started)).toMatchObject({ kind: "call", tool: "ask_for_help" });
    await decide(started, { decision: "deny", reason: "not her" });
    const { state } = await waitForEnd(started);
    expect(Object.keys(state.tasks)).toEqual([started.id]);
    expect(getSentResults(model, 1)).toEqual(["The user denied this call: not her"]);
  });

  const held = { call: "auto", result: "always" } as const;

  test("before the model receives a sub-agent's answer, which users can already see", async () => {
    const { agent, model } = createCaller(held);
    const started = await start(agent);
    expect(await waitForApproval(started)).toMatchObject({ kind: "result", tool: "ask_for_help" });
    await decide(started, { decision: "redact", replacement: "She found something." });
    const { view } = await waitForEnd(started);
    expect(getSentResults(model, 1)).toEqual(["She found something."]);
    expect(JSON.stringify(filterResults(view.output))).toContain(findings);
  });

  test.each([
    ["approve", findings],
    ["deny", "The call was run, but the user withheld its result."],
  ] as const)("and the answer waits through a crash: %s", async (decision, expected) => {
    const left: StartedTask = await start(createCaller(held).agent);
    await waitForApproval(left);
    await left.runtime.close();
    const { agent, model } = createCaller(held);
    const next = await recoverTask(agent, left);
    await decide(next, { decision });
    await waitForEnd(next);
    expect(getSentResults(model, 0)).toEqual([expected]);
  });
});
