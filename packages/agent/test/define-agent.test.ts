import { defineAgent, defineTool } from "@deltawire/agent";
import { expect, test } from "vitest";

const look = defineTool({ name: "look", description: "Looks.", run: () => "seen" });

test.each<[string, object, string]>([
  ["no name", { name: undefined }, "the agent's name"],
  ["no model", { model: undefined }, "the agent main needs a model"],
  ["a model that is none", { model: { name: "m" } }, "the agent main needs a model"],
  ["no instructions", { instructions: undefined }, "the instructions of the agent main"],
  ["a limit that nobody knows", { limits: { round: 3 } }, 'no "round"'],
  ["a limit that is no number", { limits: { rounds: "3" } }, "rounds, must be a number"],
  ["a limit below nothing", { limits: { cost: -1 } }, "cost, must be a number"],
  ["a word that is none at the limit", { atLimit: "stop" }, '"finish", "ask"'],
  ["a word that is none for results", { results: "ask" }, '"on error"'],
  ["a policy that is none", { helpApproval: { call: "never" } }, '"ask once"'],
  ["two tools of one name", { tools: [look, look] }, 'two tools named "look"'],
])("an agent with %s is refused where it is defined", (_what, wrong, message) => {
  const definition = { name: "main", instructions: "Help.", model: "m", ...wrong };
  const define = (): unknown => defineAgent(definition);
  expect(define).toThrow(TypeError);
  expect(define).toThrow(message);
});

test("what an agent leaves out is filled in", () => {
  const agent = defineAgent({ name: "main", instructions: "", model: "m", limits: { cost: 1 } });
  expect(agent).toMatchObject({
    limits: { rounds: 10, depth: 3, cost: 1 },
    atLimit: "finish",
    results: undefined,
    helpApproval: { call: "auto", result: "never" },
  });
});
