import {
  translateResponsesRequest,
  decodeResponsesRequest,
  genericProfile,
  withProfileFlags,
  type ChatMessage,
  type ChatRequest,
  type JsonObject,
  type UpstreamProfile,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { upstreamRules } from "../check/upstream-rules.ts";
import { arbitraryHistory, translateHistory, findTexts } from "./arbitrary-histories.ts";

describe("a server that rejects consecutive messages of a role", () => {
  const flags = { consecutiveRoles: false } as const;

  test("gets consecutive user messages as one, including images", () => {
    const { messages } = translate(
      {
        instructions: "be kind",
        input: [
          { role: "user", content: "<environment>" },
          { role: "user", content: "hi" },
          { role: "user", content: [{ type: "input_image", image_url: "https://a/b.png" }] },
        ],
      },
      flags,
    );
    expect(messages).toEqual([
      { role: "system", content: "be kind" },
      {
        role: "user",
        content: [
          { type: "text", text: "<environment>\n\nhi" },
          { type: "image_url", image_url: { url: "https://a/b.png" } },
        ],
      },
    ]);
  });

  test("gets calls and results as separate messages", () => {
    const input = [
      { role: "user", content: "look" },
      call("call_a", "look"),
      call("call_b", "look"),
      output("call_a", "A"),
      output("call_b", "B"),
      { role: "assistant", content: "Well." },
    ];
    expect(translate({ input }, flags)).toEqual(translate({ input }));
  });

  test("gets no role twice in a row for any history, and no text is lost", () => {
    const profile = withProfileFlags(genericProfile, { ...flags, lateSystemMessages: "hoist" });
    fc.assert(
      fc.property(arbitraryHistory, (input) => {
        const request = translateHistory(input, profile);
        expect(request.messages.filter(repeatsRole)).toEqual([]);
        expect(upstreamRules["tool-adjacency"](request)).toBeUndefined();
        expect(findTexts(request.messages)).toEqual(findTexts(input));
      }),
      propertyRuns(200),
    );
  });

  function repeatsRole({ role }: ChatMessage, at: number, all: ChatMessage[]): boolean {
    const last = all[at - 1];
    return role !== "tool" && last?.role === role && last["tool_calls"] === undefined;
  }
});

describe("a server that accepts calls only with tools", () => {
  const flags = { callsWithoutTools: false } as const;
  const input = [
    { role: "user", content: "look" },
    { role: "assistant", content: "I will." },
    call("call_a", "look"),
    output("call_a", "A"),
    { role: "user", content: "Summarise all that." },
  ];

  test("gets calls as text in a request without tools", () => {
    expect(translate({ input }, flags).messages).toEqual([
      { role: "user", content: "look" },
      { role: "assistant", content: "I will.\n\n[Called look with {}]" },
      { role: "user", content: "[Result of look]\n\nA" },
      { role: "user", content: "Summarise all that." },
    ]);
  });

  test("gets calls unchanged if a tool is offered", () => {
    const tools = [{ type: "function", name: "look" }];
    expect(translate({ input, tools }, flags)).toEqual(translate({ input, tools }));
  });

  test("gets all text but no calls or results, for any history", () => {
    const profile = withProfileFlags(genericProfile, flags);
    fc.assert(
      fc.property(arbitraryHistory, (items) => {
        const { messages } = translateHistory(items, profile);
        expect(
          messages.filter((message) => message.role === "tool" || message["tool_calls"]),
        ).toEqual([]);
        expect(findTexts(messages)).toEqual(findTexts(items));
      }),
      propertyRuns(200),
    );
  });
});

test("a server that rejects the field strict does not get it in tools or formats", () => {
  const request = {
    input: "hi",
    tools: [{ type: "function", name: "look", parameters: object({}), strict: true }],
    text: { format: { type: "json_schema", name: "o", schema: object({}), strict: true } },
  };
  expect(JSON.stringify(translate(request))).toContain('"strict":true');
  expect(JSON.stringify(translate(request, { strictSchemas: false }))).not.toContain("strict");
});

describe("a schema for Google", () => {
  test("has only known keywords; others are dropped or converted", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      title: "Search",
      description: "Finds things.",
      properties: {
        query: { type: "string", minLength: 1, pattern: "^a", format: "uri", examples: ["x"] },
        when: { type: ["string", "null"], format: "date-time", default: null },
        mode: { const: "fast" },
        level: { type: "integer", enum: [1, 2], description: "How deep." },
        sort: { enum: ["up", "", "down"] },
        tags: { type: "array", uniqueItems: true, maxItems: 9 },
        target: { oneOf: [{ $ref: "#/$defs/point" }, { type: "string" }], description: "Where." },
        maybe: { anyOf: [{ $ref: "#/$defs/point" }, { type: "null" }] },
        extra: { type: "object", additionalProperties: { type: "string" } },
        anything: true,
        both: { allOf: [{ properties: { a: {} } }, { properties: { b: {} }, required: ["b"] }] },
      },
      required: ["query", "gone"],
      additionalProperties: false,
      $defs: { point: object({ x: { type: "number", exclusiveMinimum: 0, maximum: 9 } }) },
    };
    const point = { type: "object", properties: { x: { type: "number", maximum: 9 } } };
    expect(toGeminiSchema(schema)).toEqual({
      type: "object",
      description: "Finds things.",
      properties: {
        query: { type: "string" },
        when: { type: "string", format: "date-time", nullable: true },
        mode: { type: "string", enum: ["fast"] },
        level: { type: "integer", description: "How deep. One of: 1, 2." },
        sort: { type: "string", enum: ["up", "down"] },
        tags: { type: "array", items: { type: "string" } },
        target: {
          anyOf: [
            { ...point, description: "Where." },
            { type: "string", description: "Where." },
          ],
        },
        maybe: { ...point, nullable: true },
        extra: { type: "object" },
        anything: { type: "string" },
        both: {
          type: "object",
          properties: { a: { type: "string" }, b: { type: "string" } },
          required: ["b"],
        },
      },
      required: ["query"],
    });
  });

  test("has the properties of its alternatives merged at the top level", () => {
    const schema = {
      type: "object",
      oneOf: [object({ path: { type: "string" } }), object({ url: { type: "string" } })],
      properties: { id: { type: "integer" } },
      required: ["id"],
    };
    expect(toGeminiSchema(schema)).toEqual({
      type: "object",
      properties: { path: { type: "string" }, url: { type: "string" }, id: { type: "integer" } },
      required: ["id"],
    });
  });

  test("has recursive references only up to a limit", () => {
    const tree = object({ left: { $ref: "#/$defs/tree" }, other: { $ref: "#/nowhere" } });
    const wideProperties = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [`p${at}`, { $ref: `#/$defs/d${at}` }]),
    );
    const defs = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [`d${at}`, object(wideProperties)]),
    );
    expect(
      toGeminiSchema({ ...object({ tree: { $ref: "#/$defs/tree" } }), $defs: { tree } }),
    ).toEqual(
      object({
        tree: object({ left: { type: "object" }, other: { type: "string" } }),
      }),
    );
    expect(
      JSON.stringify(toGeminiSchema({ ...object(wideProperties), $defs: defs })).length,
    ).toBeLessThan(5e5);
  });

  test("contains only Google's keywords for any input", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), anySchema, (json, schema) => {
        for (const parameters of [schema, { ...schema, properties: { json } }])
          expect(findUnknownKeywords(toGeminiSchema(parameters as JsonObject))).toEqual([]);
      }),
      propertyRuns(200),
    );
  });
});

