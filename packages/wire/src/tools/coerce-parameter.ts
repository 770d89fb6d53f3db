import { isObject, parseJson, type JsonObject, type JsonValue } from "../json.ts";

/**
 * Converts a parameter that a model wrote without quotes to JSON of the type in the tool's schema. Returns undefined for
 * text that means an absent parameter. Without a type in the schema, valid JSON is used unchanged and other text becomes
 * a string. Numbers are not reformatted: JavaScript cannot represent an id of twenty digits.
 */
export function coerceParameter(
  text: string,
  key: string,
  schema: JsonObject | undefined,
): string | undefined {
  const types = collectTypes(getPropertySchema(schema, key), schema, 0);
  const trimmed = text.trim();
  if (types.size === 0) return isNonStringJson(trimmed) ? trimmed : JSON.stringify(text);
  const isEmptyValue = trimmed === "" || trimmed === "null" || trimmed === "None";
  if (trimmed !== "" && isEmptyValue && types.has("null")) return "null";
  if (types.has("boolean") && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase();
  const type = isNonStringJson(trimmed) ? getJsonType(parseJson(trimmed)) : "string";
  if (types.has(type) || (type === "number" && types.has("integer"))) {
    if (type !== "string") return trimmed;
  }
  // An empty value means that the model omits the parameter, unless the parameter may be a string.
  return isEmptyValue && !types.has("string") ? undefined : JSON.stringify(text);
}

function getPropertySchema(schema: JsonObject | undefined, key: string): JsonValue | undefined {
  const properties = schema?.["properties"];
  return isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** Limits the nesting of alternatives and references, which may be recursive. */
const maxDepth = 8;

/** Returns the types that a schema allows, including alternatives and references. Empty if it does not specify any. */
function collectTypes(
  schema: JsonValue | undefined,
  root: JsonObject | undefined,
  depth: number,
): Set<string> {
  const types = new Set<string>();
  if (!isObject(schema) || depth > maxDepth) return types;
  const { type, $ref, enum: values, const: constValue } = schema;
  for (const name of [type].flat()) if (typeof name === "string") types.add(name);
  if (types.size > 0) return types;
  if (Array.isArray(values)) for (const value of values) types.add(getJsonType(value));
  if (constValue !== undefined) types.add(getJsonType(constValue));
  const alternatives = [schema["anyOf"], schema["oneOf"], schema["allOf"]].flat();
  for (const alternative of [...alternatives, resolveReference($ref, root)])
    for (const name of collectTypes(alternative, root, depth + 1)) types.add(name);
  return types;
}

/** Resolves `#/$defs/Name`, the only form that tool schemas use. */
function resolveReference(reference: JsonValue | undefined, root: JsonObject | undefined) {
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  let target: JsonValue | undefined = root;
  for (const step of reference.slice(2).split("/"))
    target = isObject(target) && Object.hasOwn(target, step) ? target[step] : undefined;
  return target;
}

/** True for valid JSON that is not a string. */
function isNonStringJson(trimmed: string): boolean {
  return /^[-\d{[tfn]/.test(trimmed) && parseJson(trimmed) !== undefined;
}

function getJsonType(value: JsonValue | undefined): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
