import { defineAgent, defineTool } from "@deltawire/agent";
import { expect, test } from "vitest";

const look = defineTool({ name: "look", description: "Looks.", run: () => "seen" });

test.each<[string, object, string]>([
  ["no name", { name: undefined }, 'invalid agent name "undefined"'],
  ["no model", { model: undefined }, "the agent main needs a model"],
  ["an invalid model", { model: { name: "m" } }, "the agent main needs a model"],
  ["no instructions", { instructions: undefined }, "the instructions of the agent main"],
  ["an unknown limit", { limits: { round: 3 } }, 'unknown key "round"'],
  [
    "a limit that is not a number",
    { limits: { rounds: "3" } },
    'rounds must be a non-negative number, got "3"',
  ],
  ["a negative limit", { limits: { cost: -1 } }, "cost must be a non-negative number, got -1"],
  ["an invalid value of atLimit", { atLimit: "stop" }, '"finish", "ask"'],
  ["an invalid result policy", { resultApproval: "ask" }, '"on_error"'],
  [
    "a former result policy",
    { resultApproval: "on error" },
    'resultApproval of the agent main: "on error" was renamed to "on_error"',
  ],
  [
    "a former approval policy",
    { helpApproval: { call: "ask always" } },
    '"ask always" was renamed to "ask_always"',
  ],
  ["an invalid approval policy", { helpApproval: { call: "never" } }, '"ask_once"'],
  ["two tools with the same name", { tools: [look, look] }, 'two tools named "look"'],
])("defineAgent throws for an agent with %s", (_what, wrong, message) => {
  const definition = { name: "main", instructions: "Help.", model: "m", ...wrong };
  const define = (): unknown => defineAgent(definition);
  expect(define).toThrow(TypeError);
  expect(define).toThrow(message);
});

test("defineAgent fills in defaults", () => {
  const agent = defineAgent({ name: "main", instructions: "", model: "m", limits: { cost: 1 } });
  expect(agent).toMatchObject({
    limits: { rounds: 10, depth: 3, cost: 1 },
    atLimit: "finish",
    resultApproval: undefined,
    helpApproval: { call: "auto", result: "never" },
  });
});
