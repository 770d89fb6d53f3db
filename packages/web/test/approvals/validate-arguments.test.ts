import { describe, expect, test } from "vitest";
import { validateArguments, describeArguments } from "../../src/approvals/validate-arguments.ts";
import { formatArgumentProblem } from "../../src/approvals/decision-form.tsx";
import { approvalMessages, type ApprovalMessages } from "../../src/approvals/messages.ts";

const schema = {
  type: "object",
  properties: {
    to: { type: "string", description: "Whom to write to." },
    copies: { type: "integer" },
    tone: { enum: ["plain", "warm"] },
    places: { type: "array", items: { type: "object", properties: { city: { type: "string" } } } },
  },
  required: ["to"],
  additionalProperties: false,
};

describe("edited arguments", () => {
  test("that match the schema are valid", () => {
    const text = '{"to": "Ann", "copies": 2, "tone": "warm", "places": [{"city": "Rome"}]}';
    expect(validateArguments(text, schema)).toEqual({ ok: true, value: JSON.parse(text) });
  });

  test.each([
    ['{"to": ', { kind: "invalid_json" }],
    ["[1]", { kind: "not_an_object" }],
    ['"Ann"', { kind: "not_an_object" }],
    ["{}", { kind: "missing", path: "", name: "to" }],
    ['{"to": 1}', { kind: "type", path: "to", expected: ["string"] }],
    ['{"to": "Ann", "copies": 1.5}', { kind: "type", path: "copies", expected: ["integer"] }],
    ['{"to": "Ann", "tone": "rude"}', { kind: "choice", path: "tone" }],
    ['{"to": "Ann", "cc": "Bob"}', { kind: "unknown", path: "", name: "cc" }],
    ['{"to": "Ann", "places": [{"city": 1}]}', { kind: "type", path: "places[0].city" }],
  ])("are rejected: %s", (text, problem) => {
    expect(validateArguments(text, schema)).toMatchObject({ ok: false, problems: [problem] });
  });

  test("are rejected with at most five problems", () => {
    expect(validateArguments('{"to": 5, "tone": "rude", "cc": 1}', schema)).toEqual({
      ok: false,
      problems: [
        { kind: "type", path: "to", expected: ["string"] },
        { kind: "choice", path: "tone", expected: ['"plain"', '"warm"'] },
        { kind: "unknown", path: "", name: "cc" },
      ],
    });
    const many = validateArguments(
      '{"to": "Ann", "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}',
      schema,
    );
    expect(many).toMatchObject({ ok: false, problems: { length: 5 } });
  });

  test("of a tool without a schema may be any object", () => {
    expect(validateArguments('{"anything": [1]}', undefined).ok).toBe(true);
  });

  test("are rejected if they are named like a property of Object.prototype", () => {
    expect(validateArguments('{"to": "Ann", "constructor": 1}', schema).ok).toBe(false);
  });
});

test.each([
  ["{}", "“to” is missing", "缺少“to”"],
  ['{"to": 1}', "“to” must be text", "“to”必须是文本"],
  [
    '{"to": "Ann", "tone": "rude"}',
    '“tone” must be one of "plain", "warm"',
    '“tone”只能是 "plain"、"warm" 之一',
  ],
  ['{"to": "Ann", "cc": "Bob"}', "Unknown parameter “cc”", "未知参数“cc”"],
])("the problem with %s is described in both languages", (text, en, zh) => {
  const validation = validateArguments(text, schema);
  if (validation.ok) throw new Error("expected a problem");
  const format = (messages: ApprovalMessages) =>
    validation.problems.map((problem) => formatArgumentProblem(problem, messages));
  expect(format(approvalMessages.en)).toEqual([en]);
  expect(format(approvalMessages.zh)).toEqual([zh]);
});

test("the arguments of a schema are listed with type, description and whether they are required", () => {
  expect(describeArguments(schema)).toEqual([
    { name: "to", type: "string", isRequired: true, description: "Whom to write to." },
    { name: "copies", type: "integer", isRequired: false, description: "" },
    { name: "tone", type: '"plain" | "warm"', isRequired: false, description: "" },
    { name: "places", type: "array", isRequired: false, description: "" },
  ]);
  expect(describeArguments(undefined)).toEqual([]);
});
