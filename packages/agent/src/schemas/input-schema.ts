import type { JsonObject } from "@deltawire/wire";
import { validateJsonSchema, findUncheckedKeywords } from "./validate-json-schema.ts";

/**
 * Standard Schema, version 1 (https://standardschema.dev), which zod, Valibot, ArkType and others implement. Copied here,
 * as its specification allows, to avoid a dependency.
 */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** From the related specification Standard JSON Schema. In zod since 4.2. */
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

/** Schema of a tool's input: a Standard Schema, which may transform the input, or a JSON Schema. */
export type InputSchema<Input = unknown> = StandardSchema<Input> | JsonObject;

export type InputCheckResult = { ok: true; value: unknown } | { ok: false; problems: string[] };

/** Checks a value. Returns it as the schema transforms it, or problems for the model. */
export type InputCheck = (value: unknown) => InputCheckResult | Promise<InputCheckResult>;

export function createInputCheck(schema: InputSchema): InputCheck {
  if (isStandardSchema(schema))
    return (value) => {
      const result = schema["~standard"].validate(value);
      return result instanceof Promise ? result.then(toCheckResult) : toCheckResult(result);
    };
  const objectSchema = toObjectSchema(schema);
  return (value) => {
    const problems = validateJsonSchema(objectSchema, value);
    return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
  };
}

/** Returns the JSON Schema that models receive. Throws a TypeError if there is none, or if it does not describe an object. */
export function toToolParameters(schema: InputSchema): JsonObject {
  return toObjectSchema(
    isStandardSchema(schema) ? convertToJsonSchema(schema) : removeDialect(schema),
  );
}

/** Returns descriptions of keywords in a JSON Schema that are not checked. */
export function findUncheckedSchemaKeywords(schema: InputSchema): string[] {
  return isStandardSchema(schema) ? [] : findUncheckedKeywords(toObjectSchema(schema));
}

function isStandardSchema(schema: InputSchema): schema is StandardSchema {
  // ArkType's schemas are functions.
  const standard: unknown = (schema as { "~standard"?: unknown })["~standard"];
  return typeof standard === "object" && standard !== null && "validate" in standard;
}

function toCheckResult(result: StandardResult<unknown>): InputCheckResult {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, problems: result.issues.map(formatIssue) };
}

function formatIssue({ message, path = [] }: StandardIssue): string {
  const steps = path.map((step) => (typeof step === "object" ? step.key : step));
  const issuePath = steps.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
  return issuePath === "" ? message : `${issuePath}: ${message}`;
}

function convertToJsonSchema(schema: StandardSchema): JsonObject {
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema === undefined)
    throw new TypeError(
      `this ${vendor} schema cannot be converted to JSON Schema; pass the JSON Schema as \`parameters\``,
    );
  const failures: unknown[] = [];
  for (const target of ["draft-2020-12", "draft-07"])
    try {
      return removeDialect(jsonSchema.input({ target }) as JsonObject);
    } catch (error) {
      failures.push(error);
    }
  const [first] = failures;
  const reason = first instanceof Error ? first.message : String(first);
  throw new TypeError(
    `this ${vendor} schema cannot be converted to JSON Schema (${reason}); pass the JSON Schema as \`parameters\``,
    { cause: first },
  );
}

/** Some model servers reject `$schema`. */
function removeDialect(schema: JsonObject): JsonObject {
  const { $schema: _, ...rest } = schema;
  return rest;
}

/** Some model servers require `type` and `properties`, even if there are no properties. */
function toObjectSchema(schema: JsonObject): JsonObject {
  const objectSchema = { type: "object", properties: {}, ...schema };
  if (objectSchema.type !== "object")
    throw new TypeError(
      `the input schema of a tool must have the type "object", got ${JSON.stringify(objectSchema.type)}`,
    );
  return objectSchema;
}
