import fc from "fast-check";
import { expect, test } from "vitest";
import { checkSettings, applySettingsPatch, type ChatSettings } from "@deltawire/tasks/chats";
import {
  fieldPaths,
  findFormField,
  toSettingsForm,
  isSameForm,
  diffSettings,
  parseFieldError,
  parseSettingsForm,
  findSection,
} from "../../src/chat/settings-form.ts";

const word = fc.stringMatching(/^[a-z]{1,8}$/);
const someSettings: fc.Arbitrary<ChatSettings> = fc.record(
  {
    model: word,
    instructions: fc.string(),
    tool_groups: fc.array(word),
    skills: fc.array(word),
    options: fc.record(
      {
        temperature: fc.oneof(fc.double({ min: 0, max: 2, noNaN: true }), fc.constant(null)),
        max_output_tokens: fc.integer({ min: 1, max: 100_000 }),
        reasoning: fc.record({ effort: word, summary: word }, { requiredKeys: ["effort"] }),
        metadata: fc.dictionary(word, word),
      },
      { requiredKeys: ["metadata"] },
    ),
    limits: fc.record(
      { rounds: fc.integer({ min: 1, max: 99 }), cost: fc.constantFrom(0.5, 2) },
      { requiredKeys: ["rounds"] },
    ),
    turns: fc.nat(100),
    privacy: fc.record({
      enabled: fc.boolean(),
      fields: fc.array(
        fc.oneof(
          fc.record({ kind: fc.constantFrom("email" as const, "card" as const) }),
          fc.record({ kind: fc.constant("name" as const), value: word, label: word }),
          fc.record({ kind: fc.constant("pattern" as const), pattern: word }),
        ),
      ),
    }),
    time_zone: fc.constantFrom("UTC", "Europe/Berlin"),
    message_times: fc.boolean(),
    title_model: word,
  },
  { requiredKeys: [] },
);

test("every input has a section and shows the errors of its setting", () => {
  const paths = Object.values(fieldPaths);
  expect(paths.filter((path) => findSection(path) === undefined)).toEqual([]);
  // The responder is not a setting.
  const settings = paths.filter((path) => path !== "responder");
  expect(settings.map((path) => findFormField(`settings.${path}`))).toEqual(settings);
});

test("settings equal themselves after they are shown in the form and parsed", () => {
  fc.assert(
    fc.property(someSettings, (settings) => {
      const { settings: parsed, problems } = parseSettingsForm(toSettingsForm(settings));
      expect(problems).toEqual({});
      expect(parsed).toEqual(settings);
      expect(checkSettings(parsed)).toEqual([]);
    }),
  );
});

test("a patch turns the old settings into the new ones and has only changed values", () => {
  fc.assert(
    fc.property(someSettings, someSettings, (before, after) => {
      const patch = diffSettings(before, after);
      expect(applySettingsPatch(before, patch)).toEqual(after);
      expect(diffSettings(after, after)).toEqual({});
      for (const [name, value] of Object.entries(patch))
        expect(value).not.toEqual(before[name as keyof ChatSettings]);
    }),
  );
});

const form = toSettingsForm({});

test("a patch contains only changed settings, and null for reset ones", () => {
  const before: ChatSettings = { turns: 5, limits: { rounds: 3 }, message_times: true };
  const changed = { ...toSettingsForm(before), turns: "", timeZone: "UTC" };
  expect(diffSettings(before, parseSettingsForm(changed).settings)).toEqual({
    turns: null,
    time_zone: "UTC",
  });
});

test("empty instructions are stored, and unset ones are not", () => {
  expect(parseSettingsForm({ ...form, instructions: "" }).settings).toEqual({ instructions: "" });
  expect(parseSettingsForm(form).settings).toEqual({});
});

test("an invalid number is reported at its field", () => {
  const { problems } = parseSettingsForm({
    ...form,
    temperature: "warm",
    turns: "-1",
    limits: { ...form.limits, rounds: "2.5", cost: "x" },
  });
  expect(problems).toEqual({
    "options.temperature": { type: "not_a_number" },
    turns: { type: "server_message", text: expect.stringContaining("whole number") as string },
    "limits.rounds": {
      type: "server_message",
      text: expect.stringContaining("whole number") as string,
    },
    "limits.cost": { type: "not_a_number" },
  });
});

test("other options must be a JSON object without options that have a field of their own", () => {
  const findProblem = (otherOptions: string, fields = {}) =>
    parseSettingsForm({ ...form, otherOptions, ...fields }).problems["options"]?.type;
  expect(findProblem("{")).toBe("invalid_json");
  expect(findProblem("[]")).toBe("not_an_object");
  expect(findProblem('{"temperature": 1}', { temperature: "0.5" })).toBe("set_twice");
  expect(findProblem('{"reasoning": {"effort": "low"}}', { effort: "high" })).toBe("set_twice");
  expect(findProblem('{"temperature": null}')).toBeUndefined();
});

test("a null option is shown among the other options", () => {
  expect(toSettingsForm({ options: { temperature: null } })).toMatchObject({
    temperature: "",
    otherOptions: '{\n  "temperature": null\n}',
  });
});

test("a privacy field is saved with only the values that its kind uses", () => {
  const row = { kind: "pattern", value: "left over", pattern: "A\\d", label: " " } as const;
  expect(
    parseSettingsForm({ ...form, privacy: { enabled: true, fields: [row] } }).settings.privacy,
  ).toEqual({
    enabled: true,
    fields: [{ kind: "pattern", pattern: "A\\d" }],
  });
});

test("a privacy field without its required value is reported at its row", () => {
  const rows = [
    { kind: "email", value: "", pattern: "", label: "" },
    { kind: "name", value: " ", pattern: "", label: "" },
  ] as const;
  const { problems } = parseSettingsForm({ ...form, privacy: { enabled: true, fields: rows } });
  expect(Object.keys(problems)).toEqual(["privacy.fields[1]"]);
});

test("error messages of the gateway are assigned to their fields", () => {
  expect(findFormField("settings.options.temperature")).toBe("options.temperature");
  expect(findFormField("settings.options.top_p")).toBe("options");
  expect(findFormField("options.reasoning.summary")).toBe("options");
  expect(findFormField("edits[0].patch.limits.rounds")).toBe("limits.rounds");
  expect(findFormField("settings.agent")).toBe("responder");
  expect(findFormField("settings.tool_groups[2]")).toBe("tool_groups");
  expect(findFormField("settings.privacy.fields[3].pattern")).toBe("privacy.fields[3]");
  expect(findFormField("revision")).toBe("");
  expect(parseFieldError("settings.time_zone: unknown", "settings.time_zone")).toEqual({
    field: "time_zone",
    text: "unknown",
  });
  expect(parseFieldError("could not reach the gateway")).toEqual({
    field: "",
    text: "could not reach the gateway",
  });
});

test("every field with an error has a section", () => {
  for (const field of ["responder", "options", "limits.depth", "turns", "privacy.fields[0]"])
    expect(findSection(field)).toBeDefined();
  expect(findSection("")).toBeUndefined();
});

test("forms with the same settings are equal", () => {
  expect(isSameForm(toSettingsForm({ turns: 3 }), toSettingsForm({ turns: 3 }))).toBe(true);
  expect(isSameForm(toSettingsForm({ turns: 3 }), toSettingsForm({}))).toBe(false);
});
