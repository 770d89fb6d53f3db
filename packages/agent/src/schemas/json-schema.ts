import type { JsonObject, JsonValue } from "@deltawire/wire";
import { isObject } from "../json.ts";
import { PatternTester } from "./test-pattern.ts";

/**
 * What is wrong with a value by a JSON Schema, each with where: `location.city: expected a string, got 3`. It knows
 * what tools use, and of both drafts where they differ. A keyword that it does not know, or that is not well formed,
 * forbids nothing: the tool itself, or its server, still sees the value.
 *
 * Schemas come from others. Each schema is applied to each place of the value once, however many references lead there,
 * and a check that needs too many steps ends with the one problem `tooComplex`.
 */
export function problemsByJsonSchema(schema: JsonObject, value: unknown): string[] {
  try {
    return [...new Check(schema).visit(schema, new Place(value, () => ""), 0)];
  } catch (error) {
    if (error instanceof TooManySteps) return [tooComplex];
    if (error instanceof RangeError) return ["it is nested too deeply"];
    throw error;
  }
}

/** The problem of a value that could not be checked. */
export const tooComplex = "could not be checked: the schema is too complex";

const maxProblems = 20;
const maxDepth = 200;
/** Of about a microsecond each: schemas applied, and characters compared, hundreds for one step. */
const maxSteps = 75_000;
/** What it takes to compile a pattern, and to use it. */
const stepsPerPattern = 100;
const stepsPerTest = 5;
const charactersPerStep = 200;
/** Steps of patterns, of some ten nanoseconds each, for one step. */
const patternStepsPerStep = 30;

class TooManySteps extends Error {}

/** A part of the value that is checked. What is computed of it is computed once. */
class Place {
  readonly value: unknown;
  readonly #path: () => string;
  readonly #children = new Map<string | number, Place>();
  #name: Place | undefined;
  #canonical: string | undefined;
  #codePoints: number | undefined;
  /** By schema: its problems; undefined while they are looked for. */
  readonly results = new Map<JsonObject, readonly string[] | undefined>();

  constructor(value: unknown, path: () => string) {
    this.value = value;
    this.#path = path;
  }

  get path(): string {
    return this.#path();
  }

  child(key: string | number, value: unknown): Place {
    let child = this.#children.get(key);
    if (child === undefined) {
      child = new Place(value, () =>
        typeof key === "number" ? `${this.path}[${key}]` : joined(this.path, key),
      );
      this.#children.set(key, child);
    }
    return child;
  }

