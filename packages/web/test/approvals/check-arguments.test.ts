import { describe, expect, test } from "vitest";
import { checkArguments, expectedArguments } from "../../src/approvals/check-arguments.ts";
import { problemInWords } from "../../src/approvals/decision-form.tsx";
import { approvalWords, type ApprovalWords } from "../../src/approvals/words.ts";

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
  test("that fit the schema are taken as they are", () => {
    const text = '{"to": "Ann", "copies": 2, "tone": "warm", "places": [{"city": "Rome"}]}';
    expect(checkArguments(text, schema)).toEqual({ ok: true, value: JSON.parse(text) });
  });

  test.each([
    ['{"to": ', { is: "no JSON" }],
    ["[1]", { is: "no object" }],
    ['"Ann"', { is: "no object" }],
    ["{}", { is: "missing", path: "", name: "to" }],
    ['{"to": 1}', { is: "type", path: "to", expected: ["string"] }],
    ['{"to": "Ann", "copies": 1.5}', { is: "type", path: "copies", expected: ["integer"] }],
    ['{"to": "Ann", "tone": "rude"}', { is: "choice", path: "tone" }],
    ['{"to": "Ann", "cc": "Bob"}', { is: "unknown", path: "", name: "cc" }],
    ['{"to": "Ann", "places": [{"city": 1}]}', { is: "type", path: "places[0].city" }],
  ])("%s are told what is wrong with them", (text, problem) => {
    expect(checkArguments(text, schema)).toMatchObject({ ok: false, problems: [problem] });
  });

  test("that have several faults are told all of them, up to five", () => {
    expect(checkArguments('{"to": 5, "tone": "rude", "cc": 1}', schema)).toEqual({
      ok: false,
      problems: [
        { is: "type", path: "to", expected: ["string"] },
        { is: "choice", path: "tone", expected: ['"plain"', '"warm"'] },
        { is: "unknown", path: "", name: "cc" },
      ],
    });
    const many = checkArguments(
      '{"to": "Ann", "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}',
      schema,
    );
    expect(many).toMatchObject({ ok: false, problems: { length: 5 } });
  });

  test("of a tool whose schema is not known only have to be an object", () => {
    expect(checkArguments('{"anything": [1]}', undefined).ok).toBe(true);
  });

  test("named like what every object has are not taken for known ones", () => {
    expect(checkArguments('{"to": "Ann", "constructor": 1}', schema).ok).toBe(false);
  });
});

test.each([
  ["{}", "to is missing", "缺少 to"],
  ['{"to": 1}', "to: expected string", "to：类型应为 string"],
  [
    '{"to": "Ann", "tone": "rude"}',
    'tone: expected one of "plain", "warm"',
    'tone：只能是 "plain"、"warm" 之一',
  ],
  ['{"to": "Ann", "cc": "Bob"}', "cc is not known", "没有名为 cc 的参数"],
])("what is wrong with %s is said in both languages", (text, en, zh) => {
  const checked = checkArguments(text, schema);
  if (checked.ok) throw new Error("nothing is wrong");
  const inWords = (words: ApprovalWords) =>
    checked.problems.map((each) => problemInWords(each, words));
  expect(inWords(approvalWords.en)).toEqual([en]);
  expect(inWords(approvalWords.zh)).toEqual([zh]);
});

test("what a tool expects is listed with its types, words and whether it is needed", () => {
  expect(expectedArguments(schema)).toEqual([
    { name: "to", type: "string", isRequired: true, about: "Whom to write to." },
    { name: "copies", type: "integer", isRequired: false, about: "" },
    { name: "tone", type: '"plain" | "warm"', isRequired: false, about: "" },
    { name: "places", type: "array", isRequired: false, about: "" },
  ]);
  expect(expectedArguments(undefined)).toEqual([]);
});
