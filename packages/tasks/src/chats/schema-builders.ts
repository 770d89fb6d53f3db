import * as v from "valibot";
import type { JsonObject } from "../json.ts";
import { didYouMean } from "../did-you-mean.ts";
import { isWellFormed } from "../well-formed.ts";
import { fieldPath, isPlainObject, jsonWithMaxDepth, createProblem } from "./value-checks.ts";

/*
 * Building blocks for schemas on top of Valibot, for `chat-schemas.ts` and `request-bodies.ts`. A schema is the single
 * definition of a type (`v.InferOutput`), its validator (`parseValue`, `findProblems`) and its JSON Schema
 * (`@valibot/to-json-schema`).
 */

/** `path`: path of the problem, such as `edits[0].title`; "" for the value itself. */
export type ParseResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly path: string; readonly message: string };

/** Returns a copy of the value with its fields in the order of the schema, or the first problem. Linear time. */
export function parseValue<const Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): ParseResult<v.InferOutput<Schema>> {
  const { success, output, issues } = v.safeParse(schema, value, {
    abortEarly: true,
    message: describeIssue,
  });
  if (success) return { ok: true, value: output };
  const [{ path, message }] = issues;
  return { ok: false, path: formatPath("", path), message };
}

/** Returns all problems of a value, each prefixed with its path: `limits.rounds: must be …`. */
export function findProblems(schema: v.GenericSchema, value: unknown, path = ""): string[] {
  const { issues = [] } = v.safeParse(schema, value, {
    abortPipeEarly: true,
    message: describeIssue,
  });
  return issues.flatMap((issue) => createProblem(formatPath(path, issue.path), issue.message));
}

function formatPath(start: string, path: readonly v.IssuePathItem[] = []): string {
  let text = start;
  for (const { key } of path)
    text = typeof key === "number" ? `${text}[${key}]` : fieldPath(text, String(key).slice(0, 100));
  return text;
}

/**
 * Valibot's `strictObject`, with these differences: arrays are rejected; an unknown field is the only reported problem, together
 * with the known names, because it may be a misspelled required field; an `undefined` field counts as absent, and with
 * `nullIsAbsent` also a `null` field, unless its schema allows null.
 */
// @__NO_SIDE_EFFECTS__
export function strictObject<const Entries extends v.ObjectEntries>(
  entries: Entries,
  { nullIsAbsent = false } = {},
): v.StrictObjectSchema<Entries, undefined> {
  const isPresent = ([name, value]: [string, unknown]): boolean =>
    value !== undefined && (value !== null || !nullIsAbsent || isNullable(entries[name]));
  const schema = withMessage(v.strictObject(entries), describeMissing(entries));
  const objectValidator = v.pipe(
    plainObjectSchema,
    v.rawCheck(({ dataset: { value: input }, addIssue }) => {
      if (!isPlainObject(input)) return;
      const isUnknown = (name: string) =>
        !Object.hasOwn(entries, name) && input[name] !== undefined;
      const key = Object.keys(input).find(isUnknown);
      if (key === undefined) return;
      const knownFields = Object.keys(entries);
      const hint = key.length > 100 ? "" : didYouMean(key, knownFields);
      const message = `unknown field${hint}; expected ${knownFields.join(", ")}`;
      addIssue({ message, path: issuePath(input, key) });
    }),
    v.transform((input) => Object.fromEntries(Object.entries(input).filter(isPresent))),
    schema,
  );
  return withValidation(schema, objectValidator);
}

/** Valibot's `looseObject`: unknown fields are allowed. A `null` field counts as absent. */
// @__NO_SIDE_EFFECTS__
export function looseObject<const Entries extends v.ObjectEntries>(
  entries: Entries,
): v.LooseObjectSchema<Entries, undefined> {
  const isPresent = ([, value]: [string, unknown]): boolean =>
    value !== undefined && value !== null;
  const schema = withMessage(v.looseObject(entries), describeMissing(entries));
  const withoutNull = v.transform((input: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(input).filter(isPresent)),
  );
  return withValidation(schema, v.pipe(plainObjectSchema, withoutNull, schema));
}

const plainObjectSchema = v.custom<Record<string, unknown>>(
  isPlainObject,
  ({ input }) => `must be an object${describeReceived(input)}`,
);

/** Returns the path for an issue about a field. */
export function issuePath(input: unknown, key: string | number): [v.IssuePathItem] {
  return [{ type: "unknown", origin: "value", input, key, value: undefined }];
}

/** Returns a schema with the type and JSON Schema of `schema` and the validation of `validator`. */
// @__NO_SIDE_EFFECTS__
function withValidation<Schema extends v.GenericSchema>(
  schema: Schema,
  validator: v.GenericSchema,
): Schema {
  return { ...schema, "~run": (dataset, config) => validator["~run"](dataset, config) };
}

