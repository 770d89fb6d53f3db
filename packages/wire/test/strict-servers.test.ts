import {
  chatRequest,
  decodeResponsesRequest,
  genericProfile,
  withFlags,
  type ChatMessage,
  type ChatRequest,
  type JsonObject,
  type Profile,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { upstreamRules } from "../check/upstream-rules.ts";
import { history, send, words } from "./histories.ts";

describe("a server that lets no role speak twice in a row", () => {
  const flags = { sameRoleTwice: false } as const;

  test("hears two messages of the user as one, pictures included", () => {
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

  test("still gets calls and results each for themselves", () => {
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

  test("never hears a role twice, and no word is lost", () => {
    const profile = withFlags(genericProfile, { ...flags, laterSystem: "hoist" });
    fc.assert(
      fc.property(history, (input) => {
        const sent = send(input, profile);
        expect(sent.messages.filter(saysMoreThanTheLast)).toEqual([]);
        expect(upstreamRules["tool-adjacency"](sent)).toBeUndefined();
        expect(words(sent.messages)).toEqual(words(input));
      }),
      runs(200),
    );
  });

  function saysMoreThanTheLast({ role }: ChatMessage, at: number, all: ChatMessage[]): boolean {
    const last = all[at - 1];
    return role !== "tool" && last?.role === role && last["tool_calls"] === undefined;
  }
});

describe("a server that takes calls only where tools are offered", () => {
  const flags = { callsWithoutTools: false } as const;
  const input = [
    { role: "user", content: "look" },
    { role: "assistant", content: "I will." },
    call("call_a", "look"),
    output("call_a", "A"),
    { role: "user", content: "Summarise all that." },
  ];

  test("is told in words of the calls of a request without tools", () => {
    expect(translate({ input }, flags).messages).toEqual([
      { role: "user", content: "look" },
      { role: "assistant", content: "I will.\n\n[Called look with {}]" },
      { role: "user", content: "[Result of look]\n\nA" },
      { role: "user", content: "Summarise all that." },
    ]);
  });

  test("gets them as calls where a tool is offered", () => {
    const tools = [{ type: "function", name: "look" }];
    expect(translate({ input, tools }, flags)).toEqual(translate({ input, tools }));
  });

  test("gets no call and no result of any history, and every word of it", () => {
    const profile = withFlags(genericProfile, flags);
    fc.assert(
      fc.property(history, (items) => {
        const { messages } = send(items, profile);
        expect(messages.filter((one) => one.role === "tool" || one["tool_calls"])).toEqual([]);
        expect(words(messages)).toEqual(words(items));
      }),
      runs(200),
    );
  });
});

test("a server that refuses strict gets it neither of a tool nor of a format", () => {
  const request = {
    input: "hi",
    tools: [{ type: "function", name: "look", parameters: object({}), strict: true }],
    text: { format: { type: "json_schema", name: "o", schema: object({}), strict: true } },
  };
  expect(JSON.stringify(translate(request))).toContain('"strict":true');
  expect(JSON.stringify(translate(request, { strictSchemas: false }))).not.toContain("strict");
});

describe("Google's schema", () => {
  test("keeps what it knows and drops or translates the rest", () => {
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
    expect(flavoured(schema)).toEqual({
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

  test("has no choice at the top: what the choices may hold is offered there", () => {
    const schema = {
      type: "object",
      oneOf: [object({ path: { type: "string" } }), object({ url: { type: "string" } })],
      properties: { id: { type: "integer" } },
      required: ["id"],
    };
    expect(flavoured(schema)).toEqual({
      type: "object",
      properties: { path: { type: "string" }, url: { type: "string" }, id: { type: "integer" } },
      required: ["id"],
    });
  });

  test("ends where a schema refers to itself", () => {
    const tree = object({ left: { $ref: "#/$defs/tree" }, other: { $ref: "#/nowhere" } });
    const wide = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [`p${at}`, { $ref: `#/$defs/d${at}` }]),
    );
    const defs = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [`d${at}`, object(wide)]),
    );
    expect(flavoured({ ...object({ tree: { $ref: "#/$defs/tree" } }), $defs: { tree } })).toEqual(
      object({
        tree: object({ left: { type: "object" }, other: { type: "string" } }),
      }),
    );
    expect(JSON.stringify(flavoured({ ...object(wide), $defs: defs })).length).toBeLessThan(5e5);
  });

  test("has none but Google's keywords, whatever comes in", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), anySchema, (json, schema) => {
        for (const given of [schema, { ...schema, properties: { json } }])
          expect(foreignKeywords(flavoured(given as JsonObject))).toEqual([]);
      }),
      runs(200),
    );
  });
});

const known = new Set(
  "type format description nullable enum items properties required anyOf minimum maximum".split(
    " ",
  ),
);

const { schema: anySchema } = fc.letrec((again) => ({
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
        properties: fc.dictionary(fc.constantFrom("a", "not", "__proto__"), again("schema")),
        required: fc.array(fc.constantFrom("a", "z"), { maxLength: 2 }),
        items: again("schema"),
        anyOf: fc.array(again("schema"), { maxLength: 3 }),
        allOf: fc.array(again("schema"), { maxLength: 2 }),
        $ref: fc.constantFrom("#", "#/items", "#/properties/a"),
        additionalProperties: again("schema"),
      },
      { requiredKeys: [] },
    ),
  ),
}));

function foreignKeywords(schema: JsonObject): string[] {
  const inner = [
    ...Object.values((schema["properties"] ?? {}) as JsonObject),
    ...((schema["anyOf"] ?? []) as JsonObject[]),
    ...(schema["items"] === undefined ? [] : [schema["items"]]),
  ] as JsonObject[];
  return [
    ...Object.keys(schema).filter((keyword) => !known.has(keyword)),
    ...inner.flatMap(foreignKeywords),
  ];
}

function flavoured(parameters: JsonObject): JsonObject {
  const tools = [{ type: "function", name: "f", parameters }];
  const [tool] = translate({ input: "hi", tools }, { schemaFlavour: "gemini" }).tools ?? [];
  return (tool?.type === "function" ? tool.function.parameters : undefined) ?? {};
}

function translate(request: object, flags: Partial<Profile> = {}): ChatRequest {
  const decoded = decodeResponsesRequest({ model: "m", ...structuredClone(request) });
  return chatRequest(decoded, { profile: withFlags(genericProfile, flags) }).body;
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
