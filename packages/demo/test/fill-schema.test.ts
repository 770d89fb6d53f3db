import type { ChatMessage, JsonObject, JsonValue } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fillSchema } from "../src/fill-schema.ts";
import { PromptValues } from "../src/prompt-values.ts";
import { generateAnswer } from "../src/answer.ts";
import { generateText, joinAnswerText } from "./requests.ts";

function fill(text: string, properties: JsonObject, required = Object.keys(properties)) {
  return fillSchema({ type: "object", properties, required }, new PromptValues(text));
}

const text = { type: "string" };

describe("filling a schema from a prompt", () => {
  test.each<[string, JsonObject, JsonObject]>([
    ["The weather in New York, please", { city: text }, { city: "New York" }],
    ['Say "good morning"', { greeting: text }, { greeting: "good morning" }],
    ["Fly from Paris to Rome", { from: text, to: text }, { from: "Paris", to: "Rome" }],
    ["city: Oslo, days=3", { city: text, days: { type: "integer" } }, { city: "Oslo", days: 3 }],
    ["Read src/main.ts now", { path: text }, { path: "src/main.ts" }],
    ["Open https://example.com/a?b=c", { url: text }, { url: "https://example.com/a?b=c" }],
    ["What is 12 * (3 + 4)?", { expression: text }, { expression: "12 * (3 + 4)" }],
    ["Write to ann@example.com", { email: text }, { email: "ann@example.com" }],
    ["Find me a good book", { query: text }, { query: "Find me a good book" }],
    ["in celsius", { unit: { enum: ["fahrenheit", "celsius"] } }, { unit: "celsius" }],
    ["make it urgent", { urgent: { type: "boolean" } }, { urgent: true }],
    ["it is not urgent", { urgent: { type: "boolean" } }, { urgent: false }],
    [
      "Invite Ann, Bob and Cid",
      { who: { type: "array", items: text } },
      { who: ["Ann", "Bob", "Cid"] },
    ],
    ["add 2 and 3.5", { all: { type: "array", items: { type: "number" } } }, { all: [2, 3.5] }],
    ["add 2 and 3", { a: { type: "number" }, b: { type: "number" } }, { a: 2, b: 3 }],
    [
      "Paris",
      { place: { type: "object", properties: { city: text }, required: ["city"] } },
      { place: { city: "Paris" } },
    ],
  ])("%j for the properties %j", (text, properties, expected) => {
    expect(fill(text, properties)).toEqual(expected);
  });

  test("sets an optional property only if the prompt contains a value for it", () => {
    const properties = {
      city: text,
      unit: { enum: ["celsius", "kelvin"] },
      days: { type: "integer" },
    };
    expect(fill("weather in Paris", properties, ["city"])).toEqual({ city: "Paris" });
    expect(fill("weather in Paris in kelvin, days: 4", properties, ["city"])).toEqual({
      city: "Paris",
      unit: "kelvin",
      days: 4,
    });
  });

  test("sets a nullable property to null if the prompt contains no value for it", () => {
    const unit = { type: ["string", "null"] };
    const either = { anyOf: [text, { type: "null" }] };
    expect(fill("weather in Paris", { city: text, unit, either })).toEqual({
      city: "Paris",
      unit: null,
      either: null,
    });
  });
});

describe("a structured answer", () => {
  const event = {
    type: "object",
    properties: { name: text, date: text, participants: { type: "array", items: text } },
    required: ["name", "date", "participants"],
    additionalProperties: false,
  };
  const sentence = "Alice and Bob are going to the Science Fair on Friday.";
  const expected = { name: expect.any(String), date: "Friday", participants: ["Alice", "Bob"] };

  test("is JSON of the requested schema", () => {
    const json_schema = { name: "event", schema: event, strict: true };
    const answer = generateText(sentence, {
      response_format: { type: "json_schema", json_schema },
    });
    expect(JSON.parse(answer)).toEqual(expected);
  });

  test("follows a schema in a message", () => {
    const messages: ChatMessage[] = [
      {
        role: "system",
        content: `Be brief.\n\nAnswer only with a JSON object that is valid against this JSON schema:\n${JSON.stringify(event)}`,
      },
      { role: "user", content: sentence },
    ];
    const response_format = { type: "json_object" } as const;
    const answerFromMessage = joinAnswerText(
      generateAnswer({ model: "clean", messages, response_format }),
    );
    expect(JSON.parse(answerFromMessage)).toEqual(expected);
    expect(JSON.parse(joinAnswerText(generateAnswer({ model: "clean", messages })))).toEqual(
      expected,
    );
  });

  test("is an object with the prompt if json_object is requested", () => {
    const answer = generateText("Give me JSON", { response_format: { type: "json_object" } });
    expect(JSON.parse(answer)).toMatchObject({ you_said: "Give me JSON" });
  });

  test("can be requested without a schema", () => {
    const response_format = { type: "json_schema" } as never;
    expect(JSON.parse(generateText("Hello", { response_format }))).toBeInstanceOf(Object);
  });
});