  /** The name of this property as a value, for `propertyNames`. */
  nameOf(key: string): Place {
    return (this.#name ??= new Place(key, () => `${this.path} (its name)`));
  }

  /** The same text for the same JSON value, whatever the order of its keys. */
  get canonical(): string {
    return (this.#canonical ??= canonical(this.value));
  }

  get codePoints(): number {
    return (this.#codePoints ??= codePoints(this.value as string));
  }
}

class Check {
  readonly #root: JsonObject;
  readonly #patterns = new PatternTester();
  readonly #references = new Map<string, JsonValue | undefined>();
  /** The choices of each `enum` in their canonical form. */
  readonly #choices = new Map<JsonValue[], ReadonlySet<string>>();
  /** The `const` of each schema, likewise. */
  readonly #constants = new Map<JsonObject, string>();
  #steps = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  visit(schema: JsonValue | undefined, place: Place, depth: number): readonly string[] {
    if (schema === false) return [problemAt(place, "is not allowed")];
    if (!isObject(schema)) return [];
    if (place.results.has(schema)) {
      const known = place.results.get(schema);
      if (known === undefined) throw new RangeError("a schema that refers to itself");
      return known;
    }
    if (depth > maxDepth) throw new RangeError("nested too deeply");
    this.#count(1);
    place.results.set(schema, undefined);
    const problems = new Problems();
    this.#apply(schema, place, problems, depth);
    place.results.set(schema, problems.list);
    return problems.list;
  }

  #apply(schema: JsonObject, place: Place, problems: Problems, depth: number): void {
    const { value } = place;
    if (typeof schema["$ref"] === "string")
      problems.addAll(this.visit(this.#resolve(schema["$ref"]), place, depth + 1));
    if (schema["nullable"] === true && value === null) return; // OpenAPI's, which MCP servers copy
    if (Array.isArray(schema["type"])) this.#count(schema["type"].length / 8);
    if (!hasType(schema["type"], place, problems)) return; // the rest would only repeat it
    this.#fixedValues(schema, place, problems);
    this.#combinations(schema, place, problems, depth);
    if (typeof value === "number") checkNumber(schema, value, place, problems);
    else if (typeof value === "string") this.#string(schema, value, place, problems);
    else if (Array.isArray(value)) this.#list(schema, value, place, problems, depth);
    else if (isObject(value)) this.#object(schema, value, place, problems, depth);
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > maxSteps) throw new TooManySteps();
  }

  /** `#/$defs/Place`, and `#` itself. What lies elsewhere is not fetched. */
  #resolve(reference: string): JsonValue | undefined {
    if (!reference.startsWith("#")) return undefined;
    if (this.#references.has(reference)) return this.#references.get(reference);
    this.#count(1 + reference.length / charactersPerStep);
    let at: JsonValue | undefined = this.#root;
    for (const step of reference.slice(1).split("/").slice(1)) {
      const key = unescape(step);
      if (Array.isArray(at)) at = at[Number(key)];
      else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }
    this.#references.set(reference, at);
    return at;
  }

  #fixedValues(schema: JsonObject, place: Place, problems: Problems): void {
    const { enum: choices, const: only } = schema;
    const { value } = place;
    if (only !== undefined) {
      const expected = this.#constants.get(schema) ?? canonical(only);
      this.#constants.set(schema, expected);
      if (expected !== this.#canonical(place))
        problems.add(place, `must be ${shown(only)}, got ${shown(value)}`);
    }
    if (!Array.isArray(choices)) return;
    let known = this.#choices.get(choices);
    if (known === undefined) {
      known = new Set(choices.map(canonical));
      this.#choices.set(choices, known);
    }
    if (known.has(this.#canonical(place))) return;
    const list = choices.slice(0, 20).map(shown);
    const more = choices.length > 20 ? ", …" : "";
    problems.add(place, `must be one of ${list.join(", ")}${more}; got ${shown(value)}`);
  }

  #canonical(place: Place): string {
    const text = place.canonical;
    this.#count(text.length / charactersPerStep);
    return text;
  }

  #combinations(schema: JsonObject, place: Place, problems: Problems, depth: number): void {
    const { allOf, anyOf, oneOf, not } = schema;
    if (Array.isArray(allOf))
      for (const part of allOf) problems.addAll(this.visit(part, place, depth + 1));
    if (Array.isArray(anyOf) && anyOf.length > 0) {
      const found = this.#attempts(anyOf, place, depth);
      if (found.every((one) => one.length > 0)) fitsNone(found, place, problems);
    }
    if (Array.isArray(oneOf) && oneOf.length > 0) {
      const found = this.#attempts(oneOf, place, depth);
      const fitting = found.filter((one) => one.length === 0).length;
      if (fitting === 0) fitsNone(found, place, problems);
      if (fitting > 1) problems.add(place, `fits ${fitting} of the forms of which it must fit one`);
    }
    if (not !== undefined && this.visit(not, place, depth + 1).length === 0)
      problems.add(place, "has a form that is not allowed");
  }

  #attempts(schemas: JsonValue[], place: Place, depth: number): (readonly string[])[] {
    this.#count(schemas.length);
    return schemas.map((schema) => this.visit(schema, place, depth + 1));
  }

  #string(schema: JsonObject, value: string, place: Place, problems: Problems): void {
    const { minLength, maxLength, pattern } = schema;
    if (typeof minLength === "number" || typeof maxLength === "number")
      checkSize(place.codePoints, minLength, maxLength, "character", place, problems);
    if (typeof pattern !== "string") return;
    const answer = this.#test(pattern, value);
    if (answer === "differs")
      problems.add(place, `must have the pattern ${abridged(pattern)}, got ${shown(value)}`);
    if (answer === "too complex")
      problems.add(
        place,
        `could not be compared with the pattern ${abridged(pattern)}: it is too complex`,
      );
  }

  #test(pattern: string, text: string): ReturnType<PatternTester["test"]> {
    this.#count(stepsPerTest + (text.length * 4) / charactersPerStep);
    if (!this.#patterns.has(pattern)) this.#count(stepsPerPattern + pattern.length / 4);
    const { counter } = this.#patterns;
    const before = counter.steps;
    const answer = this.#patterns.test(pattern, text);
    this.#count((counter.steps - before) / patternStepsPerStep);
    return answer;
  }

