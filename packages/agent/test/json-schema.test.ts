import type { JsonObject } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { workTime } from "../../../test/work-time.ts";
import { problemsByJsonSchema, tooComplex } from "../src/schemas/json-schema.ts";
import { statefulPattern, statefulText } from "./privacy/stateful-pattern.ts";

const weather: JsonObject = {
  type: "object",
  properties: {
    location: {
      type: "object",
      properties: { city: { type: "string" }, "zip code": { type: ["string", "null"] } },
      required: ["city"],
      additionalProperties: false,
    },
    days: { type: "array", items: { type: "integer" } },
  },
  required: ["location"],
};

test("what fits has no problems", () => {
  const value = { location: { city: "Graz", "zip code": null }, days: [1, 2], more: true };
  expect(problemsByJsonSchema(weather, value)).toEqual([]);
});

test("a long text is told by its length: half of a private value would not be masked", () => {
  const value = { location: { city: "Graz" }, days: [`${"x".repeat(50)} ada@example.com`] };
  expect(problemsByJsonSchema(weather, value)).toEqual([
    "days[0]: expected a whole number, got a text of 66 characters",
  ]);
});

test("every problem says where it is, what was expected and what came", () => {
  const value = { location: { city: 3, "zip code": 8, town: "x" }, days: [1, 2.5, "3"] };
  expect(problemsByJsonSchema(weather, value)).toEqual([
    "location.city: expected a string, got 3",
    'location["zip code"]: expected a string or null, got 8',
    "location.town: is not known; known are city, zip code",
    "days[1]: expected a whole number, got 2.5",
    'days[2]: expected a whole number, got "3"',
  ]);
  expect(problemsByJsonSchema(weather, {})).toEqual(["location: is missing"]);
  expect(problemsByJsonSchema(weather, { location: {} })).toEqual(["location.city: is missing"]);
  expect(problemsByJsonSchema(weather, null)).toEqual(["expected an object, got null"]);
});

describe("keywords", () => {
  const cases: [string, JsonObject, good: unknown[], bad: [unknown, string][]][] = [
    [
      "type",
      { type: "number" },
      [1, 1.5, -0],
      [
        ["1", 'expected a number, got "1"'],
        [true, "expected a number, got true"],
        [[], "expected a number, got a list"],
      ],
    ],
    ["integer", { type: "integer" }, [1, 2.0], [[1.5, "expected a whole number, got 1.5"]]],
    ["object", { type: "object" }, [{}], [[[], "expected an object, got a list"]]],
    [
      "enum",
      { enum: ["a", 1, null] },
      ["a", 1, null],
      [["b", 'must be one of "a", 1, null; got "b"']],
    ],
    [
      "const",
      { const: { a: [1] } },
      [{ a: [1] }],
      [[{ a: [2] }, "must be an object, got an object"]],
    ],
    ["minimum", { minimum: 2 }, [2, "x"], [[1, "must be at least 2, got 1"]]],
    ["maximum", { maximum: 2 }, [2], [[3, "must be at most 2, got 3"]]],
    ["exclusiveMinimum", { exclusiveMinimum: 2 }, [2.1], [[2, "must be more than 2, got 2"]]],
    ["exclusiveMaximum", { exclusiveMaximum: 2 }, [1.9], [[2, "must be less than 2, got 2"]]],
    ["multipleOf", { multipleOf: 0.1 }, [0.3, 7], [[0.35, "must be a multiple of 0.1, got 0.35"]]],
    [
      "length",
      { minLength: 1, maxLength: 2 },
      ["a", "😀😀"],
      [
        ["", "must have at least 1 character, has 0"],
        ["abc", "must have at most 2 characters, has 3"],
      ],
    ],
    ["pattern", { pattern: "^a+$" }, ["aa", 5], [["b", 'must have the pattern ^a+$, got "b"']]],
    [
      "items",
      { minItems: 1, maxItems: 2, uniqueItems: true },
      [
        [1],
        [
          { a: 1, b: 2 },
          { a: 2, b: 1 },
        ],
      ],
      [
        [[], "must have at least 1 entry, has 0"],
        [[1, 2, 3], "must have at most 2 entries, has 3"],
        [
          [
            { a: 1, b: 2 },
            { b: 2, a: 1 },
          ],
          "must not have the same entry twice",
        ],
      ],
    ],
    [
      "prefixItems",
      { prefixItems: [{ type: "string" }], items: { type: "number" } },
      [["a", 1, 2], []],
      [
        [[1], "[0]: expected a string, got 1"],
        [["a", "b"], '[1]: expected a number, got "b"'],
      ],
    ],
    [
      "items of the older drafts",
      { items: [{ type: "string" }], additionalItems: false },
      [["a"]],
      [[["a", 1], "[1]: is not allowed"]],
    ],
    [
      "additionalProperties",
      { properties: { a: true }, additionalProperties: { type: "number" } },
      [{ a: "x", b: 1 }],
      [[{ b: "x" }, 'b: expected a number, got "x"']],
    ],
    [
      "patternProperties",
      { patternProperties: { "^x-": { type: "string" } }, additionalProperties: false },
      [{ "x-a": "1" }],
      [
        [{ "x-a": 1 }, "x-a: expected a string, got 1"],
        [{ y: 1 }, "y: is not known"],
      ],
    ],
    [
      "propertyNames",
      { propertyNames: { maxLength: 2 } },
      [{ ab: 1 }],
      [[{ abc: 1 }, "abc (its name): must have at most 2 characters, has 3"]],
    ],
    [
      "minProperties",
      { minProperties: 1, maxProperties: 1 },
      [{ a: 1 }],
      [
        [{}, "must have at least 1 property, has 0"],
        [{ a: 1, b: 1 }, "must have at most 1 property, has 2"],
      ],
    ],
    [
      "anyOf",
      { anyOf: [{ type: "string" }, { type: "null" }] },
      ["a", null],
      [[1, "fits none of its forms (expected a string, got 1; or expected null, got 1)"]],
    ],
    [
      "oneOf",
      { oneOf: [{ type: "integer" }, { minimum: 5 }] },
      [1, 5.5],
      [
        [7, "fits 2 of the forms of which it must fit one"],
        [
          1.5,
          "fits none of its forms (expected a whole number, got 1.5; or must be at least 5, got 1.5)",
        ],
      ],
    ],
    [
      "allOf",
      { allOf: [{ minimum: 1 }, { maximum: 2 }] },
      [1.5],
      [[3, "must be at most 2, got 3"]],
    ],
    ["not", { not: { type: "string" } }, [1], [["a", "has a form that is not allowed"]]],
    [
      "$ref",
      { $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "string" } } },
      ["x"],
      [[1, "expected a string, got 1"]],
    ],
    [
      "nullable",
      { type: "string", nullable: true },
      [null, "a"],
      [[1, "expected a string, got 1"]],
    ],
  ];

  test.each(cases)("%s", (_, schema, good, bad) => {
    for (const value of good) expect(problemsByJsonSchema(schema, value)).toEqual([]);
    for (const [value, problem] of bad)
      expect(problemsByJsonSchema(schema, value)).toEqual([problem]);
  });

  test("a schema may refer to itself, for trees", () => {
    const tree: JsonObject = {
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
      required: ["name"],
    };
    expect(problemsByJsonSchema(tree, { name: "a", children: [{ name: "b" }] })).toEqual([]);
    expect(
      problemsByJsonSchema(tree, { name: "a", children: [{ name: "b", children: [{}] }] }),
    ).toEqual(["children[0].children[0].name: is missing"]);
  });
});

