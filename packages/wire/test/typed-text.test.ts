import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { typedText } from "../src/tools/typed-text.ts";

const schema: JsonObject = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    flag: { type: "boolean" },
    list: { type: "array" },
    map: { type: "object" },
    maybe: { type: ["integer", "null"] },
    either: { anyOf: [{ type: "string" }, { type: "integer" }] },
    maybeText: { anyOf: [{ type: "string" }, { type: "null" }] },
    level: { enum: ["1", "2"] },
    exactly: { const: 3 },
    shared: { $ref: "#/$defs/Count" },
    round: { $ref: "#/properties/round" },
    any: {},
  },
  $defs: { Count: { type: "integer" } },
};

test.each([
  ["a string that reads like a number", "text", "90210", '"90210"'],
  ["a string that reads like nothing", "text", "null", '"null"'],
  ["an empty string", "text", "", '""'],
  ["a string keeps its blanks and quotes", "text", ' "a"\n', '" \\"a\\"\\n"'],
  ["an integer", "count", " 5 ", "5"],
  ["an integer of twenty digits", "count", "12345678901234567890", "12345678901234567890"],
  ["no integer where one is wanted: the tool will say so", "count", "five", '"five"'],
  ["a number", "ratio", "-1.50", "-1.50"],
  ["Python's true", "flag", "True", "true"],
  ["a list", "list", "[1, 2]", "[1, 2]"],
  ["no list where one is wanted", "list", "1, 2", '"1, 2"'],
  ["an object", "map", '{"a": 1}', '{"a": 1}'],
  ["a list where an object is wanted", "map", "[1]", '"[1]"'],
  ["null where it may be", "maybe", "null", "null"],
  ["Python's null where it may be", "maybe", "None", "null"],
  ["nothing where it may be null", "maybe", "", undefined],
  ["an empty integer is left out", "count", "", undefined],
  ["a null integer is left out", "count", "null", undefined],
  ["a number before a string", "either", "5", "5"],
  ["else the string", "either", "5a", '"5a"'],
  ["null before a string", "maybeText", "null", "null"],
  ["an enumeration of strings", "level", "1", '"1"'],
  ["a constant number", "exactly", "3", "3"],
  ["a reference", "shared", "3", "3"],
  ["a reference to itself tells nothing", "round", "3", "3"],
  ["a property without a type", "any", "3", "3"],
  ["a property nobody declared", "other", "true", "true"],
  ["a property of every object", "constructor", "x", '"x"'],
])("%s", (_title, key, text, json) => {
  expect(typedText(text, key, schema)).toBe(json);
});

test.each([
  ["5", "5"],
  ["007", '"007"'],
  ["true", "true"],
  ["True", '"True"'],
  ["null", "null"],
  ['{"a":1}', '{"a":1}'],
  ["[1", '"[1"'],
  ['"Paris"', '"\\"Paris\\""'],
  ["Paris", '"Paris"'],
  ["", '""'],
])("without a schema %s is %s", (text, json) => {
  expect(typedText(text, "key", undefined)).toBe(json);
});
