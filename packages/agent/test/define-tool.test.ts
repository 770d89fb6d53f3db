import { defineTool, type StandardSchema, type ToolDefinition } from "@deltawire/agent";
import { expect, test } from "vitest";
import { z } from "zod";
import { toolContext } from "./tool-context.ts";

const context = toolContext();

test("what a definition leaves out is filled in with what is safe", () => {
  const tool = defineTool({ name: "ping", description: "Answers.", run: () => "pong" });
  expect(tool).toMatchObject({
    name: "ping",
    parameters: { type: "object", properties: {} },
    effect: "once",
    approval: { call: "auto" },
    anyArguments: true,
    timeoutMs: 60_000,
    parallel: false,
  });
  expect(tool).not.toHaveProperty("allows");
  expect(tool).not.toHaveProperty("unmask");
  // Its agent says when results are held.
  expect(tool).not.toHaveProperty("approval.result");
  expect(tool.check({})).toEqual({ ok: true, value: {} });
  expect(tool.run({}, context)).toBe("pong");
});

test("a pure tool may run beside others, unless it says otherwise", () => {
  const pure = { name: "look", description: "", effect: "pure", run: () => 1 } as const;
  expect(defineTool(pure).parallel).toBe(true);
  expect(defineTool({ ...pure, parallel: false }).parallel).toBe(false);
});

test("an approval may be one word or two", () => {
  const base = { name: "act", description: "", run: () => 1 };
  expect(defineTool({ ...base, approval: "ask once" }).approval).toEqual({
    call: "ask once",
  });
  expect(defineTool({ ...base, approval: { result: "on error" } }).approval).toEqual({
    call: "auto",
    result: "on error",
  });
});

test.each(["a", "_x", "get-weather_2", "A".repeat(64)])("%s is a name", (name) => {
  expect(defineTool({ name, description: "", run: () => 1 }).name).toBe(name);
});

test.each(["", "1st", "a.b", "a b", "-x", "é", "a\n", "A".repeat(65)])("%j is no name", (name) => {
  expect(() => defineTool({ name, description: "", run: () => 1 })).toThrow(TypeError);
});

test("a zod schema tells the model its JSON Schema, checks the input and transforms it", async () => {
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
      return { issues: [{ message: "is odd", path: [{ key: "even" }] }, { message: "so no" }] };
    },
  },
};

test("any Standard Schema will do, also one that takes its time", async () => {
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
    problems: ["even: is odd", "so no"],
  });
  expect(tool.allows?.({ even: 4 })).toBe(true);
  expect(tool.allows?.({ even: 14 })).toBe(false);
});

test("a Standard Schema without a JSON Schema has to be given one", () => {
  expect(() => defineTool({ name: "half", description: "", input: even, run: () => 1 })).toThrow(
    /^half: this schema of by-hand cannot tell its JSON Schema: give it as `parameters`/,
  );
});

test("a schema that JSON Schema cannot say is refused with the reason", () => {
  const input = z.object({ when: z.date() });
  expect(() => defineTool({ name: "at", description: "", input, run: () => 1 })).toThrow(
    /^at: this schema of zod cannot be told as JSON Schema \(.*Date.*\)/,
  );
});

test("the input of a tool is an object", () => {
  const input = z.string();
  expect(() => defineTool({ name: "say", description: "", input, run: () => 1 })).toThrow(
    'say: the input of a tool must be an object, and not "string"',
  );
});

test("a JSON Schema checks too, and what the tool takes may be said by its type", async () => {
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
    problems: ["expected an object, got a list"],
  });
});

test("a time limit is more than nothing", () => {
  for (const timeout of [0, -1, Number.NaN])
    expect(() => defineTool({ name: "x", description: "", timeout, run: () => 1 })).toThrow(
      TypeError,
    );
});

test("the names of the runtime's own tools are not given away", () => {
  for (const name of ["ask_for_help", "read_result"])
    expect(() => defineTool({ name, description: "", run: () => 1 })).toThrow(
      new TypeError(`"${name}" is the name of a tool that every agent may have: take another`),
    );
});

test.each<[string, object, string]>([
  ["no name", { name: undefined }, "the tool's name"],
  ["no description", { description: undefined }, "the description of the tool act"],
  ["nothing to run", { run: undefined }, "the tool act needs a function run"],
  ["an effect that is none", { effect: "twice" }, '"pure", "idempotent", "once", not "twice"'],
  ["an approval that is none", { approval: "ask" }, '"ask once", "ask always", not "ask"'],
  ["an approval of nothing", { approval: null }, "not null"],
  ["a policy of results that is none", { approval: { result: "ask" } }, '"on error"'],
  ["a policy of what nobody asks about", { approval: { results: "always" } }, 'no "results"'],
])("a tool with %s is refused where it is defined", (_what, wrong, message) => {
  const definition = { name: "act", description: "Acts.", run: () => 1, ...wrong };
  const define = (): unknown => defineTool(definition as ToolDefinition<unknown>);
  expect(define).toThrow(TypeError);
  expect(define).toThrow(message);
});

test("a JSON Schema that cannot be fully checked is refused", () => {
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
