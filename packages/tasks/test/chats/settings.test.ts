import { checkSettings, applySettingsPatch, type ChatSettings } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";

const allSettings: ChatSettings = {
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
  message_times: true,
  title_model: "small",
};

test("settings are valid with all fields and with none", () => {
  expect(checkSettings(allSettings)).toEqual([]);
  expect(checkSettings({})).toEqual([]);
});

const fields =
  "agent, model, instructions, tool_groups, skills, options, limits, result_approval, results, turns, privacy, time_zone, message_times, exact_time, title_model";

test.each<[settings: unknown, problems: string[]]>([
  [null, ["must be an object, got null"]],
  [[], ["must be an object, got an array"]],
  [JSON.parse(`{"__proto__":{}}`), [`__proto__: unknown field; expected ${fields}`]],
  [{ color: "red" }, [`color: unknown field; expected ${fields}`]],
  [{ agent: "a", model: "m" }, ["agent: a chat can have an agent or a model, not both"]],
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
    ["limits.calls: unknown field; expected rounds, tokens, cost, seconds, depth"],
  ],
  [{ turns: -1 }, ["turns: must be a whole number, 0 or more, got -1"]],
  [{ turns: "3" }, ['turns: must be a whole number, 0 or more, got "3"']],
  [{ time_zone: "" }, ["time_zone: must not be empty"]],
  [{ message_times: "yes" }, ['message_times: must be true or false, got "yes"']],
  [
    { privacy: {} },
    [
      "privacy.enabled: is missing; must be true or false",
      "privacy.fields: is missing; must be an array",
    ],
  ],
])("checkSettings reports the problems of %j with their paths", (settings, problems) => {
  expect(checkSettings(settings)).toEqual(problems);
});

test.each<[field: unknown, problem: string]>([
  [
    { value: "a" },
    "kind: is missing; must be one of email, phone, card, key, password, id, name, text, pattern",
  ],
  [
    { kind: "color" },
    'kind: must be one of email, phone, card, key, password, id, name, text, pattern; got "color"',
  ],
  [{ kind: "name" }, `value: is required for the kind "name"`],
  [{ kind: "text", value: "" }, "value: must not be empty"],
  [{ kind: "pattern" }, `pattern: is required for the kind "pattern"`],
  [{ kind: "pattern", pattern: "a", value: "b" }, `value: is not allowed for the kind "pattern"`],
  [{ kind: "email", pattern: "a" }, `pattern: is not allowed for the kind "email"`],
  [{ kind: "email", label: 5 }, "label: must be a string, got 5"],
])("checkSettings rejects the privacy field %j", (field, problem) => {
  const settings = { privacy: { enabled: true, fields: [{ kind: "card" }, field] } };
  expect(checkSettings(settings)).toEqual([`privacy.fields[1].${problem}`]);
});

test("a patch replaces complete fields, removes fields that are null, and does not change the original settings", () => {
  const after = applySettingsPatch(allSettings, { agent: null, model: "m", limits: { rounds: 1 } });
  const { agent: _agent, ...rest } = allSettings;
  expect(after).toEqual({ ...rest, model: "m", limits: { rounds: 1 } });
  expect(allSettings.agent).toBe("guide");
});

test("the former value of result_approval is valid, and replaced by every change", () => {
  const former = JSON.parse('{"result_approval":"on error"}') as ChatSettings;
  expect(checkSettings(former)).toEqual([]);
  expect(checkSettings({ results: "on error" })).toEqual([]);
  expect(checkSettings({ result_approval: "onerror" })).toEqual([
    'result_approval: must be one of never, on_error, always; got "onerror"',
  ]);
  expect(applySettingsPatch(former, { turns: 1 })).toEqual({
    result_approval: "on_error",
    turns: 1,
  });
  expect(applySettingsPatch({}, former)).toEqual({ result_approval: "on_error" });
  const both = JSON.parse('{"results":"on error"}') as ChatSettings;
  expect(applySettingsPatch({}, both)).toEqual({ result_approval: "on_error" });
});

test("former names are replaced by every change, and the new names take precedence", () => {
  expect(applySettingsPatch({ results: "always" }, {})).toEqual({ result_approval: "always" });
  expect(applySettingsPatch({ results: "always" }, { result_approval: null })).toEqual({});
  expect(applySettingsPatch({ result_approval: "always" }, { results: null })).toEqual({});
  expect(applySettingsPatch({}, { results: "on_error" })).toEqual({ result_approval: "on_error" });
  expect(applySettingsPatch({ exact_time: true }, { results: "never" })).toEqual({
    message_times: true,
    result_approval: "never",
  });
  expect(applySettingsPatch({ message_times: true }, { exact_time: null })).toEqual({});
  const both: ChatSettings = { results: "always", result_approval: "never" };
  expect(applySettingsPatch(both, {})).toEqual({ result_approval: "never" });
});
