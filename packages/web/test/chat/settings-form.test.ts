import fc from "fast-check";
import { expect, test } from "vitest";
import { checkSettings, settingsAfter, type ChatSettings } from "@deltawire/tasks/chats";
import {
  fieldAt,
  formOf,
  isSameForm,
  patchBetween,
  placedAt,
  readForm,
  sectionOf,
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
    exact_time: fc.boolean(),
    title_model: word,
  },
  { requiredKeys: [] },
);

test("what a form is made from is what is read from it", () => {
  fc.assert(
    fc.property(someSettings, (settings) => {
      const { settings: read, problems } = readForm(formOf(settings));
      expect(problems).toEqual({});
      expect(read).toEqual(settings);
      expect(checkSettings(read)).toEqual([]);
    }),
  );
});

test("a patch makes of the one what the other is, and has nothing that is the same in both", () => {
  fc.assert(
    fc.property(someSettings, someSettings, (before, after) => {
      const patch = patchBetween(before, after);
      expect(settingsAfter(before, patch)).toEqual(after);
      expect(patchBetween(after, after)).toEqual({});
      for (const [name, value] of Object.entries(patch))
        expect(value).not.toEqual(before[name as keyof ChatSettings]);
    }),
  );
});

const form = formOf({});

test("only what was changed is sent, and what was reset is taken out", () => {
  const before: ChatSettings = { turns: 5, limits: { rounds: 3 }, exact_time: true };
  const changed = { ...formOf(before), turns: "", timeZone: "UTC" };
  expect(patchBetween(before, readForm(changed).settings)).toEqual({
    turns: null,
    time_zone: "UTC",
  });
});

test("empty instructions are something else than none", () => {
  expect(readForm({ ...form, instructions: "" }).settings).toEqual({ instructions: "" });
  expect(readForm(form).settings).toEqual({});
});

test("what is no number, or none that makes sense, is told at its field", () => {
  const { problems } = readForm({
    ...form,
    temperature: "warm",
    turns: "-1",
    limits: { ...form.limits, rounds: "2.5", cost: "x" },
  });
  expect(problems).toEqual({
    "options.temperature": { is: "no number" },
    turns: { is: "told", text: expect.stringContaining("whole number") as string },
    "limits.rounds": { is: "told", text: expect.stringContaining("whole number") as string },
    "limits.cost": { is: "no number" },
  });
});

test("other options have to be an object of JSON, and say nothing that has a field of its own", () => {
  const problemOf = (otherOptions: string, more = {}) =>
    readForm({ ...form, otherOptions, ...more }).problems["options"]?.is;
  expect(problemOf("{")).toBe("no json");
  expect(problemOf("[]")).toBe("no object");
  expect(problemOf('{"temperature": 1}', { temperature: "0.5" })).toBe("said twice");
  expect(problemOf('{"reasoning": {"effort": "low"}}', { effort: "high" })).toBe("said twice");
  expect(problemOf('{"temperature": null}')).toBeUndefined();
});

test("null takes out what is configured: it is kept among the other options", () => {
  expect(formOf({ options: { temperature: null } })).toMatchObject({
    temperature: "",
    otherOptions: '{\n  "temperature": null\n}',
  });
});

test("of a masked field only what its kind uses is kept, whatever was written before", () => {
  const row = { kind: "pattern", value: "left over", pattern: "A\\d", label: " " } as const;
  expect(readForm({ ...form, privacy: { enabled: true, fields: [row] } }).settings.privacy).toEqual(
    {
      enabled: true,
      fields: [{ kind: "pattern", pattern: "A\\d" }],
    },
  );
});

test("a name without a value is told at its row", () => {
  const rows = [
    { kind: "email", value: "", pattern: "", label: "" },
    { kind: "name", value: " ", pattern: "", label: "" },
  ] as const;
  const { problems } = readForm({ ...form, privacy: { enabled: true, fields: rows } });
  expect(Object.keys(problems)).toEqual(["privacy.fields[1]"]);
});

test("the gateway's words go to the field that they are about", () => {
  expect(fieldAt("settings.options.temperature")).toBe("options.temperature");
  expect(fieldAt("settings.options.top_p")).toBe("options");
  expect(fieldAt("options.reasoning.summary")).toBe("options");
  expect(fieldAt("edits[0].patch.limits.rounds")).toBe("limits.rounds");
  expect(fieldAt("settings.agent")).toBe("who");
  expect(fieldAt("settings.tool_groups[2]")).toBe("tool_groups");
  expect(fieldAt("settings.privacy.fields[3].pattern")).toBe("privacy.fields[3]");
  expect(fieldAt("revision")).toBe("");
  expect(placedAt("settings.time_zone: there is none", "settings.time_zone")).toEqual({
    field: "time_zone",
    text: "there is none",
  });
  expect(placedAt("the gateway cannot be reached")).toEqual({
    field: "",
    text: "the gateway cannot be reached",
  });
});

test("every field that a fault can be told at stands in a section", () => {
  for (const field of ["who", "options", "limits.depth", "turns", "privacy.fields[0]"])
    expect(sectionOf(field)).toBeDefined();
  expect(sectionOf("")).toBeUndefined();
});

test("a form that says the same is no change", () => {
  expect(isSameForm(formOf({ turns: 3 }), formOf({ turns: 3 }))).toBe(true);
  expect(isSameForm(formOf({ turns: 3 }), formOf({}))).toBe(false);
});