/** Also accepts values of earlier versions, and replaces them. The type and the JSON Schema contain only the current values. */
// @__NO_SIDE_EFFECTS__
export function acceptFormerValues<const Schema extends v.GenericSchema>(
  schema: Schema,
  currentValues: ReadonlyMap<unknown, string>,
): Schema {
  const upgradingSchema = v.pipe(
    v.unknown(),
    v.transform((input) => currentValues.get(input) ?? input),
    schema,
  );
  return withValidation(schema, upgradingSchema);
}

type DescribeIssue = (issue: v.BaseIssue<unknown>) => string;

// @__NO_SIDE_EFFECTS__
function withMessage<Schema extends v.GenericSchema>(
  schema: Schema,
  message: DescribeIssue,
): Schema {
  return { ...schema, message };
}

/** Describes the issues of an object. For a missing field, includes the message that its schema has for an invalid value. */
function describeMissing(entries: v.ObjectEntries): DescribeIssue {
  return (issue) => {
    const entry = entries[String(issue.path?.[0].key)];
    if (entry === undefined) return describeIssue(issue);
    const { issues } = v.safeParse(entry, undefined, { abortEarly: true, message: describeIssue });
    return issues === undefined ? "is missing" : `is missing; ${issues[0].message}`;
  };
}

function isNullable(schema: v.ObjectEntries[string] | undefined): boolean {
  return (schema as { wrapped?: v.GenericSchema } | undefined)?.wrapped?.type === "nullable";
}

type Fields = Readonly<Record<string, v.GenericSchema>>;

/** Returns the fields as optional entries of an object. */
// @__NO_SIDE_EFFECTS__
export function optionalFields<const Entries extends Fields>(fields: Entries) {
  return mapFields(fields, (field) => v.exactOptional(field)) as {
    readonly [Name in keyof Entries]: v.ExactOptionalSchema<Entries[Name], undefined>;
  };
}

/** Returns the fields as entries of a patch: absent fields stay unchanged, `null` removes a field. */
// @__NO_SIDE_EFFECTS__
export function patchFields<const Entries extends Fields>(fields: Entries) {
  return mapFields(fields, (field) => v.exactOptional(v.nullable(field))) as {
    readonly [Name in keyof Entries]: v.ExactOptionalSchema<
      v.NullableSchema<Entries[Name], undefined>,
      undefined
    >;
  };
}

// @__NO_SIDE_EFFECTS__
function mapFields<Field>(fields: Fields, map: (field: v.GenericSchema) => Field) {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, map(field)]));
}

/** Rejects lone surrogates, which UTF-8 cannot encode. */
export const wellFormed = v.check<string, string>(isWellFormed, "must not contain lone surrogates");

// @__NO_SIDE_EFFECTS__
export function boundedText(maxLength: number) {
  return v.pipe(v.string(), v.maxLength(maxLength), wellFormed);
}

/** Returns a schema for a string that is not empty. */
// @__NO_SIDE_EFFECTS__
export function nonEmptyText(maxLength: number) {
  return v.pipe(v.string(), v.nonEmpty(), v.maxLength(maxLength), wellFormed);
}

/** Returns a schema for a string that is not blank. */
// @__NO_SIDE_EFFECTS__
export function nonBlankText(maxLength: number) {
  return v.pipe(v.string(), v.regex(/\S/, "must not be empty"), v.maxLength(maxLength), wellFormed);
}

/** Returns a schema for a whole number of at least `min`. */
// @__NO_SIDE_EFFECTS__
export function integer(min: number) {
  const message = (issue: v.BaseIssue<unknown>): string =>
    `must be a whole number, ${min} or more${describeReceived(issue.input)}`;
  return v.pipe(v.number(message), v.safeInteger(message), v.minValue(min, message));
}

/** A number above 0. */
export const positiveNumber = createPositiveNumber();

// @__NO_SIDE_EFFECTS__
function createPositiveNumber() {
  const message = (issue: v.BaseIssue<unknown>): string =>
    `must be a number above 0${describeReceived(issue.input)}`;
  return v.pipe(v.number(message), v.finite(message), v.gtValue(0, message));
}

/** Valibot's `array` with a readonly type. The length is checked before the items. */
// @__NO_SIDE_EFFECTS__
export function readonlyArray<const Item extends v.GenericSchema>(
  item: Item,
  { min = 0, max = 10_000 } = {},
): v.GenericSchema<readonly v.InferInput<Item>[], readonly v.InferOutput<Item>[]> {
  const maxLengthAction = v.maxLength<unknown[], number>(max);
  const items = v.pipe(v.array(item), maxLengthAction);
  const schema = min === 0 ? items : v.pipe(items, v.minLength(min));
  return withValidation(schema, v.pipe(v.array(v.unknown()), maxLengthAction, schema));
}

