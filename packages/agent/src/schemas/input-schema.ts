import type { JsonObject } from "@deltawire/wire";
import { problemsByJsonSchema, uncheckedKeywords } from "./json-schema.ts";

/**
 * Standard Schema, version 1 (https://standardschema.dev), which zod, Valibot, ArkType and others have. It is written
 * out here, as its specification allows, so that none of them is needed.
 */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Of its sister, Standard JSON Schema; zod has it since 4.2. */
    readonly jsonSchema?: {
      readonly input: (options: { target: string }) => Record<string, unknown>;
    };
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Of what a tool takes: a Standard Schema, which may also transform it, or a JSON Schema. */
export type InputSchema<Input = unknown> = StandardSchema<Input> | JsonObject;

export type Checked = { ok: true; value: unknown } | { ok: false; problems: string[] };

/** Checks a value: it is handed on as the schema does, or its problems are told to the model. */
export type InputCheck = (value: unknown) => Checked | Promise<Checked>;

export function inputCheck(schema: InputSchema): InputCheck {
  if (isStandardSchema(schema))
    return (value) => {
      const result = schema["~standard"].validate(value);
      return result instanceof Promise ? result.then(checkedBy) : checkedBy(result);
    };
  const whole = asObjectSchema(schema);
  return (value) => {
    const problems = problemsByJsonSchema(whole, value);
    return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
  };
}

/** The schema as the model gets it. A TypeError where it cannot be told, or is not of an object. */
export function parametersOf(schema: InputSchema): JsonObject {
  return asObjectSchema(isStandardSchema(schema) ? jsonSchemaOf(schema) : withoutDialect(schema));
}

/** What is said in a JSON Schema and not checked. */
export function uncheckedInput(schema: InputSchema): string[] {
  return isStandardSchema(schema) ? [] : uncheckedKeywords(asObjectSchema(schema));
}

function isStandardSchema(schema: InputSchema): schema is StandardSchema {
  // ArkType's schemas are functions.
  const standard: unknown = (schema as { "~standard"?: unknown })["~standard"];
  return typeof standard === "object" && standard !== null && "validate" in standard;
}

function checkedBy(result: StandardResult<unknown>): Checked {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, problems: result.issues.map(problemOf) };
}

function problemOf({ message, path = [] }: StandardIssue): string {
  const steps = path.map((step) => (typeof step === "object" ? step.key : step));
  const at = steps.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
  return at === "" ? message : `${at}: ${message}`;
}

function jsonSchemaOf(schema: StandardSchema): JsonObject {
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema === undefined)
    throw new TypeError(
      `this schema of ${vendor} cannot tell its JSON Schema: give it as \`parameters\` beside \`input\``,
    );
  const failures: unknown[] = [];
  for (const target of ["draft-2020-12", "draft-07"])
    try {
      return withoutDialect(jsonSchema.input({ target }) as JsonObject);
    } catch (error) {
      failures.push(error);
    }
  const [first] = failures;
  const why = first instanceof Error ? first.message : String(first);
  throw new TypeError(
    `this schema of ${vendor} cannot be told as JSON Schema (${why}): give that as \`parameters\` beside \`input\``,
    { cause: first },
  );
}

/** Some model servers refuse a `$schema`. */
function withoutDialect(schema: JsonObject): JsonObject {
  const { $schema: _, ...rest } = schema;
  return rest;
}

/** Model servers want `type` and `properties` said, even where there are none. */
function asObjectSchema(schema: JsonObject): JsonObject {
  const whole = { type: "object", properties: {}, ...schema };
  if (whole.type !== "object")
    throw new TypeError(
      `the input of a tool must be an object, and not ${JSON.stringify(whole.type)}`,
    );
  return whole;
}