describe("what others wrote", () => {
  test("keywords that are unknown or not well formed forbid nothing", () => {
    const odd: JsonObject = {
      type: "thing",
      format: "email",
      minimum: "1",
      required: "a",
      properties: [],
      pattern: "(",
      enum: "x",
      $ref: "https://pages.example/schema",
      items: 7,
      "x-vendor": true,
    };
    for (const value of [1, "a", null, [1], { a: 1 }])
      expect(problemsByJsonSchema(odd, value)).toEqual([]);
  });

  test("a schema that refers to nothing but itself comes to an end", () => {
    expect(problemsByJsonSchema({ $ref: "#" }, 1)).toEqual(["it is nested too deeply"]);
    expect(problemsByJsonSchema({ anyOf: [{ $ref: "#" }] }, 1)).toEqual([
      "it is nested too deeply",
    ]);
  });

  test("a value that is nested without end comes to one", () => {
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as unknown;
    expect(problemsByJsonSchema({ items: { $ref: "#" } }, deep)).toEqual([
      "it is nested too deeply",
    ]);
    expect(problemsByJsonSchema({ const: 1 }, deep)).toEqual(["it is nested too deeply"]);
  });

  test("names of Object's own are names like any other", () => {
    const schema: JsonObject = { required: ["toString", "__proto__"], additionalProperties: false };
    expect(problemsByJsonSchema(schema, {})).toEqual([
      "toString: is missing",
      "__proto__: is missing",
    ]);
    const value = JSON.parse('{"__proto__": 1, "constructor": 2}') as unknown;
    expect(problemsByJsonSchema({ properties: {}, additionalProperties: false }, value)).toEqual([
      "__proto__: is not known",
      "constructor: is not known",
    ]);
  });

  test("a pattern that a backtracking engine never finishes is answered at once", () => {
    let problems: string[] = [];
    const long = "a".repeat(100_000);
    const took = workTime(() => {
      problems = problemsByJsonSchema({ pattern: "^(a+)+$" }, `${long}!`);
    });
    expect(problems).toEqual(["must have the pattern ^(a+)+$, got a text of 100001 characters"]);
    expect(problemsByJsonSchema({ pattern: "^(a+)+$" }, long)).toEqual([]);
    expect(took).toBeLessThan(150);
  });

  test("a pattern with a backreference, or one that is none, forbids nothing", () => {
    for (const pattern of ["^(.)\\1$", "["])
      expect(problemsByJsonSchema({ pattern }, "ab")).toEqual([]);
  });

  test("a schema is applied once to each place, however many references lead to it", () => {
    const $defs: JsonObject = { level0: { type: "number" } };
    for (let level = 1; level <= 60; level += 1) {
      const below = { $ref: `#/$defs/level${level - 1}` };
      $defs[`level${level}`] = { allOf: [below, below], anyOf: [below, below] };
    }
    const schema = { $defs, properties: { a: { $ref: "#/$defs/level60" } } };
    let problems: string[] = [];
    expect(workTime(() => (problems = problemsByJsonSchema(schema, { a: "x" })))).toBeLessThan(150);
    expect(new Set(problems)).toEqual(new Set(['a: expected a number, got "x"']));
    expect(problemsByJsonSchema(schema, { a: 1 })).toEqual([]);
  });

  const many = (count: number, entry: (index: number) => JsonObject): JsonObject[] =>
    Array.from({ length: count }, (_, index) => entry(index));
  const names = Object.fromEntries(
    many(500, (index) => ({ index })).map((one, at) => [`k${at}`, one]),
  );

  test.each<[string, JsonObject, unknown]>([
    [
      "thousands of schemas for every entry of a long list",
      { allOf: many(5000, () => ({ items: { type: "number" } })) },
      Array(10_000).fill(1),
    ],
    [
      "thousands of constants beside a large value",
      { allOf: many(5000, () => ({ not: { const: 1 } })) },
      Array(100_000).fill("some text"),
    ],
    [
      "thousands of patterns for a long text",
      { allOf: many(5000, (index) => ({ pattern: `a${index}|b` })) },
      "b".repeat(100_000),
    ],
    [
      "hundreds of patterns for hundreds of names",
      {
        patternProperties: Object.fromEntries(
          many(2000, () => ({})).map((one, at) => [`^(${at}+)+$`, one]),
        ),
      },
      names,
    ],
    [
      "many patterns that are expensive to compile",
      { allOf: many(200, (index) => ({ pattern: `(?:a?){${200 + index}}` })) },
      "b",
    ],
    [
      "many patterns that are expensive to search for",
      { allOf: many(60, (index) => ({ pattern: `${statefulPattern}|q{${index + 1}}` })) },
      statefulText,
    ],
  ])("%s end with one problem", (_, schema, value) => {
    let problems: string[] = [];
    const took = workTime(() => (problems = problemsByJsonSchema(schema, value)));
    expect(problems).toEqual([tooComplex]);
    expect(took).toBeLessThan(500);
  });

  test("a thousand problems are told by a few", () => {
    const problems = problemsByJsonSchema({ items: { type: "string" } }, Array(1000).fill(1));
    expect(problems).toHaveLength(20);
  });

  test("long values are not repeated in full", () => {
    const [problem] = problemsByJsonSchema({ type: "number" }, "x".repeat(1000));
    expect(problem?.length).toBeLessThan(100);
  });
});

