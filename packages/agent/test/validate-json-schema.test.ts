/* oxlint-disable unicorn/no-thenable -- `then` is a keyword of JSON Schema */
import type { JsonObject } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import {
  validateJsonSchema,
  schemaTooComplex,
  findUncheckedKeywords,
} from "../src/schemas/validate-json-schema.ts";
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

test("a valid value has no problems", () => {
  const value = { location: { city: "Graz", "zip code": null }, days: [1, 2], more: true };
  expect(validateJsonSchema(weather, value)).toEqual([]);
});

test("problems contain the length of a long string instead of part of it, because part of a private value would not be masked", () => {
  const value = { location: { city: "Graz" }, days: [`${"x".repeat(50)} ada@example.com`] };
  expect(validateJsonSchema(weather, value)).toEqual([
    "days[0]: expected an integer, got a string of 66 characters",
  ]);
});

test("problems contain the path, what is expected, and the actual value", () => {
  const value = { location: { city: 3, "zip code": 8, town: "x" }, days: [1, 2.5, "3"] };
  expect(validateJsonSchema(weather, value)).toEqual([
    "location.city: expected a string, got 3",
    'location["zip code"]: expected a string or null, got 8',
    "location.town: is unknown; known properties: city, zip code",
    "days[1]: expected an integer, got 2.5",
    'days[2]: expected an integer, got "3"',
  ]);
  expect(validateJsonSchema(weather, {})).toEqual(["location: is missing"]);
  expect(validateJsonSchema(weather, { location: {} })).toEqual(["location.city: is missing"]);
  expect(validateJsonSchema(weather, null)).toEqual(["expected an object, got null"]);
});

