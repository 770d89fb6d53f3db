import { defineTool, type ResultPolicy } from "@deltawire/agent";
import { expect, test } from "vitest";
import { decide, ended, question, scriptedAgent, start, toldResults } from "./run-kit.ts";

const script = [[{ call: "read", args: {} }], [{ text: "Done." }]];
const fails = (): never => {
  throw new Error("no such page");
};

function agentWith(results: ResultPolicy | undefined, run: () => unknown, own?: ResultPolicy) {
  const read = defineTool({
    name: "read",
    description: "Reads.",
    ...(own === undefined ? {} : { approval: { result: own } }),
    run,
  });
  return scriptedAgent(script, { tools: [read], ...(results === undefined ? {} : { results }) });
}

test("a tool that says nothing has its failures held where its agent says so", async () => {
  const { agent, model } = agentWith("on error", fails);
  const started = await start(agent);
  expect(await question(started)).toMatchObject({ kind: "result", tool: "read" });
  await decide(started, { decision: "redact", replacement: "try another" });
  await ended(started);
  expect(toldResults(model, 1)).toEqual(["try another"]);
});

test.each<[ResultPolicy | undefined, () => unknown, ResultPolicy | undefined]>([
  [undefined, fails, undefined],
  ["on error", () => "fine", undefined],
  ["on error", fails, "never"],
  ["always", () => "fine", "never"],
])("with results %s nobody is asked about %s of a tool with %s", async (results, run, own) => {
  const { events } = await ended(await start(agentWith(results, run, own).agent));
  expect(events.some(({ type }) => type === "task.approval.requested")).toBe(false);
});

test("of what may be held nothing is told before, neither its progress nor its error", async () => {
  const read = defineTool({
    name: "read",
    description: "Reads.",
    run: (_input, context) => {
      context.progress("the secret is 7", 0.5);
      throw new Error("the secret is 7");
    },
  });
  const { agent } = scriptedAgent(script, { tools: [read], results: "on error" });
  const started = await start(agent);
  await question(started);
  await decide(started, { decision: "deny" });
  const { events } = await ended(started);
  const told = events.filter(({ type }) => type.startsWith("task.tool_execution."));
  expect(told).toMatchObject([{}, { fraction: 0.5 }, { outcome: "failed" }]);
  expect(JSON.stringify(told)).not.toContain("secret");
});

test("pages of a released result are not asked about again", async () => {
  const long = defineTool({ name: "read", description: "", run: () => "x".repeat(50_000) });
  const { agent, model } = scriptedAgent(
    (request, round) => {
      const told = JSON.stringify(request.input);
      const [, result = ""] = /read_result \{\\+"result\\+":\\+"([^"\\]+)/.exec(told) ?? [];
      if (round === 1) return [{ call: "read_result", args: { result, offset: 40_000 } }];
      return round === 0 ? [{ call: "read", args: {} }] : [{ text: "Done." }];
    },
    { tools: [long], results: "always" },
  );
  const started = await start(agent);
  await decide(started, {});
  const { state } = await ended(started);
  expect(state.approvals).toHaveLength(1);
  expect(toldResults(model, 2)[1]).toBe("x".repeat(10_000));
});

test("a tool says that private values are not for it, or nothing of them", () => {
  const base = { name: "post", description: "", run: () => "" };
  expect(defineTool({ ...base, unmask: false }).unmask).toBe(false);
  expect(defineTool(base)).not.toHaveProperty("unmask");
});
