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

const fields =
  "agent, model, instructions, tool_groups, skills, options, limits, results, turns, privacy, time_zone, exact_time, title_model";

test.each<[settings: unknown, problems: string[]]>([
  [null, ["must be an object, got null"]],
  [[], ["must be an object, got an array"]],
  [JSON.parse(`{"__proto__":{}}`), [`__proto__: unknown field; there are ${fields}`]],
  [{ colour: "red" }, [`colour: unknown field; there are ${fields}`]],
  [{ agent: "a", model: "m" }, ["agent: a chat has an agent or a model, not both"]],
  [{ agent: "" }, ["agent: must not be empty"]],
  [{ model: null }, ["model: must be a string, got null"]],
  [{ instructions: ["a"] }, ["instructions: must be a string, got an array"]],
  [{ tool_groups: ["web", ""] }, ["tool_groups[1]: must not be empty"]],
  [{ skills: "all" }, ['skills: must be an array, got "all"']],
  [{ options: [] }, ["options: must be an object, got an array"]],
  [{ limits: { rounds: 1.5 } }, ["limits.rounds: must be a whole number, 1 or more, got 1.5"]],
  [{ limits: { tokens: -1 } }, ["limits.tokens: must be a whole number, 1 or more, got -1"]],
  [{ limits: { cost: 0 } }, ["limits.cost: must be a number above 0, got 0"]],
  [{ limits: { seconds: Infinity } }, ["limits.seconds: must be a number above 0, got Infinity"]],
  [{ limits: { depth: -1 } }, ["limits.depth: must be a whole number, 0 or more, got -1"]],
  [
    { limits: { calls: 1 } },
    ["limits.calls: unknown field; there are rounds, tokens, cost, seconds, depth"],
  ],
  [{ turns: -1 }, ["turns: must be a whole number, 0 or more, got -1"]],
  [{ turns: "3" }, ['turns: must be a whole number, 0 or more, got "3"']],
  [{ time_zone: "" }, ["time_zone: must not be empty"]],
  [{ exact_time: "yes" }, ['exact_time: must be true or false, got "yes"']],
  [
    { privacy: {} },
    [
      "privacy.enabled: is missing; must be true or false",
      "privacy.fields: is missing; must be an array",
    ],
  ],
])("what is wrong in %j is told with its path", (settings, problems) => {
  expect(checkSettings(settings)).toEqual(problems);
});

test.each<[field: unknown, problem: string]>([
  [
    { value: "a" },
    "kind: is missing; must be one of email, phone, card, key, password, id, name, text, pattern",
  ],
  [
    { kind: "colour" },
    'kind: must be one of email, phone, card, key, password, id, name, text, pattern; got "colour"',
  ],
  [{ kind: "name" }, `value: is missing: the kind "name" needs it`],
  [{ kind: "text", value: "" }, "value: must not be empty"],
  [{ kind: "pattern" }, `pattern: is missing: the kind "pattern" needs it`],
  [{ kind: "pattern", pattern: "a", value: "b" }, `value: has no meaning for the kind "pattern"`],
  [{ kind: "email", pattern: "a" }, `pattern: has no meaning for the kind "email"`],
  [{ kind: "email", label: 5 }, "label: must be a string, got 5"],
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
