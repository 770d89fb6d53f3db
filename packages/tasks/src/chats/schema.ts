import * as v from "valibot";
import type { JsonObject } from "../json.ts";
import { didYouMean } from "../nearest.ts";
import { isWellFormed } from "../well-formed.ts";
import { at, isPlainObject, jsonUpTo, problem } from "./check-value.ts";

/*
 * Building blocks of schemas on top of Valibot; `chat-schemas.ts` and `bodies.ts` are made of them. A schema is the one
 * definition of a type (`v.InferOutput`), its validator (`parseValue`, `findProblems`) and its JSON Schema
 * (`@valibot/to-json-schema`).
 */

/** `path` is that of the problem, such as `edits[0].title`; "" for the value itself. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly path: string; readonly message: string };

/** Returns a copy of the value with its fields in the order of the schema, or the first problem. Linear time. */
export function parseValue<const Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): Parsed<v.InferOutput<Schema>> {
  const { success, output, issues } = v.safeParse(schema, value, {
    abortEarly: true,
    message: describeIssue,
  });
  if (success) return { ok: true, value: output };
  const [{ path, message }] = issues;
  return { ok: false, path: formatPath("", path), message };
}

/** Returns what is wrong with a value, each problem with its path before it: `limits.rounds: must be …`. */
export function findProblems(schema: v.GenericSchema, value: unknown, path = ""): string[] {
  const { issues = [] } = v.safeParse(schema, value, {
    abortPipeEarly: true,
    message: describeIssue,
  });
  return issues.flatMap((issue) => problem(formatPath(path, issue.path), issue.message));
}

function formatPath(start: string, path: readonly v.IssuePathItem[] = []): string {
  let text = start;
  for (const { key } of path)
    text = typeof key === "number" ? `${text}[${key}]` : at(text, String(key).slice(0, 100));
  return text;
}

/**
 * Valibot's `strictObject`, with these differences: an array is no object; an unknown field is reported instead of all
 * else, with the names that there are, for it may be the misspelled name of one that is missing; a field that is
 * `undefined` is absent, and with `nullIsAbsent` one that is `null` unless its schema takes null.
 */
// @__NO_SIDE_EFFECTS__
export function object<const Entries extends v.ObjectEntries>(
  entries: Entries,
  { nullIsAbsent = false } = {},
): v.StrictObjectSchema<Entries, undefined> {
  const isPresent = ([name, value]: [string, unknown]): boolean =>
    value !== undefined && (value !== null || !nullIsAbsent || takesNull(entries[name]));
  const schema = withMessage(v.strictObject(entries), describeMissing(entries));
  const checked = v.pipe(
    plainObject,
    v.rawCheck(({ dataset: { value: input }, addIssue }) => {
      if (!isPlainObject(input)) return;
      const isUnknown = (name: string) =>
        !Object.hasOwn(entries, name) && input[name] !== undefined;
      const key = Object.keys(input).find(isUnknown);
      if (key === undefined) return;
      const known = Object.keys(entries);
      const hint = key.length > 100 ? "" : didYouMean(key, known);
      const message = `unknown field;${hint} there are ${known.join(", ")}`;
      addIssue({ message, path: issuePath(input, key) });
    }),
    v.transform((input) => Object.fromEntries(Object.entries(input).filter(isPresent))),
    schema,
  );
  return withRun(schema, checked);
}

/** `object` that takes fields it does not know. A field that is `null` is absent. */
// @__NO_SIDE_EFFECTS__
export function openObject<const Entries extends v.ObjectEntries>(
  entries: Entries,
): v.LooseObjectSchema<Entries, undefined> {
  const isPresent = ([, value]: [string, unknown]): boolean =>
    value !== undefined && value !== null;
  const schema = withMessage(v.looseObject(entries), describeMissing(entries));
  const withoutNull = v.transform((input: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(input).filter(isPresent)),
  );
  return withRun(schema, v.pipe(plainObject, withoutNull, schema));
}

const plainObject = v.custom<Record<string, unknown>>(
  isPlainObject,
  ({ input }) => `must be an object${got(input)}`,
);

/** The path of an issue that is about a field. */
export function issuePath(input: unknown, key: string | number): [v.IssuePathItem] {
  return [{ type: "unknown", origin: "value", input, key, value: undefined }];
}

