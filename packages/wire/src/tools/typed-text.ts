import { isObject, parseJson, type JsonObject, type JsonValue } from "../json.ts";

/**
 * The JSON of a parameter that was written without quotes, as its tool's schema wants it; undefined where it stands for
 * nothing. Where the schema does not tell, what reads as JSON is JSON and the rest a string. Digits are kept: an id of
 * twenty digits is a number in JSON, and another one in JavaScript.
 */
export function typedText(
  text: string,
  key: string,
  schema: JsonObject | undefined,
): string | undefined {
  const types = typesOf(propertyOf(schema, key), schema, 0);
  const word = text.trim();
  if (types.size === 0) return isBare(word) ? word : JSON.stringify(text);
  const isNothing = word === "" || word === "null" || word === "None";
  if (word !== "" && isNothing && types.has("null")) return "null";
  if (types.has("boolean") && /^(?:true|false)$/i.test(word)) return word.toLowerCase();
  const type = isBare(word) ? typeOf(parseJson(word)) : "string";
  if (types.has(type) || (type === "number" && types.has("integer"))) {
    if (type !== "string") return word;
  }
  // Models leave a parameter empty that they mean to leave out; only for a string that is a value.
  return isNothing && !types.has("string") ? undefined : JSON.stringify(text);
}

function propertyOf(schema: JsonObject | undefined, key: string): JsonValue | undefined {
  const properties = schema?.["properties"];
  return isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

const deepest = 8;

/** The types that a schema allows, through its alternatives and references; none if it does not tell. */
function typesOf(
  schema: JsonValue | undefined,
  root: JsonObject | undefined,
  depth: number,
): Set<string> {
  const types = new Set<string>();
  if (!isObject(schema) || depth > deepest) return types;
  const { type, $ref, enum: values, const: only } = schema;
  for (const name of [type].flat()) if (typeof name === "string") types.add(name);
  if (types.size > 0) return types;
  if (Array.isArray(values)) for (const value of values) types.add(typeOf(value));
  if (only !== undefined) types.add(typeOf(only));
  const others = [schema["anyOf"], schema["oneOf"], schema["allOf"]].flat();
  for (const other of [...others, referred($ref, root)])
    for (const name of typesOf(other, root, depth + 1)) types.add(name);
  return types;
}

/** `#/$defs/Name`, the only form that tools' schemas use. */
function referred(reference: JsonValue | undefined, root: JsonObject | undefined) {
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  let place: JsonValue | undefined = root;
  for (const step of reference.slice(2).split("/"))
    place = isObject(place) && Object.hasOwn(place, step) ? place[step] : undefined;
  return place;
}

/** A number, true, false, null, an object or an array: everything in JSON but a string. */
function isBare(word: string): boolean {
  return /^[-\d{[tfn]/.test(word) && parseJson(word) !== undefined;
}

function typeOf(value: JsonValue | undefined): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
