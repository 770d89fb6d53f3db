import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";
import { SchemaIndex, type SchemaResource, type SchemaTarget } from "./schema-index.ts";
import { PatternTester } from "./test-pattern.ts";

/**
 * Returns what is wrong with a value by a JSON Schema, each problem with its path: `location.city: expected a string, got 3`.
 * Knows all keywords of draft 2020-12, and those of drafts 7 and 2019-09 that differ. `format` and the keywords of content are
 * annotations, as the standard has it. What cannot be checked forbids nothing; `uncheckedKeywords` lists it.
 *
 * Schemas come from others. Each schema is applied to each part of the value once, however many references lead there,
 * and a check that needs too many steps ends with the one problem `tooComplex`.
 */
export function problemsByJsonSchema(schema: JsonObject, value: unknown): string[] {
  try {
    return [...new Check(schema).problems(value)];
  } catch (error) {
    if (error instanceof TooManySteps) return [tooComplex];
    if (error instanceof RangeError) return ["it is nested too deeply"];
    throw error;
  }
}

/** Returns what a schema says and `problemsByJsonSchema` does not check: unknown references, patterns and types. */
export function uncheckedKeywords(schema: JsonObject): string[] {
  try {
    return new Check(schema).unchecked();
  } catch (error) {
    if (error instanceof TooManySteps) return ["the schema is too complex"];
    throw error;
  }
}

/** The problem of a value that could not be checked. */
export const tooComplex = "could not be checked: the schema is too complex";

const maxProblems = 20;
const maxUnchecked = 5;
const maxDepth = 200;
/** Of about a microsecond each: schemas applied, and characters compared, hundreds for one step. */
const maxSteps = 75_000;
/** What it takes to find out what a part of the schema is. */
const stepsPerSchema = 1 / 8;
/** What it takes to compile a pattern, and to use it. */
const stepsPerPattern = 100;
const stepsPerTest = 5;
const charactersPerStep = 200;
/** Steps of patterns, of some ten nanoseconds each, for one step. */
const patternStepsPerStep = 30;

class TooManySteps extends Error {}

/** Where a schema is applied: in a resource, and on the way there through the first one with each dynamic anchor. */
interface Scope {
  readonly resource: SchemaResource;
  readonly dynamic: ReadonlyMap<string, SchemaTarget>;
  readonly entered: Map<SchemaResource, Scope>;
}

/** Of one schema for one part of the value. */
interface Result {
  /** Undefined while they are looked for. */
  problems?: readonly string[];
  evaluated?: Evaluated;
}

/** The part of a value that a schema is applied to. */
interface Where {
  readonly scope: Scope;
  readonly place: Place;
  readonly depth: number;
}

interface Application extends Where {
  readonly problems: Problems;
}

/** The properties or entries that a schema has said something about. */
type Evaluated = "all" | ReadonlySet<string | number>;

/** A part of the value that is checked. What is computed of it is computed once. */
class Place {
  readonly value: unknown;
  readonly #path: () => string;
  readonly #children = new Map<string | number, Place>();
  #name: Place | undefined;
  #canonical: string | undefined;
  #codePoints: number | undefined;
  /** Most parts of a value are seen in one scope only. */
  #scope: Scope | undefined;
  readonly #results = new Map<JsonObject, Result>();
  #otherResults: Map<Scope, Map<JsonObject, Result>> | undefined;

  constructor(value: unknown, path: () => string) {
    this.value = value;
    this.#path = path;
  }

  get path(): string {
    return this.#path();
  }