/** A schema that is described as the one and validates as the other. */
// @__NO_SIDE_EFFECTS__
function withRun<Schema extends v.GenericSchema>(described: Schema, run: v.GenericSchema): Schema {
  return { ...described, "~run": (dataset, config) => run["~run"](dataset, config) };
}

type Describe = (issue: v.BaseIssue<unknown>) => string;

// @__NO_SIDE_EFFECTS__
function withMessage<Schema extends v.GenericSchema>(schema: Schema, message: Describe): Schema {
  return { ...schema, message };
}

/** Describes the issues of an object: a missing field with the words that its schema has for a wrong value. */
function describeMissing(entries: v.ObjectEntries): Describe {
  return (issue) => {
    const entry = entries[String(issue.path?.[0].key)];
    if (entry === undefined) return describeIssue(issue);
    const { issues } = v.safeParse(entry, undefined, { abortEarly: true, message: describeIssue });
    return issues === undefined ? "is missing" : `is missing; ${issues[0].message}`;
  };
}

function takesNull(schema: v.ObjectEntries[string] | undefined): boolean {
  return (schema as { wrapped?: v.GenericSchema } | undefined)?.wrapped?.type === "nullable";
}

type Fields = Readonly<Record<string, v.GenericSchema>>;

/** Optional entries of an object. */
// @__NO_SIDE_EFFECTS__
export function optionalFields<const Given extends Fields>(fields: Given) {
  return mapFields(fields, (field) => v.exactOptional(field)) as {
    readonly [Name in keyof Given]: v.ExactOptionalSchema<Given[Name], undefined>;
  };
}

/** Entries of a patch: absent fields stay unchanged, `null` removes a field. */
// @__NO_SIDE_EFFECTS__
export function patchFields<const Given extends Fields>(fields: Given) {
  return mapFields(fields, (field) => v.exactOptional(v.nullable(field))) as {
    readonly [Name in keyof Given]: v.ExactOptionalSchema<
      v.NullableSchema<Given[Name], undefined>,
      undefined
    >;
  };
}

// @__NO_SIDE_EFFECTS__
function mapFields<Field>(fields: Fields, map: (field: v.GenericSchema) => Field) {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, map(field)]));
}

/** Refuses lone surrogates, which UTF-8 cannot encode. */
export const wellFormed = v.check<string, string>(isWellFormed, "has half a character in it");

// @__NO_SIDE_EFFECTS__
export function text(maxLength: number) {
  return v.pipe(v.string(), v.maxLength(maxLength), wellFormed);
}

/** A string that is not empty. */
// @__NO_SIDE_EFFECTS__
export function nonEmpty(maxLength: number) {
  return v.pipe(v.string(), v.nonEmpty(), v.maxLength(maxLength), wellFormed);
}

/** A string that is not blank. */
// @__NO_SIDE_EFFECTS__
export function words(maxLength: number) {
  return v.pipe(v.string(), v.regex(/\S/, "must not be empty"), v.maxLength(maxLength), wellFormed);
}

/** A whole number of at least `min`. */
// @__NO_SIDE_EFFECTS__
export function integer(min: number) {
  const message = (issue: v.BaseIssue<unknown>): string =>
    `must be a whole number, ${min} or more${got(issue.input)}`;
  return v.pipe(v.number(message), v.safeInteger(message), v.minValue(min, message));
}

/** A number above 0. */
export const positive = numberAboveZero();

// @__NO_SIDE_EFFECTS__
function numberAboveZero() {
  const message = (issue: v.BaseIssue<unknown>): string =>
    `must be a number above 0${got(issue.input)}`;
  return v.pipe(v.number(message), v.finite(message), v.gtValue(0, message));
}

/** Valibot's `array` with a readonly type, whose length is checked before its items. */
// @__NO_SIDE_EFFECTS__
export function list<const Item extends v.GenericSchema>(
  item: Item,
  { min = 0, max = 10_000 } = {},
): v.GenericSchema<readonly v.InferInput<Item>[], readonly v.InferOutput<Item>[]> {
  const longest = v.maxLength<unknown[], number>(max);
  const items = v.pipe(v.array(item), longest);
  const schema = min === 0 ? items : v.pipe(items, v.minLength(min));
  return withRun(schema, v.pipe(v.array(v.unknown()), longest, schema));
}

/** A JSON object whose fields are not checked. */
export const jsonObject = v.pipe(
  v.custom<JsonObject>(isPlainObject, ({ input }) => `must be an object${got(input)}`),
  v.metadata({ type: "object" }),
);