describe("values are checked against the keyword", () => {
  const cases: [string, JsonObject, good: unknown[], bad: [unknown, string][]][] = [
    [
      "type",
      { type: "number" },
      [1, 1.5, -0],
      [
        ["1", 'expected a number, got "1"'],
        [true, "expected a number, got true"],
        [[], "expected a number, got an array"],
      ],
    ],
    ["integer", { type: "integer" }, [1, 2.0], [[1.5, "expected an integer, got 1.5"]]],
    ["object", { type: "object" }, [{}], [[[], "expected an object, got an array"]]],
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
    ["pattern", { pattern: "^a+$" }, ["aa", 5], [["b", 'must match the pattern ^a+$, got "b"']]],
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
          "must not contain duplicate entries",
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
        [{ y: 1 }, "y: is unknown"],
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
      [
        [
          1,
          "matches none of the allowed schemas (expected a string, got 1; or expected null, got 1)",
        ],
      ],
    ],
    [
      "oneOf",
      { oneOf: [{ type: "integer" }, { minimum: 5 }] },
      [1, 5.5],
      [
        [7, "must match exactly one of the allowed schemas, matches 2"],
        [
          1.5,
          "matches none of the allowed schemas (expected an integer, got 1.5; or must be at least 5, got 1.5)",
        ],
      ],
    ],
    [
      "allOf",
      { allOf: [{ minimum: 1 }, { maximum: 2 }] },
      [1.5],
      [[3, "must be at most 2, got 3"]],
    ],
    ["not", { not: { type: "string" } }, [1], [["a", "matches a schema that is not allowed"]]],
    [
      "$ref",
      { $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "string" } } },
      ["x"],
      [[1, "expected a string, got 1"]],
    ],
    [
      "if, then and else",
      {
        if: { properties: { kind: { const: "mail" } }, required: ["kind"] },
        then: { required: ["to"] },
        else: { properties: { to: false } },
      },
      [{ kind: "mail", to: "a" }, { kind: "note" }, {}],
      [
        [{ kind: "mail" }, "to: is missing"],
        [{ kind: "note", to: "a" }, "to: is not allowed"],
      ],
    ],
    ["then without if", { then: false, else: false }, [1, {}], []],
    [
      "contains",
      { contains: { type: "number" }, maxContains: 2 },
      [[1], ["a", 1, 2], "no list"],
      [
        [["a"], "must have at least 1 matching entry, has 0"],
        [[1, 2, 3], "must have at most 2 matching entries, has 3"],
      ],
    ],
    ["minContains of nothing", { contains: { type: "number" }, minContains: 0 }, [[], ["a"]], []],
    [
      "dependentRequired",
      { dependentRequired: { card: ["address"] } },
      [{ card: 1, address: 2 }, { address: 2 }, {}],
      [[{ card: 1 }, "address: is required if card is set"]],
    ],
    [
      "dependentSchemas",
      { dependentSchemas: { card: { properties: { address: { type: "string" } } } } },
      [{ card: 1, address: "a" }, { address: 2 }],
      [[{ card: 1, address: 2 }, "address: expected a string, got 2"]],
    ],
    [
      "dependencies of the older drafts",
      { dependencies: { a: ["b"], c: { required: ["d"] } } },
      [{ a: 1, b: 1 }, { c: 1, d: 1 }, { x: 1 }],
      [
        [{ a: 1 }, "b: is required if a is set"],
        [{ c: 1 }, "d: is missing"],
      ],
    ],
    [
      "unevaluatedProperties",
      {
        $defs: { named: { properties: { name: true } } },
        allOf: [{ $ref: "#/$defs/named" }],
        anyOf: [
          { properties: { a: { const: 1 } }, required: ["a"] },
          { properties: { b: { const: 1 } }, required: ["b"] },
        ],
        if: { patternProperties: { "^x-": true }, required: ["x-1"] },
        then: { properties: { y: true } },
        dependentSchemas: { a: { properties: { more: true } } },
        properties: { own: true },
        unevaluatedProperties: false,
      },
      [
        { name: 1, a: 1, b: 1, own: 1, more: 1 },
        { b: 1, "x-1": 1, y: 1 },
      ],
      [
        [{ a: 1, c: 1 }, "c: is unknown"],
        [{ a: 1, b: 2 }, "b: is unknown"],
        [{ b: 1, more: 1 }, "more: is unknown"],
        [{ b: 1, y: 1 }, "y: is unknown"],
        [{ b: 1, "x-2": 1 }, "x-2: is unknown"],
      ],
    ],
    [
      "unevaluatedProperties with a schema",
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: { type: "number" } },
      [{ a: "x", b: 1 }],
      [[{ b: "x" }, 'b: expected a number, got "x"']],
    ],
    [
      "unevaluatedProperties in another schema",
      { properties: { a: true }, allOf: [{ unevaluatedProperties: false }] },
      [{}],
      [[{ a: 1 }, "a: is unknown"]],
    ],
    [
      "unevaluatedItems",
      {
        prefixItems: [true],
        anyOf: [{ prefixItems: [true, { const: "b" }] }, true],
        contains: { type: "number" },
        unevaluatedItems: false,
      },
      [["a", 1], ["a", "b", 1], [1]],
      [
        [["a", "c", 1], "[1]: is unknown"],
        [["a", "b", "c", 1], "[2]: is unknown"],
      ],
    ],
    [
      "$anchor",
      { $ref: "#name", $defs: { a: { $anchor: "name", type: "string" } } },
      ["x"],
      [[1, "expected a string, got 1"]],
    ],
    [
      "$id",
      {
        $id: "https://pages.example/schemas/root",
        properties: { a: { $ref: "part" }, b: { $ref: "part#/$defs/n" }, c: { $ref: "urn:x:y#z" } },
        $defs: {
          part: {
            $id: "part",
            $ref: "#/$defs/s",
            $defs: { s: { type: "string" }, n: { type: "null" } },
          },
          urn: { $id: "urn:x:y", $defs: { z: { $anchor: "z", type: "boolean" } } },
        },
      },
      [{ a: "x", b: null, c: true }],
      [
        [{ a: 1 }, "a: expected a string, got 1"],
        [{ b: 1 }, "b: expected null, got 1"],
        [{ c: 1 }, "c: expected true or false, got 1"],
      ],
    ],
    [
      "$dynamicRef",
      {
        $id: "https://pages.example/strict",
        $dynamicAnchor: "node",
        $ref: "tree",
        unevaluatedProperties: false,
        $defs: {
          tree: {
            $id: "tree",
            $dynamicAnchor: "node",
            properties: { data: true, children: { items: { $dynamicRef: "#node" } } },
          },
        },
      },
      [{ data: 1, children: [{ data: 2 }] }],
      [[{ children: [{ daat: 1 }] }, "children[0].daat: is unknown"]],
    ],
    [
      "$recursiveRef of draft 2019-09",
      {
        $id: "https://pages.example/strict",
        $recursiveAnchor: true,
        $ref: "tree",
        unevaluatedProperties: false,
        $defs: {
          tree: {
            $id: "tree",
            $recursiveAnchor: true,
            properties: { children: { items: { $recursiveRef: "#" } } },
          },
        },
      },
      [{ children: [{ children: [] }] }],
      [[{ children: [{ daat: 1 }] }, "children[0].daat: is unknown"]],
    ],
    [
      "$ref of draft 7, which replaces what stands beside it",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        properties: { a: { $ref: "#/definitions/s", maxLength: 1 } },
        definitions: { s: { type: "string" } },
      },
      [{ a: "long" }],
      [[{ a: 1 }, "a: expected a string, got 1"]],
    ],
    [
      "$id of draft 7 as an anchor",
      { $ref: "#s", definitions: { s: { $id: "#s", type: "string" } } },
      ["a"],
      [[1, "expected a string, got 1"]],
    ],
    [
      "annotations",
      {
        format: "email",
        contentEncoding: "base64",
        title: "t",
        $comment: "c",
        default: 1,
        deprecated: true,
      },
      ["x", 1],
      [],
    ],
    [
      "nullable",
      { type: "string", nullable: true },
      [null, "a"],
      [[1, "expected a string, got 1"]],
    ],
  ];

  test.each(cases)("%s", (_, schema, good, bad) => {
    for (const value of good) expect(validateJsonSchema(schema, value)).toEqual([]);
    for (const [value, problem] of bad)
      expect(validateJsonSchema(schema, value)).toEqual([problem]);
  });

  test("$ref in a recursive schema", () => {
    const tree: JsonObject = {
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
      required: ["name"],
    };
    expect(validateJsonSchema(tree, { name: "a", children: [{ name: "b" }] })).toEqual([]);
    expect(
      validateJsonSchema(tree, { name: "a", children: [{ name: "b", children: [{}] }] }),
    ).toEqual(["children[0].children[0].name: is missing"]);
  });
});