  /** By schema. */
  results(scope: Scope): Map<JsonObject, Result> {
    this.#scope ??= scope;
    if (this.#scope === scope) return this.#results;
    this.#otherResults ??= new Map();
    let results = this.#otherResults.get(scope);
    if (results === undefined) this.#otherResults.set(scope, (results = new Map()));
    return results;
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

const indexes = new WeakMap<JsonObject, SchemaIndex>();

class Check {
  readonly #index: SchemaIndex;
  readonly #document: Scope;
  readonly #scopes = new Map<string, Scope>();
  readonly #patterns = new PatternTester();
  /** The choices of each `enum` in their canonical form. */
  readonly #choices = new Map<JsonValue[], ReadonlySet<string>>();
  /** The `const` of each schema, likewise. */
  readonly #constants = new Map<JsonObject, string>();
  #steps = 0;

  constructor(schema: JsonObject) {
    this.#index =
      indexes.get(schema) ??
      new SchemaIndex(schema, (found) => this.#count(found * stepsPerSchema));
    indexes.set(schema, this.#index);
    const resource = this.#index.document;
    const dynamic = withDynamicAnchors(new Map(), resource);
    this.#document = { resource, dynamic, entered: new Map() };
  }

  problems(value: unknown): readonly string[] {
    const place = new Place(value, () => "");
    return this.#visit(this.#index.document.root, { scope: this.#document, place, depth: 0 });
  }

  unchecked(): string[] {
    const found = new Set<string>();
    const { $schema } = this.#index.document.root;
    if (typeof $schema === "string" && !/\/json-schema\.org\/draft[-/]/.test($schema))
      found.add(`its dialect ${abridged($schema)} is read as draft 2020-12`);
    for (const [schema, resource] of this.#index.schemas) {
      this.#count(1);
      for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef"]) {
        const reference = schema[keyword];
        if (typeof reference === "string" && !this.#index.resolve(reference, resource))
          found.add(`${keyword} ${abridged(reference)} is not in the schema`);
      }
      const { pattern, patternProperties, type = [] } = schema;
      const patterns = isObject(patternProperties) ? Object.keys(patternProperties) : [];
      for (const one of typeof pattern === "string" ? [pattern, ...patterns] : patterns)
        if (this.#test(one, "") === "no pattern")
          found.add(`the pattern ${abridged(one)} cannot be used`);
      for (const name of Array.isArray(type) ? type : [type])
        if (typeof name !== "string" || !Object.hasOwn(typeNames, name))
          found.add(`type ${abridged(JSON.stringify(name))} is not known`);
      for (const [keyword, setting] of Object.entries(schema))
        if (setting !== undefined && wellFormed.get(keyword)?.(setting) === false)
          found.add(`${keyword} has a wrong value`);
    }
    return [...found].slice(0, maxUnchecked);
  }

  /** The problems of a value, or of a part of it, by a part of the schema. */
  #visit(schema: JsonValue | undefined, at: Where, place = at.place): readonly string[] {
    if (schema === false) return [problemAt(place, "is not allowed")];
    if (!isObject(schema)) return [];
    const scope = this.#enter(at.scope, this.#index.resourceAt(schema));
    const results = place.results(scope);
    const known = results.get(schema);
    if (known !== undefined) {
      if (known.problems === undefined) throw new RangeError("a schema that refers to itself");
      return known.problems;
    }
    if (at.depth > maxDepth) throw new RangeError("nested too deeply");
    this.#count(1);
    const result: Result = {};
    results.set(schema, result);
    const problems = new Problems();
    this.#apply(schema, { scope, place, problems, depth: at.depth + 1 });
    return (result.problems = problems.list);
  }

  #apply(schema: JsonObject, at: Application): void {
    const { scope, place, problems } = at;
    const { value } = place;
    for (const target of this.#references(schema, scope))
      problems.addAll(
        this.#visit(target.schema, { ...at, scope: this.#enter(scope, target.resource) }),
      );
    if (this.#isReferenceOnly(schema)) return;
    if (schema["nullable"] === true && value === null) return; // OpenAPI's, which MCP servers copy
    if (Array.isArray(schema["type"])) this.#count(schema["type"].length / 8);
    if (!hasType(schema["type"], place, problems)) return; // the rest would only repeat it
    this.#fixedValues(schema, place, problems);
    this.#combinations(schema, at);
    if (typeof value === "number") checkNumber(schema, value, place, problems);
    else if (typeof value === "string") this.#string(schema, value, place, problems);
    else if (Array.isArray(value)) this.#list(schema, value, at);
    else if (isObject(value)) this.#object(schema, value, at);
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > maxSteps) throw new TooManySteps();
  }

  #enter(scope: Scope, resource: SchemaResource | undefined): Scope {
    if (resource === undefined || resource === scope.resource) return scope;
    let entered = scope.entered.get(resource);
    if (entered === undefined) {
      const dynamic = withDynamicAnchors(scope.dynamic, resource);
      // The same scope by whichever way, so that what was found in it is found again.
      const key = JSON.stringify([
        resource.uri,
        ...[...dynamic].map(([name, target]) => `${name} ${target.resource.uri}`).toSorted(),
      ]);
      this.#count(1 + key.length / charactersPerStep);
      entered = this.#scopes.get(key) ?? { resource, dynamic, entered: new Map() };
      this.#scopes.set(key, entered);
      scope.entered.set(resource, entered);
    }
    return entered;
  }

  /** What a schema refers to, and applies. */
  #references(schema: JsonObject, { resource, dynamic }: Scope): SchemaTarget[] {
    const { $ref, $dynamicRef, $recursiveRef } = schema;
    const targets: SchemaTarget[] = [];
    const resolve = (
      reference: string,
      nameOf: (reference: string) => string | undefined,
    ): void => {
      this.#count(reference.length / charactersPerStep);
      const target = this.#index.resolve(reference, resource);
      if (target === undefined) return;
      const name = nameOf(reference);
      const isDynamic =
        name !== undefined && target.resource.dynamicAnchors.get(name) === target.schema;
      targets.push((isDynamic ? dynamic.get(name) : undefined) ?? target);
    };
    if (typeof $ref === "string") resolve($ref, () => undefined);
    if (typeof $dynamicRef === "string")
      resolve($dynamicRef, (reference) => reference.slice(reference.indexOf("#") + 1));
    if (typeof $recursiveRef === "string") resolve($recursiveRef, () => "");
    return targets;
  }

  #isReferenceOnly(schema: JsonObject): boolean {
    return this.#index.ignoresBesideRef && typeof schema["$ref"] === "string";
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
      this.#count(choices.length / 2);
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

  #combinations(schema: JsonObject, at: Application): void {
    const { place, problems } = at;
    const { allOf, anyOf, oneOf, not } = schema;
    if (Array.isArray(allOf)) for (const part of allOf) problems.addAll(this.#visit(part, at));
    if (Array.isArray(anyOf) && anyOf.length > 0) {
      const found = this.#attempts(anyOf, at);
      if (found.every((one) => one.length > 0)) fitsNone(found, place, problems);
    }
    if (Array.isArray(oneOf) && oneOf.length > 0) {
      const found = this.#attempts(oneOf, at);
      const fitting = found.filter((one) => one.length === 0).length;
      if (fitting === 0) fitsNone(found, place, problems);
      if (fitting > 1) problems.add(place, `fits ${fitting} of the forms of which it must fit one`);
    }
    if (not !== undefined && this.#fits(not, at))
      problems.add(place, "has a form that is not allowed");
    problems.addAll(this.#visit(this.#consequence(schema, at), at));
  }

  #attempts(schemas: JsonValue[], at: Where): (readonly string[])[] {
    this.#count(schemas.length);
    return schemas.map((schema) => this.#visit(schema, at));
  }

  #fits(schema: JsonValue | undefined, at: Where, place = at.place): boolean {
    return this.#visit(schema, at, place).length === 0;
  }

  /** What `if` decides for. */
  #consequence(schema: JsonObject, at: Where): JsonValue | undefined {
    if (schema["if"] === undefined) return undefined;
    return schema[this.#fits(schema["if"], at) ? "then" : "else"];
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

  #list(schema: JsonObject, value: unknown[], at: Application): void {
    const { place, problems } = at;
    checkSize(value.length, schema["minItems"], schema["maxItems"], "entry", place, problems);
    if (schema["uniqueItems"] === true) {
      this.#count(value.length);
      const entries = value.map((entry, index) => this.#canonical(place.child(index, entry)));
      if (new Set(entries).size < value.length)
        problems.add(place, "must not have the same entry twice");
    }
    const { first, rest } = itemSchemas(schema);
    const last = rest === undefined || rest === true ? first.length : value.length;
    for (const [index, entry] of value.slice(0, last).entries()) {
      if (problems.isFull) return;
      const own = index < first.length ? first[index] : rest;
      problems.addAll(this.#visit(own, at, place.child(index, entry)));
    }
    const { minContains = 1, maxContains } = schema;
    if (schema["contains"] !== undefined)
      checkSize(
        this.#contained(schema, value, at).length,
        minContains,
        maxContains,
        "matching entry",
        place,
        problems,
      );
    this.#unevaluated("unevaluatedItems", schema, value.entries(), at);
  }

  /** The entries that `contains` asks for. */
  #contained({ contains }: JsonObject, value: unknown[], at: Where): number[] {
    if (contains === undefined) return [];
    this.#count(value.length / 4);
    return value.flatMap((entry, index) =>
      this.#fits(contains, at, at.place.child(index, entry)) ? [index] : [],
    );
  }

  #object(schema: JsonObject, value: Record<string, unknown>, at: Application): void {
    const { place, problems } = at;
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
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
    checkRequired(required, value, "is missing", place, problems);
    this.#dependencies(schema, value, at);
    for (const key of keys) {
      if (problems.isFull) return;
      const child = place.child(key, value[key]);
      if (propertyNames !== undefined)
        problems.addAll(this.#visit(propertyNames, at, child.nameOf(key)));
      const isKnown = Object.hasOwn(properties, key);
      if (isKnown) problems.addAll(this.#visit(properties[key], at, child));
      const matching = this.#matching(schema, key);
      for (const part of matching) problems.addAll(this.#visit(part, at, child));
      if (isKnown || matching.length > 0) continue;
      if (others === false) problems.add(child, `is not known${knownKeys(properties)}`);
      else problems.addAll(this.#visit(others, at, child));
    }
    const entries = keys.map((key): [string, unknown] => [key, value[key]]);
    this.#unevaluated("unevaluatedProperties", schema, entries, at);
  }

  /** The schemas of `patternProperties` for a name. */
  #matching({ patternProperties }: JsonObject, key: string): (JsonValue | undefined)[] {
    if (!isObject(patternProperties)) return [];
    return Object.entries(patternProperties).flatMap(([pattern, part]) =>
      this.#test(pattern, key) === "matches" ? [part] : [],
    );
  }

  #dependencies(schema: JsonObject, value: Record<string, unknown>, at: Application): void {
    for (const [key, needed] of dependenciesOf(schema, value)) {
      this.#count(1);
      checkRequired(
        needed,
        value,
        `is missing, which ${abridged(key)} needs`,
        at.place,
        at.problems,
      );
      if (!Array.isArray(needed)) at.problems.addAll(this.#visit(needed, at));
    }
  }

  #unevaluated(
    keyword: "unevaluatedItems" | "unevaluatedProperties",
    schema: JsonObject,
    entries: Iterable<[string | number, unknown]>,
    at: Application,
  ): void {
    const { place, problems } = at;
    const rest = schema[keyword];
    // A part that does not fit says nothing about the rest.
    if (rest === undefined || rest === true || problems.list.length > 0) return;
    const evaluated = this.#evaluatedBy(schema, at);
    if (evaluated === "all") return;
    for (const [key, entry] of entries) {
      if (problems.isFull) return;
      if (evaluated.has(key)) continue;
      const child = place.child(key, entry);
      if (rest === false) problems.add(child, "is not known");
      else problems.addAll(this.#visit(rest, at, child));
    }
  }

  /** What a schema that fits, or its `unevaluated…` keyword, leaves no more to say about. */
  #evaluated(schema: JsonValue | undefined, at: Where): Evaluated {
    if (!isObject(schema) || !this.#fits(schema, at)) return nothing;
    const { place, depth } = at;
    const scope = this.#enter(at.scope, this.#index.resourceAt(schema));
    const result = place.results(scope).get(schema) ?? {};
    const keyword = Array.isArray(place.value) ? "unevaluatedItems" : "unevaluatedProperties";
    if (schema[keyword] !== undefined) return "all";
    return (result.evaluated ??= this.#evaluatedBy(schema, { place, scope, depth: depth + 1 }));
  }

  #evaluatedBy(schema: JsonObject, at: Where): Evaluated {
    const { scope } = at;
    const { value } = at.place;
    const found = new Set<string | number>();
    const add = (evaluated: Evaluated): boolean => {
      if (evaluated === "all") return true;
      this.#count(1 + evaluated.size / 8);
      for (const key of evaluated) found.add(key);
      return false;
    };
    for (const target of this.#references(schema, scope)) {
      const entered = { ...at, scope: this.#enter(scope, target.resource) };
      if (add(this.#evaluated(target.schema, entered))) return "all";
    }
    if (this.#isReferenceOnly(schema)) return found;
    if (Array.isArray(value)) {
      const { first, rest } = itemSchemas(schema);
      if (rest !== undefined) return "all";
      for (const index of first.keys()) found.add(index);
      for (const index of this.#contained(schema, value, at)) found.add(index);
    } else if (isObject(value)) {
      if (schema["additionalProperties"] !== undefined) return "all";
      const properties = isObject(schema["properties"]) ? schema["properties"] : {};
      for (const key of Object.keys(value))
        if (Object.hasOwn(properties, key) || this.#matching(schema, key).length > 0)
          found.add(key);
    } else return found;
    const parts: (JsonValue | undefined)[] = [schema["allOf"], schema["anyOf"], schema["oneOf"]]
      .filter((list) => Array.isArray(list))
      .flat();
    if (isObject(value)) for (const [, part] of dependenciesOf(schema, value)) parts.push(part);
    if (schema["if"] !== undefined) parts.push(schema["if"], this.#consequence(schema, at));
    for (const part of parts) if (add(this.#evaluated(part, at))) return "all";
    return found;
  }
}

const isNumber = (value: JsonValue): boolean => typeof value === "number";
const isText = (value: JsonValue): boolean => typeof value === "string";
const isSchema = (value: JsonValue): boolean => typeof value === "boolean" || isObject(value);
const isList = (value: JsonValue): boolean => Array.isArray(value);
const isSwitch = (value: JsonValue): boolean => typeof value === "boolean";
/** By keyword, what its value must be. */
const wellFormed = new Map<string, (value: JsonValue) => boolean>(
  Object.entries({
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength": isNumber,
    "minItems maxItems minContains maxContains minProperties maxProperties": isNumber,
    "pattern $ref $dynamicRef $recursiveRef": isText,
    "additionalItems additionalProperties contains else if not propertyNames then": isSchema,
    "unevaluatedItems unevaluatedProperties": isSchema,
    items: (value: JsonValue) => isSchema(value) || isList(value),
    "allOf anyOf oneOf prefixItems enum required": isList,
    "properties patternProperties dependentRequired dependentSchemas dependencies": isObject,
    "uniqueItems nullable": isSwitch,
  }).flatMap(([names, rule]) => names.split(" ").map((name) => [name, rule] as const)),
);

const nothing: ReadonlySet<string> = new Set();

function withDynamicAnchors(
  dynamic: ReadonlyMap<string, SchemaTarget>,
  resource: SchemaResource,
): ReadonlyMap<string, SchemaTarget> {
  const entries = [...resource.dynamicAnchors].map(([name, schema]): [string, SchemaTarget] => [
    name,
    { schema, resource },
  ]);
  return entries.length === 0 ? dynamic : new Map([...entries, ...dynamic]);
}

/** Until draft 2019-09 a list in `items` was what `prefixItems` is now. */
function itemSchemas(schema: JsonObject): { first: JsonValue[]; rest: JsonValue | undefined } {
  const { items, prefixItems, additionalItems } = schema;
  if (Array.isArray(items)) return { first: items, rest: additionalItems };
  return { first: Array.isArray(prefixItems) ? prefixItems : [], rest: items };
}

/** What is wanted of a value because of the properties it has, by these. Until draft 2019-09 both had one name. */
function* dependenciesOf(
  { dependentRequired, dependentSchemas, dependencies }: JsonObject,
  value: Record<string, unknown>,
): Generator<[string, JsonValue | undefined]> {
  for (const keyword of [dependentRequired, dependentSchemas, dependencies])
    if (isObject(keyword))
      for (const [key, needed] of Object.entries(keyword))
        if (Object.hasOwn(value, key) && value[key] !== undefined) yield [key, needed];
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

function checkRequired(
  required: JsonValue | undefined,
  value: Record<string, unknown>,
  problem: string,
  place: Place,
  problems: Problems,
): void {
  if (!Array.isArray(required)) return;
  for (const key of required)
    if (typeof key === "string" && !(Object.hasOwn(value, key) && value[key] !== undefined))
      problems.add(place.child(key, undefined), problem);
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
    // Beyond the largest number nothing is known.
    if (
      !Number.isFinite(times) ||
      Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times))
    )
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
  "matching entry": "matching entries",
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