/** Each field takes up to 25 µs. */
const maxFields = 1000;
const maxJsonValues = 10_000;

/** A JSON object of limited size, nested no deeper than a chat file may be. */
export const smallJsonObject = v.pipe(
  jsonObject,
  v.maxEntries(maxFields),
  v.check((value) => hasAtMost(value, maxJsonValues), `must have at most ${maxJsonValues} values`),
  v.rawCheck(({ dataset: { typed, value: input }, addIssue }) => {
    const [fault] = typed ? jsonUpTo(100)(input, "") : [];
    if (fault === undefined) return;
    const colon = fault.lastIndexOf(": ");
    const path = colon === -1 ? {} : { path: issuePath(input, fault.slice(0, colon)) };
    addIssue({ message: colon === -1 ? fault : fault.slice(colon + 2), ...path });
  }),
);

function hasAtMost(value: unknown, max: number): boolean {
  const open: unknown[] = [value];
  let count = 0;
  for (let next = open.pop(); next !== undefined && count <= max; next = open.pop())
    if (typeof next === "object" && next !== null) {
      const values: unknown[] = Object.values(next);
      count += values.length;
      if (count <= max) for (const one of values) if (one !== undefined) open.push(one);
    }
  return count <= max;
}

/** A string of JSON. */
export const jsonText = v.pipe(
  v.string(),
  v.maxLength(10_000_000),
  v.rawCheck(({ dataset, addIssue }) => {
    try {
      if (dataset.typed) JSON.parse(dataset.value);
    } catch (error) {
      addIssue({ message: `must be JSON: ${(error as Error).message.slice(0, 200)}` });
    }
  }),
);

/** Valibot's `union` of a string and another schema, with the issues of the member that fits the type of the input. */
// @__NO_SIDE_EFFECTS__
export function stringOr<
  const Text extends v.GenericSchema<string>,
  const Other extends v.GenericSchema,
>(text: Text, other: Other, message: string): v.UnionSchema<[Text, Other], undefined> {
  const neither = v.custom(
    () => false,
    ({ input }) => message + got(input),
  );
  const meant = v.lazy((input): v.GenericSchema => {
    if (typeof input === "string") return text;
    return typeof input === "object" && input !== null ? other : neither;
  });
  return withRun(v.union([text, other]), meant);
}

/** The message for issues without one of their own. Quotes little of the input, which may have megabytes. */
function describeIssue({ type, expected, input, path, requirement }: v.BaseIssue<unknown>): string {
  switch (type) {
    case "strict_object":
    case "loose_object":
      return path === undefined ? `must be an object${got(input)}` : "is missing";
    case "variant":
    case "picklist":
    case "literal":
      return expected === "Object"
        ? `must be an object${got(input)}`
        : `${type === "variant" && input === undefined ? "is missing; " : ""}must be one of ${wordsIn(expected ?? "").join(", ")}${got(input, ";")}`;
    case "string":
      return `must be a string${got(input)}`;
    case "boolean":
      return `must be true or false${got(input)}`;
    case "array":
      return `must be an array${got(input)}`;
    case "max_entries":
      return `must have at most ${String(requirement)} fields`;
    case "non_empty":
      return "must not be empty";
    case "min_length":
    case "max_length": {
      const { length } = input as string | unknown[];
      const [one, several] =
        typeof input === "string" ? ["character", "characters"] : ["entry", "entries"];
      const what = requirement === 1 ? one : several;
      const bound = type === "min_length" ? "least" : "most";
      return `must have at ${bound} ${String(requirement)} ${what}, got ${length}`;
    }
    default:
      return `is not valid${got(input)}`;
  }
}

/** Returns the words in `("a" | "b")`, Valibot's form of expected values. */
function wordsIn(expected: string): string[] {
  return [...expected.matchAll(/"([^"]*)"/g)].map(([, word = ""]) => word);
}

/** Returns the end of a message: what was received instead. */
function got(input: unknown, comma = ","): string {
  if (input === undefined) return "";
  if (typeof input === "string") return `${comma} got ${JSON.stringify(input.slice(0, 50))}`;
  if (typeof input === "number") return `${comma} got ${input}`;
  if (Array.isArray(input)) return `${comma} got an array`;
  if (typeof input === "object" && input !== null) return `${comma} got an object`;
  return `${comma} got ${JSON.stringify(input)}`;
}