describe("untrusted schemas and values", () => {
  test("unknown and malformed keywords are ignored", () => {
    const unsupportedSchema: JsonObject = {
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
      expect(validateJsonSchema(unsupportedSchema, value)).toEqual([]);
  });

  test("findUncheckedKeywords lists the keywords that are not checked, with the reason", () => {
    const unchecked = (schema: JsonObject): string[] => findUncheckedKeywords(schema);
    expect(unchecked({ $ref: "https://pages.example/schema" })).toEqual([
      "$ref https://pages.example/schema is not in the schema",
    ]);
    expect(unchecked({ items: { $dynamicRef: "#node" } })).toEqual([
      "$dynamicRef #node is not in the schema",
    ]);
    expect(unchecked({ properties: { a: { pattern: "(?i)a" } } })).toEqual([
      "the pattern (?i)a cannot be used",
    ]);
    expect(unchecked({ patternProperties: { "(.)\\1": true } })).toEqual([
      "the pattern (.)\\1 cannot be used",
    ]);
    expect(unchecked({ not: { type: ["string", "thing"] } })).toEqual(['type "thing" is unknown']);
    expect(unchecked({ anyOf: [{ minimum: "1" }, { required: "a" }, { items: 7 }] })).toEqual([
      "items has an invalid value",
      "required has an invalid value",
      "minimum has an invalid value",
    ]);
    expect(unchecked({ $schema: "https://pages.example/dialect" })).toEqual([
      "its dialect https://pages.example/dialect is read as draft 2020-12",
    ]);
    const known: JsonObject = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $ref: "#/$defs/a",
      $defs: { a: { pattern: "^a", enum: [1], "x-vendor": 1, format: "email" } },
      examples: [{ $ref: "nowhere" }],
    };
    expect(unchecked(known)).toEqual([]);
  });

  test("a schema that only refers to itself is reported for every value", () => {
    expect(validateJsonSchema({ $ref: "#" }, 1)).toEqual(["is nested too deeply"]);
    expect(validateJsonSchema({ anyOf: [{ $ref: "#" }] }, 1)).toEqual(["is nested too deeply"]);
  });

  test("a value that is nested too deeply is a problem", () => {
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as unknown;
    expect(validateJsonSchema({ items: { $ref: "#" } }, deep)).toEqual(["is nested too deeply"]);
    expect(validateJsonSchema({ const: 1 }, deep)).toEqual(["is nested too deeply"]);
  });

  test("properties of Object.prototype are not special", () => {
    const schema: JsonObject = { required: ["toString", "__proto__"], additionalProperties: false };
    expect(validateJsonSchema(schema, {})).toEqual([
      "toString: is missing",
      "__proto__: is missing",
    ]);
    const value = JSON.parse('{"__proto__": 1, "constructor": 2}') as unknown;
    expect(validateJsonSchema({ properties: {}, additionalProperties: false }, value)).toEqual([
      "__proto__: is unknown",
      "constructor: is unknown",
    ]);
  });

  test("a pattern with catastrophic backtracking takes linear time", () => {
    let problems: string[] = [];
    const long = "a".repeat(100_000);
    const elapsedMs = measureCpuTime(() => {
      problems = validateJsonSchema({ pattern: "^(a+)+$" }, `${long}!`);
    });
    expect(problems).toEqual(["must match the pattern ^(a+)+$, got a string of 100001 characters"]);
    expect(validateJsonSchema({ pattern: "^(a+)+$" }, long)).toEqual([]);
    expect(elapsedMs).toBeLessThan(150);
  });

  test("invalid patterns and patterns with backreferences are ignored", () => {
    for (const pattern of ["^(.)\\1$", "["])
      expect(validateJsonSchema({ pattern }, "ab")).toEqual([]);
  });

  test("many references to one schema take little time", () => {
    const $defs: JsonObject = { level0: { type: "number" } };
    for (let level = 1; level <= 60; level += 1) {
      const below = { $ref: `#/$defs/level${level - 1}` };
      $defs[`level${level}`] = { allOf: [below, below], anyOf: [below, below] };
    }
    const schema = { $defs, properties: { a: { $ref: "#/$defs/level60" } } };
    let problems: string[] = [];
    expect(measureCpuTime(() => (problems = validateJsonSchema(schema, { a: "x" })))).toBeLessThan(
      150,
    );
    expect(new Set(problems)).toEqual(new Set(['a: expected a number, got "x"']));
    expect(validateJsonSchema(schema, { a: 1 })).toEqual([]);
  });

  const createMany = (count: number, entry: (index: number) => JsonObject): JsonObject[] =>
    Array.from({ length: count }, (_, index) => entry(index));
  const names = Object.fromEntries(
    createMany(500, (index) => ({ index })).map((one, index) => [`k${index}`, one]),
  );

  test.each<[string, JsonObject, unknown]>([
    [
      "thousands of schemas for every entry of a long list",
      { allOf: createMany(5000, () => ({ items: { type: "number" } })) },
      Array(10_000).fill(1),
    ],
    [
      "thousands of constants for a large value",
      { allOf: createMany(5000, () => ({ not: { const: 1 } })) },
      Array(100_000).fill("some text"),
    ],
    [
      "thousands of patterns for a long text",
      { allOf: createMany(5000, (index) => ({ pattern: `a${index}|b` })) },
      "b".repeat(100_000),
    ],
    [
      "hundreds of patterns for hundreds of names",
      {
        patternProperties: Object.fromEntries(
          createMany(2000, () => ({})).map((one, index) => [`^(${index}+)+$`, one]),
        ),
      },
      names,
    ],
    [
      "a hundred thousand choices, twice",
      { allOf: [1, 2].map(() => ({ enum: createMany(100_000, (n) => ({ n })) })) },
      { n: -1 },
    ],
    [
      "hundreds of resources entered in any order",
      {
        $defs: Object.fromEntries(
          Array.from({ length: 300 }, (_, index) => [
            `r${index}`,
            {
              $id: `r${index}`,
              $dynamicAnchor: `a${index}`,
              anyOf: Array.from({ length: 300 }, (_unused, to) => ({
                items: { $ref: `r${(index * 7 + to) % 300}` },
              })),
            },
          ]),
        ),
        $ref: "r0",
      },
      [[[[[1]]]]],
    ],
    [
      "unevaluated properties of many schemas",
      {
        allOf: createMany(300, () => ({
          unevaluatedProperties: { type: "string" },
          anyOf: createMany(300, () => ({ properties: names })),
        })),
      },
      names,
    ],
    [
      "many patterns that are expensive to compile",
      { allOf: createMany(200, (index) => ({ pattern: `(?:a?){${200 + index}}` })) },
      "b",
    ],
    [
      "many patterns that are expensive to search for",
      { allOf: createMany(60, (index) => ({ pattern: `${statefulPattern}|q{${index + 1}}` })) },
      statefulText,
    ],
  ])("a check that takes too many steps stops with one problem: %s", (_, schema, value) => {
    let problems: string[] = [];
    const elapsedMs = measureCpuTime(() => (problems = validateJsonSchema(schema, value)));
    expect(problems).toEqual([schemaTooComplex]);
    expect(elapsedMs).toBeLessThan(500);
  });

  test("the number of problems is limited", () => {
    const problems = validateJsonSchema({ items: { type: "string" } }, Array(1000).fill(1));
    expect(problems).toHaveLength(20);
  });

  test("long values are not quoted", () => {
    const [problem] = validateJsonSchema({ type: "number" }, "x".repeat(1000));
    expect(problem?.length).toBeLessThan(100);
  });
});

test("the validator and zod accept the same values for a schema that zod converted", () => {
  const schema = z.strictObject({
    name: z.string().min(1).max(3),
    count: z.int().min(0).max(9).optional(),
    kind: z.enum(["a", "b"]),
    tags: z.array(z.union([z.string(), z.boolean()])).max(2),
    place: z.nullable(z.looseObject({ x: z.number() })),
    table: z.record(z.string(), z.number()),
  });
  const jsonSchema = z.toJSONSchema(schema, { io: "input" }) as JsonObject;
  const unsupportedSchema = fc.oneof(fc.constant(undefined), fc.jsonValue());
  const mostly = (usual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: unsupportedSchema });
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
      const problems = validateJsonSchema(jsonSchema, json);
      const byZod = schema.safeParse(json).success;
      if (byZod) fitting += 1;
      expect(problems.length === 0, problems.join("\n")).toBe(byZod);
    }),
    { numRuns: 1000 },
  );
  expect(fitting).toBeGreaterThan(20);
});