  #list(
    schema: JsonObject,
    value: unknown[],
    place: Place,
    problems: Problems,
    depth: number,
  ): void {
    checkSize(value.length, schema["minItems"], schema["maxItems"], "entry", place, problems);
    if (schema["uniqueItems"] === true) {
      this.#count(value.length);
      const entries = value.map((entry, index) => this.#canonical(place.child(index, entry)));
      if (new Set(entries).size < value.length)
        problems.add(place, "must not have the same entry twice");
    }
    // Until draft 2019-09 a list in `items` was what `prefixItems` is now.
    const older = Array.isArray(schema["items"]);
    const prefix = older ? schema["items"] : schema["prefixItems"];
    const rest = older ? schema["additionalItems"] : schema["items"];
    const first = Array.isArray(prefix) ? prefix : [];
    for (const [index, entry] of value.entries()) {
      const own = index < first.length ? first[index] : rest;
      if (problems.isFull || (index >= first.length && (own === undefined || own === true))) return;
      problems.addAll(this.visit(own, place.child(index, entry), depth + 1));
    }
  }

  #object(
    schema: JsonObject,
    value: Record<string, unknown>,
    place: Place,
    problems: Problems,
    depth: number,
  ): void {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const patterns = isObject(schema["patternProperties"])
      ? Object.entries(schema["patternProperties"])
      : [];
    const { required, additionalProperties: others, propertyNames } = schema;
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    this.#count((keys.length + (Array.isArray(required) ? required.length : 0)) / 4);
    checkSize(
      keys.length,
      schema["minProperties"],
      schema["maxProperties"],
      "property",
      place,
      problems,
    );
    if (Array.isArray(required))
      for (const key of required)
        if (typeof key === "string" && !(Object.hasOwn(value, key) && value[key] !== undefined))
          problems.add(place.child(key, undefined), "is missing");
    for (const key of keys) {
      if (problems.isFull) return;
      const child = place.child(key, value[key]);
      if (propertyNames !== undefined)
        problems.addAll(this.visit(propertyNames, child.nameOf(key), depth + 1));
      let known = Object.hasOwn(properties, key);
      if (known) problems.addAll(this.visit(properties[key], child, depth + 1));
      for (const [pattern, part] of patterns)
        if (this.#test(pattern, key) === "matches") {
          known = true;
          problems.addAll(this.visit(part, child, depth + 1));
        }
      if (known) continue;
      if (others === false) problems.add(child, `is not known${knownKeys(properties)}`);
      else problems.addAll(this.visit(others, child, depth + 1));
    }
  }
}

/** The first problems of a value. */
class Problems {
  readonly list: string[] = [];

  get isFull(): boolean {
    return this.list.length >= maxProblems;
  }

  add(place: Place, problem: string): void {
    if (!this.isFull) this.list.push(problemAt(place, problem));
  }

  addAll(found: readonly string[]): void {
    for (const problem of found) if (!this.isFull) this.list.push(problem);
  }
}

function problemAt({ path }: Place, problem: string): string {
  return path === "" ? problem : `${path}: ${problem}`;
}

function hasType(type: JsonValue | undefined, place: Place, problems: Problems): boolean {
  if (type === undefined) return true;
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
  if (types.length === 0 || types.some((name) => isOfType(name, place.value))) return true;
  const names = types.slice(0, 10).map((name) => typeNames[name] ?? name.slice(0, 60));
  problems.add(place, `expected ${names.join(" or ")}, got ${shown(place.value)}`);
  return false;
}

function fitsNone(found: (readonly string[])[], place: Place, problems: Problems): void {
  const first = [...new Set(found.map((one) => one[0] ?? ""))];
  if (first.length === 1) problems.addAll(first);
  else problems.add(place, `fits none of its forms (${first.slice(0, 5).join("; or ")})`);
}

function checkNumber(schema: JsonObject, value: number, place: Place, problems: Problems): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const got = `got ${value}`;
  if (typeof minimum === "number" && value < minimum)
    problems.add(place, `must be at least ${minimum}, ${got}`);
  if (typeof maximum === "number" && value > maximum)
    problems.add(place, `must be at most ${maximum}, ${got}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    problems.add(place, `must be more than ${exclusiveMinimum}, ${got}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    problems.add(place, `must be less than ${exclusiveMaximum}, ${got}`);
  if (typeof multipleOf === "number" && multipleOf > 0) {
    const times = value / multipleOf; // 0.3 / 0.1 is 2.9999999999999996
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
      problems.add(place, `must be a multiple of ${multipleOf}, ${got}`);
  }
}

function checkSize(
  size: number,
  min: JsonValue | undefined,
  max: JsonValue | undefined,
  what: string,
  place: Place,
  problems: Problems,
): void {
  const many = (count: number): string => `${count} ${count === 1 ? what : plurals[what]}`;
  if (typeof min === "number" && size < min)
    problems.add(place, `must have at least ${many(min)}, has ${size}`);
  if (typeof max === "number" && size > max)
    problems.add(place, `must have at most ${many(max)}, has ${size}`);
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
  // Not its beginning: that may end within a private value, which is not known by half of it.
  if (typeof value === "string" && value.length > 58) return `a text of ${value.length} characters`;
  const text = JSON.stringify(value) ?? typeof value;
  return text.length <= 60 ? text : `a text of ${text.length - 2} characters`;
}

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

function knownKeys(properties: JsonObject): string {
  const keys: string[] = [];
  for (const key in properties) if (keys.push(abridged(key)) > 20) break;
  if (keys.length === 0) return "";
  return `; known are ${keys.slice(0, 20).join(", ")}${keys.length > 20 ? ", …" : ""}`;
}

function abridged(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
