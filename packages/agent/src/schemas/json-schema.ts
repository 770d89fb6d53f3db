import type { JsonObject, JsonValue } from "@deltawire/wire";
import { isObject } from "../json.ts";
import { testPattern } from "./bounded-pattern.ts";

/**
 * What is wrong with a value by a JSON Schema, each with where: `location.city: expected a string, got 3`. It knows
 * what tools use, and of both drafts where they differ. A keyword that it does not know, or that is not well formed,
 * forbids nothing: the tool itself, or its server, still sees the value.
 */
export function problemsByJsonSchema(schema: JsonObject, value: unknown): string[] {
  const check = new Check(schema);
  try {
    check.visit(schema, value, "", 0);
  } catch (error) {
    if (error instanceof RangeError) return ["it is nested too deeply"];
    throw error;
  }
  return check.problems;
}

const maxProblems = 20;
const maxDepth = 200;

class Check {
  readonly problems: string[] = [];
  readonly #root: JsonObject;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  visit(schema: JsonValue | undefined, value: unknown, path: string, depth: number): void {
    if (schema === false) return this.#add(path, "is not allowed");
    if (!isObject(schema) || this.problems.length >= maxProblems) return;
    if (depth > maxDepth) throw new RangeError("nested too deeply");
    if (typeof schema["$ref"] === "string")
      this.visit(this.#resolve(schema["$ref"]), value, path, depth + 1);
    if (schema["nullable"] === true && value === null) return; // OpenAPI's, which MCP servers copy
    if (!this.#type(schema["type"], value, path)) return; // the rest would only say it again
    this.#fixedValues(schema, value, path);
    this.#combinations(schema, value, path, depth);
    if (typeof value === "number") this.#number(schema, value, path);
    else if (typeof value === "string") this.#string(schema, value, path);
    else if (Array.isArray(value)) this.#list(schema, value, path, depth);
    else if (isObject(value)) this.#object(schema, value, path, depth);
  }

  #add(path: string, problem: string): void {
    if (this.problems.length < maxProblems)
      this.problems.push(path === "" ? problem : `${path}: ${problem}`);
  }

