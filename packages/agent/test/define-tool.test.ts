import { defineTool, type StandardSchema, type ToolDefinition } from "@deltawire/agent";
import { expect, test } from "vitest";
import { z } from "zod";
import { toolContext } from "./tool-context.ts";

const context = toolContext();

test("defineTool fills in safe defaults", () => {
  const tool = defineTool({ name: "ping", description: "Answers.", run: () => "pong" });
  expect(tool).toMatchObject({
    name: "ping",
    parameters: { type: "object", properties: {} },
    effect: "once",
    approval: { call: "auto" },
    allowsAnyArguments: true,
    timeoutMs: 60_000,
    parallel: false,
  });
  expect(tool).not.toHaveProperty("allows");
  expect(tool).not.toHaveProperty("unmask");
  // Without a result policy, the agent's applies.
  expect(tool).not.toHaveProperty("approval.result");
  expect(tool.check({})).toEqual({ ok: true, value: {} });
  expect(tool.run({}, context)).toBe("pong");
});

test("pure tools run in parallel by default", () => {
  const pure = { name: "look", description: "", effect: "pure", run: () => 1 } as const;
  expect(defineTool(pure).parallel).toBe(true);
  expect(defineTool({ ...pure, parallel: false }).parallel).toBe(false);
});

test("the approval of a tool is a policy for calls, or an object with policies for calls and results", () => {
  const base = { name: "act", description: "", run: () => 1 };
  expect(defineTool({ ...base, approval: "ask_once" }).approval).toEqual({
    call: "ask_once",
  });
  expect(defineTool({ ...base, approval: { result: "on_error" } }).approval).toEqual({
    call: "auto",
    result: "on_error",
  });
});

test.each(["a", "_x", "get-weather_2", "A".repeat(64)])("%j is a valid tool name", (name) => {
  expect(defineTool({ name, description: "", run: () => 1 }).name).toBe(name);
});

test.each(["", "1st", "a.b", "a b", "-x", "é", "a\n", "A".repeat(65)])(
  "%j is not a valid tool name",
  (name) => {
    expect(() => defineTool({ name, description: "", run: () => 1 })).toThrow(TypeError);
  },
);

test("a zod schema is converted to JSON Schema for the model, and validates and transforms the input", async () => {
  const tool = defineTool({
    name: "weather",
    description: "",
    input: z.object({
      city: z.string().trim().describe("Where"),
      days: z.number().int().min(1).default(3),
      place: z.object({ tags: z.array(z.string()) }).optional(),
    }),
    run: ({ city, days }) => `${city} ${days.toFixed(0)}`,
  });
  expect(tool.parameters).toEqual({
    type: "object",
    properties: {
      city: { type: "string", description: "Where" },
      days: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 3 },
      place: {
        type: "object",
        properties: { tags: { type: "array", items: { type: "string" } } },
        required: ["tags"],
      },
    },
    required: ["city"],
  });
  expect(await tool.check({ city: " Graz " })).toEqual({
    ok: true,
    value: { city: "Graz", days: 3 },
  });
  expect(tool.run({ city: "Graz", days: 3 }, context)).toBe("Graz 3");
  const checked = await tool.check({ city: 3, place: { tags: ["a", 1] } });
  expect(checked).toEqual({
    ok: false,
    problems: [
      expect.stringMatching(/^city: .*expected string/),
      expect.stringMatching(/^place\.tags\[1\]: .*expected string/),
    ],
  });
});

const even: StandardSchema<{ even: number }> = {
  "~standard": {
    version: 1,
    vendor: "by-hand",
    validate: async (value) => {
      const { even: number } = value as { even?: unknown };
      if (typeof number === "number" && number % 2 === 0) return { value: { even: number } };
      return {
        issues: [{ message: "is odd", path: [{ key: "even" }] }, { message: "not divisible" }],
      };
    },
  },
};

test("any Standard Schema is accepted, including asynchronous ones", async () => {
  const parameters = { type: "object", properties: { even: { type: "number" } } };
  const tool = defineTool({
    name: "half",
    description: "",
    input: even,
    parameters,
    allows: (input) => input.even < 10,
    run: (input) => input.even / 2,
  });
  expect(tool.parameters).toBe(parameters);
  expect(await tool.check({ even: 4, more: 1 })).toEqual({ ok: true, value: { even: 4 } });
  expect(await tool.check({ even: 5 })).toEqual({
    ok: false,
    problems: ["even: is odd", "not divisible"],
  });
  expect(tool.allows?.({ even: 4 })).toBe(true);
  expect(tool.allows?.({ even: 14 })).toBe(false);
});

