import type { JsonValue } from "@deltawire/tasks";

export type ArgumentValidation =
  | { readonly ok: true; readonly value: object }
  | { readonly ok: false; readonly problems: readonly ArgumentProblem[] };

export type ArgumentProblem =
  | { readonly kind: "invalid_json"; readonly reason: string }
  | { readonly kind: "not_an_object" }
  | { readonly kind: "type"; readonly path: string; readonly expected: readonly string[] }
  | { readonly kind: "choice"; readonly path: string; readonly expected: readonly string[] }
  | { readonly kind: "missing"; readonly path: string; readonly name: string }
  | { readonly kind: "unknown"; readonly path: string; readonly name: string };

/**
 * Checks edited arguments against the basic rules of JSON Schema, for an immediate error message. The gateway checks
 * the complete schema before it runs anything.
 */
export function validateArguments(text: string, schema: JsonValue | undefined): ArgumentValidation {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ok: false, problems: [{ kind: "invalid_json", reason }] };
  }
  if (!isObject(value)) return { ok: false, problems: [{ kind: "not_an_object" }] };
  const problems = [...findProblems(value, schema, "", 0)].slice(0, maxProblems);
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

/** Lists the top-level arguments of a tool with type and description. */
export function describeArguments(
  schema: JsonValue | undefined,
): { name: string; type: string; isRequired: boolean; description: string }[] {
  const { properties, required } = toObject(schema);
  const names = Array.isArray(required) ? required : [];
  return Object.entries(toObject(properties)).map(([name, rule]) => {
    const { type, enum: enumValues, description } = toObject(rule);
    const typeText = Array.isArray(enumValues)
      ? enumValues.map((enumValue) => JSON.stringify(enumValue)).join(" | ")
      : toTypeList(type).join(" | ") || "any";
    return {
      name,
      type: typeText,
      isRequired: names.includes(name),
      description: typeof description === "string" ? description : "",
    };
  });
}

/** Further problems are not listed. */
const maxProblems = 5;
/** Deeper levels of a schema are checked only by the gateway. */
const maxDepth = 20;

function* findProblems(
  value: JsonValue,
  schema: JsonValue | undefined,
  path: string,
  depth: number,
): Generator<ArgumentProblem, void> {
  if (!isObject(schema) || depth > maxDepth) return;
  const types = toTypeList(schema["type"]);
  if (types.length > 0 && !types.some((type) => hasJsonType(type, value))) {
    yield { kind: "type", path, expected: types };
    return;
  }
  const enumValues = schema["enum"];
  if (
    Array.isArray(enumValues) &&
    !enumValues.some((enumValue) => JSON.stringify(enumValue) === JSON.stringify(value))
  )
    yield {
      kind: "choice",
      path,
      expected: enumValues.map((enumValue) => JSON.stringify(enumValue)),
    };
  if (Array.isArray(value))
    for (const [index, member] of value.entries())
      yield* findProblems(member, schema["items"], `${path}[${index}]`, depth + 1);
  if (!isObject(value)) return;
  const required = schema["required"];
  for (const name of Array.isArray(required) ? required : [])
    if (typeof name === "string" && !Object.hasOwn(value, name))
      yield { kind: "missing", path, name };
  const properties = toObject(schema["properties"]);
  for (const [name, member] of Object.entries(value)) {
    const rule = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (rule === undefined && schema["additionalProperties"] === false)
      yield { kind: "unknown", path, name };
    else yield* findProblems(member, rule, path === "" ? name : `${path}.${name}`, depth + 1);
  }
}

function toTypeList(type: JsonValue | undefined): string[] {
  return [type].flat().filter((item) => typeof item === "string");
}

function hasJsonType(type: string, value: JsonValue): boolean {
  switch (type) {
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    case "integer":
      return typeof value === "number" && Number.isInteger(value);
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return true;
  }
}

function isObject(value: JsonValue | undefined): value is Record<string, JsonValue> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toObject(value: JsonValue | undefined): Record<string, JsonValue> {
  return isObject(value) ? value : {};
}
