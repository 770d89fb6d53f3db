import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { coerceParameter } from "../src/tools/coerce-parameter.ts";

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
  ["a string parameter keeps digits as text", "text", "90210", '"90210"'],
  ["a string parameter keeps null as text", "text", "null", '"null"'],
  ["an empty string parameter stays an empty string", "text", "", '""'],
  ["a string parameter keeps spaces and quotes", "text", ' "a"\n', '" \\"a\\"\\n"'],
  ["an integer is parsed", "count", " 5 ", "5"],
  [
    "an integer of twenty digits keeps all digits",
    "count",
    "12345678901234567890",
    "12345678901234567890",
  ],
  ["text for an integer stays a string, so that the tool can report it", "count", "five", '"five"'],
  ["a number keeps its trailing zero", "ratio", "-1.50", "-1.50"],
  ["Python's True becomes true", "flag", "True", "true"],
  ["a list is parsed", "list", "[1, 2]", "[1, 2]"],
  ["text for a list stays a string", "list", "1, 2", '"1, 2"'],
  ["an object is parsed", "map", '{"a": 1}', '{"a": 1}'],
  ["a list for an object stays a string", "map", "[1]", '"[1]"'],
  ["null for a nullable integer is null", "maybe", "null", "null"],
  ["Python's None for a nullable integer is null", "maybe", "None", "null"],
  ["an empty nullable integer is omitted", "maybe", "", undefined],
  ["an empty integer is omitted", "count", "", undefined],
  ["null for an integer that is not nullable is omitted", "count", "null", undefined],
  ["a number for a string or integer becomes an integer", "either", "5", "5"],
  ["text for a string or integer stays a string", "either", "5a", '"5a"'],
  ["null for a nullable string is null", "maybeText", "null", "null"],
  ["digits for an enum of strings stay a string", "level", "1", '"1"'],
  ["a number for a numeric constant is parsed", "exactly", "3", "3"],
  ["a $ref is resolved", "shared", "3", "3"],
  ["a $ref to itself is treated as a missing type", "round", "3", "3"],
  ["a property without a type is parsed as JSON", "any", "3", "3"],
  ["an undeclared property is parsed as JSON", "other", "true", "true"],
  ["an undeclared property that every object inherits is not looked up", "constructor", "x", '"x"'],
])("%s", (_title, key, text, json) => {
  expect(coerceParameter(text, key, schema)).toBe(json);
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
])("without a schema, %s becomes %s", (text, json) => {
  expect(coerceParameter(text, "key", undefined)).toBe(json);
});