test("it agrees with zod about values of a zod schema's JSON Schema", () => {
  const schema = z.strictObject({
    name: z.string().min(1).max(3),
    count: z.int().min(0).max(9).optional(),
    kind: z.enum(["a", "b"]),
    tags: z.array(z.union([z.string(), z.boolean()])).max(2),
    place: z.nullable(z.looseObject({ x: z.number() })),
    table: z.record(z.string(), z.number()),
  });
  const jsonSchema = z.toJSONSchema(schema, { io: "input" }) as JsonObject;
  const odd = fc.oneof(fc.constant(undefined), fc.jsonValue());
  const mostly = (usual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd });
  const value = fc.record({
    name: mostly(fc.string({ minLength: 0, maxLength: 4, unit: "grapheme-ascii" })),
    count: mostly(fc.oneof(fc.integer({ min: -1, max: 10 }), fc.constant(undefined))),
    kind: mostly(fc.constantFrom("a", "b", "c")),
    tags: mostly(fc.array(fc.oneof(fc.string(), fc.boolean()), { maxLength: 3 })),
    place: mostly(fc.oneof(fc.constant(null), fc.record({ x: fc.integer(), y: fc.string() }))),
    table: mostly(fc.dictionary(fc.string(), fc.integer())),
  });
  let fitting = 0;
  fc.assert(
    fc.property(value, (input) => {
      const json = JSON.parse(JSON.stringify(input)) as unknown;
      const problems = problemsByJsonSchema(jsonSchema, json);
      const byZod = schema.safeParse(json).success;
      if (byZod) fitting += 1;
      expect(problems.length === 0, problems.join("\n")).toBe(byZod);
    }),
    { numRuns: 1000 },
  );
  expect(fitting).toBeGreaterThan(20);
});
