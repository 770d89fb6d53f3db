import type { JsonValue } from "@deltawire/tasks";

export type CheckedArguments =
  | { readonly ok: true; readonly value: object }
  | { readonly ok: false; readonly problems: readonly ArgumentProblem[] };

export type ArgumentProblem =
  | { readonly is: "no JSON"; readonly why: string }
  | { readonly is: "no object" }
  | { readonly is: "type"; readonly path: string; readonly expected: readonly string[] }
  | { readonly is: "choice"; readonly path: string; readonly expected: readonly string[] }
  | { readonly is: "missing"; readonly path: string; readonly name: string }
  | { readonly is: "unknown"; readonly path: string; readonly name: string };

/**
 * What can be said at once of arguments that somebody edits: the plain rules of JSON Schema. The gateway checks all of
 * them before it runs anything.
 */
export function checkArguments(text: string, schema: JsonValue | undefined): CheckedArguments {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, problems: [{ is: "no JSON", why }] };
  }
  if (!isObject(value)) return { ok: false, problems: [{ is: "no object" }] };
  const problems = [...problemsIn(value, schema, "", 0)].slice(0, mostTold);
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

/** What a person has to know to fill in a tool's arguments, a line for each. */
export function expectedArguments(
  schema: JsonValue | undefined,
): { name: string; type: string; isRequired: boolean; about: string }[] {
  const { properties, required } = objectOf(schema);
  const names = Array.isArray(required) ? required : [];
  return Object.entries(objectOf(properties)).map(([name, rule]) => {
    const { type, enum: words, description } = objectOf(rule);
    const kinds = Array.isArray(words)
      ? words.map((word) => JSON.stringify(word)).join(" | ")
      : typesOf(type).join(" | ") || "any";
    const about = typeof description === "string" ? description : "";
    return { name, type: kinds, isRequired: names.includes(name), about };
  });
}

/** More at once nobody reads. */
const mostTold = 5;
/** A schema that goes deeper is left to the gateway. */
const deepest = 20;

function* problemsIn(
  value: JsonValue,
  schema: JsonValue | undefined,
  path: string,
  depth: number,
): Generator<ArgumentProblem, void> {
  if (!isObject(schema) || depth > deepest) return;
  const types = typesOf(schema["type"]);
  if (types.length > 0 && !types.some((type) => isOf(type, value))) {
    yield { is: "type", path, expected: types };
    return;
  }
  const words = schema["enum"];
  if (Array.isArray(words) && !words.some((word) => JSON.stringify(word) === JSON.stringify(value)))
    yield { is: "choice", path, expected: words.map((word) => JSON.stringify(word)) };
  if (Array.isArray(value))
    for (const [index, member] of value.entries())
      yield* problemsIn(member, schema["items"], `${path}[${index}]`, depth + 1);
  if (!isObject(value)) return;
  const required = schema["required"];
  for (const name of Array.isArray(required) ? required : [])
    if (typeof name === "string" && !Object.hasOwn(value, name))
      yield { is: "missing", path, name };
  const properties = objectOf(schema["properties"]);
  for (const [name, member] of Object.entries(value)) {
    const rule = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (rule === undefined && schema["additionalProperties"] === false)
      yield { is: "unknown", path, name };
    else yield* problemsIn(member, rule, path === "" ? name : `${path}.${name}`, depth + 1);
  }
}

function typesOf(type: JsonValue | undefined): string[] {
  return [type].flat().filter((each) => typeof each === "string");
}

function isOf(type: string, value: JsonValue): boolean {
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

function objectOf(value: JsonValue | undefined): Record<string, JsonValue> {
  return isObject(value) ? value : {};
}
