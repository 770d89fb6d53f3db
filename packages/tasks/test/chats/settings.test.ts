import { checkSettings, settingsAfter, type ChatSettings } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";

const whole: ChatSettings = {
  agent: "guide",
  instructions: "",
  tool_groups: ["web"],
  skills: [],
  options: { temperature: 0.5, reasoning: { effort: "low" }, top_p: null },
  limits: { rounds: 5, tokens: 1000, cost: 0.5, seconds: 1.5, depth: 0 },
  turns: 0,
  privacy: {
    enabled: true,
    fields: [
      { kind: "email" },
      { kind: "phone", value: "555 0100" },
      { kind: "name", value: "Ada", label: "PERSON" },
      { kind: "text", value: "Enigma" },
      { kind: "pattern", pattern: "A-\\d+" },
    ],
  },
  time_zone: "Europe/Vienna",
  exact_time: true,
  title_model: "small",
};

test("settings with every field, and with none, are good", () => {
  expect(checkSettings(whole)).toEqual([]);
  expect(checkSettings({})).toEqual([]);
});

test.each<[settings: unknown, problems: string[]]>([
  [null, ["must be an object"]],
  [[], ["must be an object"]],
  [JSON.parse(`{"__proto__":{}}`), ["__proto__: there is no such field"]],
  [{ colour: "red" }, ["colour: there is no such field"]],
  [{ agent: "a", model: "m" }, ["agent: a chat has an agent or a model, not both"]],
  [{ agent: "" }, ["agent: must be a text that is not empty"]],
  [{ model: null }, ["model: must be a text that is not empty"]],
  [{ instructions: ["a"] }, ["instructions: must be a text"]],
  [{ tool_groups: ["web", ""] }, ["tool_groups[1]: must be a text that is not empty"]],
  [{ skills: "all" }, ["skills: must be a list"]],
  [{ options: [] }, ["options: must be an object"]],
  [{ limits: { rounds: 1.5 } }, ["limits.rounds: must be a whole number above 0"]],
  [{ limits: { tokens: -1 } }, ["limits.tokens: must be a whole number above 0"]],
  [{ limits: { cost: 0 } }, ["limits.cost: must be a number above 0"]],
  [{ limits: { seconds: Infinity } }, ["limits.seconds: must be a number above 0"]],
  [{ limits: { depth: -1 } }, ["limits.depth: must be a whole number, 0 or more"]],
  [{ limits: { calls: 1 } }, ["limits.calls: there is no such field"]],
  [{ turns: -1 }, ["turns: must be a whole number, 0 or more"]],
  [{ turns: "3" }, ["turns: must be a whole number, 0 or more"]],
  [{ time_zone: "" }, ["time_zone: must be a text that is not empty"]],
  [{ exact_time: "yes" }, ["exact_time: must be true or false"]],
  [{ privacy: {} }, ["privacy.enabled: is missing", "privacy.fields: is missing"]],
])("what is wrong in %j is told with its path", (settings, problems) => {
  expect(checkSettings(settings)).toEqual(problems);
});

test.each<[field: unknown, problem: string]>([
  [{ value: "a" }, "kind: is missing"],
  [
    { kind: "colour" },
    "kind: must be one of email, phone, card, key, password, id, name, text, pattern",
  ],
  [{ kind: "name" }, `value: is missing: the kind "name" needs it`],
  [{ kind: "text", value: "" }, "value: must be a text that is not empty"],
  [{ kind: "pattern" }, `pattern: is missing: the kind "pattern" needs it`],
  [{ kind: "pattern", pattern: "a", value: "b" }, `value: has no meaning for the kind "pattern"`],
  [{ kind: "email", pattern: "a" }, `pattern: has no meaning for the kind "email"`],
  [{ kind: "email", label: 5 }, "label: must be a text that is not empty"],
])("a field of privacy like %j is refused", (field, problem) => {
  const settings = { privacy: { enabled: true, fields: [{ kind: "card" }, field] } };
  expect(checkSettings(settings)).toEqual([`privacy.fields[1].${problem}`]);
});

test("a patch replaces whole fields, takes out what is null, and changes nothing in place", () => {
  const after = settingsAfter(whole, { agent: null, model: "m", limits: { rounds: 1 } });
  const { agent: _agent, ...rest } = whole;
  expect(after).toEqual({ ...rest, model: "m", limits: { rounds: 1 } });
  expect(whole.agent).toBe("guide");
});