describe("fillSchema", () => {
  test("ends the recursion of a recursive schema", () => {
    const node = {
      type: "object",
      properties: {
        value: text,
        next: { anyOf: [{ $ref: "#" }, { type: "null" }] },
        children: { type: "array", items: { $ref: "#" } },
      },
      required: ["value", "next", "children"],
    };
    const filled = fillSchema(node, new PromptValues("a tree with children and next"));
    expect(isValid(filled, node)).toBe(true);
  });

  test.each(["#/$defs/a b", "#/$defs/a%20b", "#/%24defs/a%20b"])(
    "resolves the reference %s",
    ($ref) => {
      const schema = { $ref, $defs: { "a b": { type: "integer" } } };
      expect(fillSchema(schema, new PromptValues("7"))).toBe(7);
    },
  );

  test("returns quickly for an infinite schema", () => {
    const properties = Object.fromEntries(
      "abcdefghij".split("").map((name) => [name, { $ref: "#" }]),
    );
    const infiniteSchema = { type: "object", properties, required: Object.keys(properties) };
    expect(fillSchema(infiniteSchema, new PromptValues("x"))).toBeInstanceOf(Object);
    expect(fillSchema({ $ref: "#" }, new PromptValues("x"))).toBe("x");
  });

  test("returns a valid value for any schema and text", () => {
    fc.assert(
      fc.property(schemas, fc.string({ maxLength: 60 }), (schema, text) => {
        const schemaWithDefinitions = { ...schema, $defs: definitions };
        const filled = fillSchema(schemaWithDefinitions, new PromptValues(text));
        expect(isValid(filled, schemaWithDefinitions), JSON.stringify([schema, filled])).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

const definitions: JsonObject = {
  Point: {
    type: "object",
    properties: { x: { type: "number" }, y: { type: "integer", minimum: 3 } },
    required: ["x", "y"],
  },
};

const { schemas } = fc.letrec<{ schemas: JsonObject; leaf: JsonObject }>((tie) => ({
  leaf: fc.oneof(
    fc.constant<JsonObject>({ type: "string" }),
    fc.record({ type: fc.constant("string"), maxLength: fc.nat(20) }),
    fc.record({ type: fc.constant("string"), minLength: fc.nat(20) }),
    fc.constantFrom<JsonObject>({ type: "string", format: "date" }, { type: "boolean" }),
    fc.record({
      type: fc.constantFrom("number", "integer"),
      minimum: fc.integer({ min: -9, max: 9 }),
    }),
    fc.record({ type: fc.constant("integer"), maximum: fc.integer({ min: -9, max: 9 }) }),
    fc.record({ type: fc.constant("integer"), multipleOf: fc.integer({ min: 1, max: 7 }) }),
    fc.record({ enum: fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: 1 }) }),
    fc.record({ const: fc.oneof(fc.string(), fc.integer(), fc.boolean()) }),
    fc.constantFrom<JsonObject>({ $ref: "#/$defs/Point" }, { type: ["string", "null"] }),
  ),
  schemas: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie("leaf"),
    fc.record({ anyOf: fc.array(tie("schemas"), { minLength: 1, maxLength: 3 }) }),
    fc.record({
      type: fc.constant("array"),
      items: tie("schemas"),
      minItems: fc.nat(3),
      maxItems: fc.integer({ min: 3, max: 5 }),
    }),
    fc
      .dictionary(fc.constantFrom("a", "b", "city", "path", "query", "count"), tie("schemas"))
      .chain((properties) =>
        fc.record({
          type: fc.constant("object"),
          properties: fc.constant(properties),
          required: fc.subarray(Object.keys(properties)),
        }),
      ),
  ),
}));

/** True if the value matches the schema; supports only the keywords that these tests use. */
function isValid(rootValue: JsonValue, root: JsonObject): boolean {
  return matches(rootValue, root);

  function matches(value: JsonValue | undefined, schema: JsonObject): boolean {
    if (schema["$ref"] === "#") return matches(value, root);
    if (schema["$ref"] === "#/$defs/Point")
      return matches(value, definitions["Point"] as JsonObject);
    if (schema["const"] !== undefined) return value === schema["const"];
    if (Array.isArray(schema["enum"])) return schema["enum"].includes(value as JsonValue);
    if (Array.isArray(schema["anyOf"]))
      return schema["anyOf"].some((alternative) => matches(value, alternative as JsonObject));
    const types = [schema["type"]].flat();
    const number = (name: string, defaultValue: number) => (schema[name] as number) ?? defaultValue;
    if (value === null) return types.includes("null");
    if (typeof value === "string")
      return (
        types.includes("string") &&
        value.length >= number("minLength", 0) &&
        value.length <= number("maxLength", Infinity)
      );
    if (typeof value === "boolean") return types.includes("boolean");
    if (typeof value === "number")
      return (
        (types.includes("number") || (types.includes("integer") && Number.isInteger(value))) &&
        value >= number("minimum", -Infinity) &&
        value <= number("maximum", Infinity) &&
        (schema["multipleOf"] === undefined || value % number("multipleOf", 1) === 0)
      );
    if (Array.isArray(value))
      return (
        types.includes("array") &&
        value.length >= number("minItems", 0) &&
        value.length <= number("maxItems", Infinity) &&
        value.every((item) => matches(item, schema["items"] as JsonObject))
      );
    const properties = schema["properties"] as JsonObject;
    return (
      value !== undefined &&
      types.includes("object") &&
      (schema["required"] as string[]).every((name) => name in value) &&
      Object.entries(value).every(([name, item]) => matches(item, properties[name] as JsonObject))
    );
  }
}
