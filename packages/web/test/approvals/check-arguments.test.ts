import { describe, expect, test } from "vitest";
import { checkArguments, expectedArguments } from "../../src/approvals/check-arguments.ts";

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
    ["{}", { is: "wrong", path: "", why: "to is missing" }],
    ['{"to": 1}', { is: "wrong", path: "to", why: "expected string" }],
    ['{"to": "Ann", "copies": 1.5}', { is: "wrong", path: "copies", why: "expected integer" }],
    ['{"to": "Ann", "tone": "rude"}', { is: "wrong", path: "tone" }],
    ['{"to": "Ann", "cc": "Bob"}', { is: "wrong", path: "", why: "cc is not known" }],
    ['{"to": "Ann", "places": [{"city": 1}]}', { is: "wrong", path: "places[0].city" }],
  ])("%s are told what is wrong with them", (text, problem) => {
    expect(checkArguments(text, schema)).toMatchObject({ ok: false, problem });
  });

  test("of a tool whose schema is not known only have to be an object", () => {
    expect(checkArguments('{"anything": [1]}', undefined).ok).toBe(true);
  });

  test("named like what every object has are not taken for known ones", () => {
    expect(checkArguments('{"to": "Ann", "constructor": 1}', schema).ok).toBe(false);
  });
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