  /** `#/$defs/Place`, and `#` itself. What lies elsewhere is not fetched. */
  #resolve(reference: string): JsonValue | undefined {
    if (!reference.startsWith("#")) return undefined;
    let at: JsonValue | undefined = this.#root;
    for (const step of reference.slice(1).split("/").slice(1)) {
      const key = unescape(step);
      if (Array.isArray(at)) at = at[Number(key)];
      else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }
    return at;
  }

  #type(type: JsonValue | undefined, value: unknown, path: string): boolean {
    const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
    if (types.length === 0 || types.some((name) => isOfType(name, value))) return true;
    const names = types.map((name) => typeNames[name] ?? name);
    this.#add(path, `expected ${names.join(" or ")}, got ${shown(value)}`);
    return false;
  }

  #fixedValues(schema: JsonObject, value: unknown, path: string): void {
    const { enum: choices, const: only } = schema;
    if (only !== undefined && canonical(only) !== canonical(value))
      this.#add(path, `must be ${shown(only)}, got ${shown(value)}`);
    if (!Array.isArray(choices)) return;
    const text = canonical(value);
    if (choices.some((choice) => canonical(choice) === text)) return;
    const list = choices.slice(0, 20).map((choice) => JSON.stringify(choice));
    const more = choices.length > 20 ? ", …" : "";
    this.#add(path, `must be one of ${list.join(", ")}${more}; got ${shown(value)}`);
  }

  #combinations(schema: JsonObject, value: unknown, path: string, depth: number): void {
    const { allOf, anyOf, oneOf, not } = schema;
    if (Array.isArray(allOf)) for (const part of allOf) this.visit(part, value, path, depth + 1);
    if (Array.isArray(anyOf) && anyOf.length > 0) {
      const found = this.#attempts(anyOf, value, path, depth);
      if (found.every((problems) => problems.length > 0)) this.#fitsNone(found, path);
    }
    if (Array.isArray(oneOf) && oneOf.length > 0) {
      const found = this.#attempts(oneOf, value, path, depth);
      const fitting = found.filter((problems) => problems.length === 0).length;
      if (fitting === 0) this.#fitsNone(found, path);
      if (fitting > 1) this.#add(path, `fits ${fitting} of the forms of which it must fit one`);
    }
    if (not !== undefined && this.#attempts([not], value, path, depth)[0]?.length === 0)
      this.#add(path, "has a form that is not allowed");
  }

  #attempts(schemas: JsonValue[], value: unknown, path: string, depth: number): string[][] {
    return schemas.map((schema) => {
      const attempt = new Check(this.#root);
      attempt.visit(schema, value, path, depth + 1);
      return attempt.problems;
    });
  }

  #fitsNone(found: string[][], path: string): void {
    const first = [...new Set(found.map((problems) => problems[0] ?? ""))];
    if (first.length === 1) {
      if (this.problems.length < maxProblems) this.problems.push(first[0] ?? "");
    } else this.#add(path, `fits none of its forms (${first.slice(0, 5).join("; or ")})`);
  }

  #number(schema: JsonObject, value: number, path: string): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    const got = `got ${value}`;
    if (typeof minimum === "number" && value < minimum)
      this.#add(path, `must be at least ${minimum}, ${got}`);
    if (typeof maximum === "number" && value > maximum)
      this.#add(path, `must be at most ${maximum}, ${got}`);
    if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
      this.#add(path, `must be more than ${exclusiveMinimum}, ${got}`);
    if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
      this.#add(path, `must be less than ${exclusiveMaximum}, ${got}`);
    if (typeof multipleOf === "number" && multipleOf > 0) {
      const times = value / multipleOf; // 0.3 / 0.1 is 2.9999999999999996
      if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
        this.#add(path, `must be a multiple of ${multipleOf}, ${got}`);
    }
  }

  #string(schema: JsonObject, value: string, path: string): void {
    const { minLength, maxLength, pattern } = schema;
    if (typeof minLength === "number" || typeof maxLength === "number")
      this.#size(codePoints(value), minLength, maxLength, "character", path);
    if (typeof pattern !== "string") return;
    const answer = testPattern(pattern, value);
    if (answer === "differs")
      this.#add(path, `must have the pattern ${pattern}, got ${shown(value)}`);
    if (answer === "too slow")
      this.#add(path, `could not be compared with the pattern ${pattern} in time`);
  }

  #size(
    size: number,
    min: JsonValue | undefined,
    max: JsonValue | undefined,
    what: string,
    path: string,
  ): void {
    const many = (count: number): string => `${count} ${count === 1 ? what : plurals[what]}`;
    if (typeof min === "number" && size < min)
      this.#add(path, `must have at least ${many(min)}, has ${size}`);
    if (typeof max === "number" && size > max)
      this.#add(path, `must have at most ${many(max)}, has ${size}`);
  }

  #list(schema: JsonObject, value: unknown[], path: string, depth: number): void {
    this.#size(value.length, schema["minItems"], schema["maxItems"], "entry", path);
    if (schema["uniqueItems"] === true && new Set(value.map(canonical)).size < value.length)
      this.#add(path, "must not have the same entry twice");
    // Until draft 2019-09 a list in `items` was what `prefixItems` is now.
    const older = Array.isArray(schema["items"]);
    const prefix = older ? schema["items"] : schema["prefixItems"];
    const rest = older ? schema["additionalItems"] : schema["items"];
    const first = Array.isArray(prefix) ? prefix : [];
    for (const [index, entry] of value.entries()) {
      if (this.problems.length >= maxProblems) return;
      this.visit(index < first.length ? first[index] : rest, entry, `${path}[${index}]`, depth + 1);
    }
  }

  #object(schema: JsonObject, value: Record<string, unknown>, path: string, depth: number): void {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const patterns = isObject(schema["patternProperties"]) ? schema["patternProperties"] : {};
    const { required, additionalProperties: others, propertyNames } = schema;
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    this.#size(keys.length, schema["minProperties"], schema["maxProperties"], "property", path);
    if (Array.isArray(required))
      for (const key of required)
        if (typeof key === "string" && !(Object.hasOwn(value, key) && value[key] !== undefined))
          this.#add(joined(path, key), "is missing");
    for (const key of keys) {
      if (this.problems.length >= maxProblems) return;
      const at = joined(path, key);
      if (propertyNames !== undefined)
        this.visit(propertyNames, key, `${at} (its name)`, depth + 1);
      let known = Object.hasOwn(properties, key);
      if (known) this.visit(properties[key], value[key], at, depth + 1);
      for (const [pattern, part] of Object.entries(patterns))
        if (testPattern(pattern, key) === "matches") {
          known = true;
          this.visit(part, value[key], at, depth + 1);
        }
      if (known) continue;
      if (others === false) this.#add(at, `is not known${knownKeys(Object.keys(properties))}`);
      else this.visit(others, value[key], at, depth + 1);
    }
  }
}

const typeNames: Record<string, string> = {
  string: "a string",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  null: "null",
  object: "an object",
  array: "a list",
};
const plurals: Record<string, string> = {
  character: "characters",
  entry: "entries",
  property: "properties",
};

function isOfType(name: string, value: unknown): boolean {
  switch (name) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === name;
    default:
      return true; // a type of a draft to come
  }
}

function unescape(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // not percent-encoded, then
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  // Not its beginning: that may end within a private value, which is not known by half of it.
  return text.length <= 60 ? text : `a text of ${text.length - 2} characters`;
}

/** The same text for the same JSON value, whatever the order of its keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "undefined";
  const keys = Object.keys(value).toSorted();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function joined(path: string, key: string): string {
  const step = /^[A-Za-z_$][\w$-]{0,60}$/.test(key) ? key : `[${shown(key)}]`;
  return path === "" || step.startsWith("[") ? path + step : `${path}.${step}`;
}

function knownKeys(keys: string[]): string {
  if (keys.length === 0) return "";
  return `; known are ${keys.slice(0, 20).join(", ")}${keys.length > 20 ? ", …" : ""}`;
}
