import { defineTool, type ResultPolicy } from "@deltawire/agent";
import { expect, test } from "vitest";
import {
  decide,
  waitForEnd,
  waitForApproval,
  scriptedAgent,
  start,
  getSentResults,
} from "./runtime-fixture.ts";

const script = [[{ call: "read", args: {} }], [{ text: "Done." }]];
const throwError = (): never => {
  throw new Error("no such page");
};

function createAgent(
  resultApproval: ResultPolicy | undefined,
  run: () => unknown,
  toolPolicy?: ResultPolicy,
) {
  const read = defineTool({
    name: "read",
    description: "Reads.",
    ...(toolPolicy === undefined ? {} : { approval: { result: toolPolicy } }),
    run,
  });
  return scriptedAgent(script, {
    tools: [read],
    ...(resultApproval === undefined ? {} : { resultApproval }),
  });
}

test("failures of a tool without a result policy are held if its agent's policy is on_error", async () => {
  const { agent, model } = createAgent("on_error", throwError);
  const started = await start(agent);
  expect(await waitForApproval(started)).toMatchObject({ kind: "result", tool: "read" });
  await decide(started, { decision: "redact", replacement: "try another" });
  await waitForEnd(started);
  expect(getSentResults(model, 1)).toEqual(["try another"]);
});

test.each<[string, ResultPolicy | undefined, () => unknown, ResultPolicy | undefined]>([
  ["a failure if neither the agent nor the tool has a policy", undefined, throwError, undefined],
  ['a success if the agent\'s policy is "on_error"', "on_error", () => "fine", undefined],
  [
    'a failure if the agent\'s policy is "on_error" and the tool\'s is "never"',
    "on_error",
    throwError,
    "never",
  ],
  [
    'a success if the agent\'s policy is "always" and the tool\'s is "never"',
    "always",
    () => "fine",
    "never",
  ],
])("results are not held: %s", async (_case, agentPolicy, run, toolPolicy) => {
  const { events } = await waitForEnd(await start(createAgent(agentPolicy, run, toolPolicy).agent));
  expect(events.some(({ type }) => type === "task.approval.requested")).toBe(false);
});

test("a result that may be held reveals neither its progress nor its error before the decision", async () => {
  const read = defineTool({
    name: "read",
    description: "Reads.",
    run: (_input, context) => {
      context.progress("the secret is 7", 0.5);
      throw new Error("the secret is 7");
    },
  });
  const { agent } = scriptedAgent(script, { tools: [read], resultApproval: "on_error" });
  const started = await start(agent);
  await waitForApproval(started);
  await decide(started, { decision: "deny" });
  const { events } = await waitForEnd(started);
  const sent = events.filter(({ type }) => type.startsWith("task.tool_execution."));
  expect(sent).toMatchObject([{}, { fraction: 0.5 }, { outcome: "failed" }]);
  expect(JSON.stringify(sent)).not.toContain("secret");
});

test("reading pages of an approved result needs no further approval", async () => {
  const long = defineTool({ name: "read", description: "", run: () => "x".repeat(50_000) });
  const { agent, model } = scriptedAgent(
    (request, round) => {
      const sent = JSON.stringify(request.input);
      const [, result = ""] = /read_result \{\\+"result\\+":\\+"([^"\\]+)/.exec(sent) ?? [];
      if (round === 1) return [{ call: "read_result", args: { result, offset: 40_000 } }];
      return round === 0 ? [{ call: "read", args: {} }] : [{ text: "Done." }];
    },
    { tools: [long], resultApproval: "always" },
  );
  const started = await start(agent);
  await decide(started, {});
  const { state } = await waitForEnd(started);
  expect(state.approvals).toHaveLength(1);
  expect(getSentResults(model, 2)[1]).toBe("x".repeat(10_000));
});

test("defineTool sets unmask only if it is false", () => {
  const base = { name: "post", description: "", run: () => "" };
  expect(defineTool({ ...base, unmask: false }).unmask).toBe(false);
  expect(defineTool(base)).not.toHaveProperty("unmask");
});