test("a Standard Schema that cannot be converted to JSON Schema requires parameters", () => {
  expect(() => defineTool({ name: "half", description: "", input: even, run: () => 1 })).toThrow(
    /^half: this by-hand schema cannot be converted to JSON Schema; pass the JSON Schema as `parameters`/,
  );
});

test("a schema that JSON Schema cannot express is rejected with the reason", () => {
  const input = z.object({ when: z.date() });
  expect(() => defineTool({ name: "at", description: "", input, run: () => 1 })).toThrow(
    /^at: this zod schema cannot be converted to JSON Schema \(.*Date.*\)/,
  );
});

test("the input schema of a tool must describe an object", () => {
  const input = z.string();
  expect(() => defineTool({ name: "say", description: "", input, run: () => 1 })).toThrow(
    'say: the input schema of a tool must have the type "object", got "string"',
  );
});

test("a JSON Schema validates the input, whose type can be given as a type parameter", async () => {
  const tool = defineTool<{ city: string }>({
    name: "weather",
    description: "",
    input: { properties: { city: { type: "string" } }, required: ["city"] },
    run: ({ city }) => city.toUpperCase(),
  });
  expect(tool.parameters["type"]).toBe("object");
  expect(await tool.check({ city: "Graz" })).toEqual({ ok: true, value: { city: "Graz" } });
  expect(await tool.check({ city: 3 })).toEqual({
    ok: false,
    problems: ["city: expected a string, got 3"],
  });
  expect(await tool.check([])).toEqual({
    ok: false,
    problems: ["expected an object, got an array"],
  });
});

test("the timeout of a tool must be greater than 0", () => {
  for (const timeoutMs of [0, -1, Number.NaN])
    expect(() => defineTool({ name: "x", description: "", timeoutMs, run: () => 1 })).toThrow(
      TypeError,
    );
});

test("the names of built-in tools are reserved", () => {
  for (const name of ["ask_for_help", "read_result"])
    expect(() => defineTool({ name, description: "", run: () => 1 })).toThrow(
      new TypeError(`"${name}" is the name of a built-in tool; choose another name`),
    );
});

test.each<[string, object, string]>([
  ["no name", { name: undefined }, "invalid tool name"],
  ["no description", { description: undefined }, "the description of the tool act"],
  ["no run function", { run: undefined }, "the tool act needs a run function"],
  ["an invalid effect", { effect: "twice" }, '"pure", "idempotent", "once", got "twice"'],
  ["an invalid approval policy", { approval: "ask" }, '"ask_once", "ask_always", got "ask"'],
  ["a former approval policy", { approval: "ask once" }, '"ask once" was renamed to "ask_once"'],
  [
    "a former result policy",
    { approval: { call: "ask_always", result: "on error" } },
    '"on error" was renamed to "on_error"',
  ],
  ["null as the approval policy", { approval: null }, "got null"],
  ["an invalid result policy", { approval: { result: "ask" } }, '"on_error"'],
  [
    "an unknown key in the approval policy",
    { approval: { results: "always" } },
    'unknown key "results"',
  ],
])("defineTool throws for a tool with %s", (_what, overrides, message) => {
  const definition = { name: "act", description: "Acts.", run: () => 1, ...overrides };
  const define = (): unknown => defineTool(definition as ToolDefinition<unknown>);
  expect(define).toThrow(TypeError);
  expect(define).toThrow(message);
});

test("a JSON Schema that cannot be checked completely is rejected", () => {
  const define = (input: ToolDefinition<unknown>["input"]) => () =>
    defineTool({ name: "say", description: "", input: input ?? {}, run: () => 1 });
  expect(define({ properties: { a: { $ref: "#/$defs/missing" } } })).toThrow(
    "say: the input schema cannot be checked: $ref #/$defs/missing is not in the schema",
  );
  expect(define({ properties: { a: { pattern: "(" } } })).toThrow("the pattern ( cannot be used");
  expect(define({ $schema: "http://json-schema.org/draft-07/schema#" })().parameters).toEqual({
    type: "object",
    properties: {},
  });
});