/** A JSON object whose fields are not checked. */
export const jsonObject = v.pipe(
  v.custom<JsonObject>(isPlainObject, ({ input }) => `must be an object${describeReceived(input)}`),
  v.metadata({ type: "object" }),
);

/** Limits the time of the validation: one field takes up to 25 µs. */
const maxFields = 1000;
const maxJsonValues = 10_000;

/** A JSON object of limited size and depth, so that a chat that contains it can be exported and imported. */
export const smallJsonObject = v.pipe(
  jsonObject,
  v.maxEntries(maxFields),
  v.check(
    (value) => hasAtMostValues(value, maxJsonValues),
    `must have at most ${maxJsonValues} values`,
  ),
  v.rawCheck(({ dataset: { typed, value: input }, addIssue }) => {
    const [problem] = typed ? jsonWithMaxDepth(100)(input, "") : [];
    if (problem === undefined) return;
    const colon = problem.lastIndexOf(": ");
    const path = colon === -1 ? {} : { path: issuePath(input, problem.slice(0, colon)) };
    addIssue({ message: colon === -1 ? problem : problem.slice(colon + 2), ...path });
  }),
);

function hasAtMostValues(value: unknown, max: number): boolean {
  const pending: unknown[] = [value];
  let count = 0;
  for (let next = pending.pop(); next !== undefined && count <= max; next = pending.pop())
    if (typeof next === "object" && next !== null) {
      const values: unknown[] = Object.values(next);
      count += values.length;
      if (count <= max) for (const item of values) if (item !== undefined) pending.push(item);
    }
  return count <= max;
}

/** A string of JSON. */
export const jsonString = v.pipe(
  v.string(),
  v.maxLength(10_000_000),
  v.rawCheck(({ dataset, addIssue }) => {
    try {
      if (dataset.typed) JSON.parse(dataset.value);
    } catch (error) {
      addIssue({ message: `must be valid JSON: ${(error as Error).message.slice(0, 200)}` });
    }
  }),
);

/** Valibot's `union` of a string and another schema. Reports only the issues of the schema that matches the type of the input. */
// @__NO_SIDE_EFFECTS__
export function stringOrOther<
  const Text extends v.GenericSchema<string>,
  const Other extends v.GenericSchema,
>(text: Text, other: Other, message: string): v.UnionSchema<[Text, Other], undefined> {
  const neither = v.custom(
    () => false,
    ({ input }) => message + describeReceived(input),
  );
  const matchingSchema = v.lazy((input): v.GenericSchema => {
    if (typeof input === "string") return text;
    return typeof input === "object" && input !== null ? other : neither;
  });
  return withValidation(v.union([text, other]), matchingSchema);
}

/** Returns the default message of an issue. Quotes only the start of the input, which may be megabytes long. */
function describeIssue({ type, expected, input, path, requirement }: v.BaseIssue<unknown>): string {
  switch (type) {
    case "strict_object":
    case "loose_object":
      return path === undefined ? `must be an object${describeReceived(input)}` : "is missing";
    case "variant":
    case "picklist":
    case "literal":
      return expected === "Object"
        ? `must be an object${describeReceived(input)}`
        : `${type === "variant" && input === undefined ? "is missing; " : ""}must be one of ${parseExpectedValues(expected ?? "").join(", ")}${describeReceived(input, ";")}`;
    case "string":
      return `must be a string${describeReceived(input)}`;
    case "boolean":
      return `must be true or false${describeReceived(input)}`;
    case "array":
      return `must be an array${describeReceived(input)}`;
    case "max_entries":
      return `must have at most ${String(requirement)} fields`;
    case "non_empty":
      return "must not be empty";
    case "min_length":
    case "max_length": {
      const { length } = input as string | unknown[];
      const [singular, plural] =
        typeof input === "string" ? ["character", "characters"] : ["entry", "entries"];
      const unit = requirement === 1 ? singular : plural;
      const bound = type === "min_length" ? "least" : "most";
      return `must have at ${bound} ${String(requirement)} ${unit}, got ${length}`;
    }
    default:
      return `is not valid${describeReceived(input)}`;
  }
}

/** Parses `("a" | "b")`, Valibot's format of expected values. */
function parseExpectedValues(expected: string): string[] {
  return [...expected.matchAll(/"([^"]*)"/g)].map(([, value = ""]) => value);
}

/** Returns the end of a message, with the received value. */
function describeReceived(input: unknown, separator = ","): string {
  if (input === undefined) return "";
  if (typeof input === "string") return `${separator} got ${JSON.stringify(input.slice(0, 50))}`;
  if (typeof input === "number") return `${separator} got ${input}`;
  if (Array.isArray(input)) return `${separator} got an array`;
  if (typeof input === "object" && input !== null) return `${separator} got an object`;
  return `${separator} got ${JSON.stringify(input)}`;
}