const geminiKeywords = new Set(
  "type format description nullable enum items properties required anyOf minimum maximum".split(
    " ",
  ),
);

const { schema: anySchema } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.record(
      {
        type: fc.constantFrom("string", "integer", "null", ["string", "null"], ["array", "object"]),
        enum: fc.array(fc.jsonValue({ maxDepth: 0 }), { maxLength: 3 }),
        $schema: fc.constant("x"),
        const: fc.jsonValue({ maxDepth: 0 }),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        properties: fc.dictionary(fc.constantFrom("a", "not", "__proto__"), tie("schema")),
        required: fc.array(fc.constantFrom("a", "z"), { maxLength: 2 }),
        items: tie("schema"),
        anyOf: fc.array(tie("schema"), { maxLength: 3 }),
        allOf: fc.array(tie("schema"), { maxLength: 2 }),
        $ref: fc.constantFrom("#", "#/items", "#/properties/a"),
        additionalProperties: tie("schema"),
      },
      { requiredKeys: [] },
    ),
  ),
}));

function findUnknownKeywords(schema: JsonObject): string[] {
  const inner = [
    ...Object.values((schema["properties"] ?? {}) as JsonObject),
    ...((schema["anyOf"] ?? []) as JsonObject[]),
    ...(schema["items"] === undefined ? [] : [schema["items"]]),
  ] as JsonObject[];
  return [
    ...Object.keys(schema).filter((keyword) => !geminiKeywords.has(keyword)),
    ...inner.flatMap(findUnknownKeywords),
  ];
}

function toGeminiSchema(parameters: JsonObject): JsonObject {
  const tools = [{ type: "function", name: "f", parameters }];
  const [tool] = translate({ input: "hi", tools }, { schemaDialect: "gemini" }).tools ?? [];
  return (tool?.type === "function" ? tool.function.parameters : undefined) ?? {};
}

function translate(request: object, flags: Partial<UpstreamProfile> = {}): ChatRequest {
  const decoded = decodeResponsesRequest({ model: "m", ...structuredClone(request) });
  return translateResponsesRequest(decoded, { profile: withProfileFlags(genericProfile, flags) })
    .body;
}

function object(properties: object): JsonObject {
  return { type: "object", properties: properties as JsonObject };
}

function call(id: string, name: string): object {
  return { type: "function_call", call_id: id, name, arguments: "{}" };
}

function output(id: string, value: unknown): object {
  return { type: "function_call_output", call_id: id, output: value };
}
