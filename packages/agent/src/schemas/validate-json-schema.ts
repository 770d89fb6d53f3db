import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";
import { SchemaIndex, type SchemaResource, type SchemaTarget } from "./schema-index.ts";
import { PatternTester } from "./pattern-tester.ts";

/**
 * Validates a value and returns its problems, each with its path: `location.city: expected a string, got 3`. Supports all
 * keywords of draft 2020-12, and those of drafts 7 and 2019-09 that differ. `format` and the `content…` keywords are
 * annotations, as in the specification. Keywords that cannot be checked are ignored; `findUncheckedKeywords` lists them.
 *
 * Schemas are untrusted. Each schema is applied to each part of the value once, however many references lead there, and a
 * validation that needs too many steps returns only the problem `schemaTooComplex`.
 */
export function validateJsonSchema(schema: JsonObject, value: unknown): string[] {
  try {
    return [...new SchemaValidator(schema).validate(value)];
  } catch (error) {
    if (error instanceof TooManyStepsError) return [schemaTooComplex];
    if (error instanceof RangeError) return ["is nested too deeply"];
    throw error;
  }
}

/** Returns the parts of a schema that `validateJsonSchema` does not check: unknown references, patterns and types. */
export function findUncheckedKeywords(schema: JsonObject): string[] {
  try {
    return new SchemaValidator(schema).findUncheckedKeywords();
  } catch (error) {
    if (error instanceof TooManyStepsError) return ["the schema is too complex"];
    throw error;
  }
}

/** Error message for a value that could not be checked. */
export const schemaTooComplex = "could not be checked: the schema is too complex";

const maxProblems = 20;
const maxUncheckedKeywords = 5;
const maxDepth = 200;
/** Steps of about a microsecond each: applying a schema, or comparing some hundred characters. */
const maxSteps = 75_000;
/** Cost of indexing a part of the schema. */
const stepsPerSchema = 1 / 8;
/** Cost of compiling a pattern, and of testing it. */
const stepsPerPattern = 100;
const stepsPerTest = 5;
const charactersPerStep = 200;
/** Pattern steps, of roughly ten nanoseconds each, per step. */
const patternStepsPerStep = 30;

class TooManyStepsError extends Error {}

/** The scope of a schema: its resource, and the outermost resource entered for each dynamic anchor. */
interface Scope {
  readonly resource: SchemaResource;
  readonly dynamicAnchors: ReadonlyMap<string, SchemaTarget>;
  /** The scopes entered from this one. */
  readonly enteredScopes: Map<SchemaResource, Scope>;
}

/** The result of one schema for one part of the value. */
interface SchemaResult {
  /** Undefined while the schema is being applied. */
  problems?: readonly string[];
  evaluatedKeys?: EvaluatedKeys;
}

/** The part of a value that a schema is applied to. */
interface SchemaLocation {
  readonly scope: Scope;
  readonly node: ValueNode;
  readonly depth: number;
}

interface SchemaApplication extends SchemaLocation {
  readonly problems: ProblemList;
}

/** The properties or entries that a schema has evaluated. */
type EvaluatedKeys = "all" | ReadonlySet<string | number>;

/** A part of the validated value. Caches everything that is computed from it. */
class ValueNode {
  readonly value: unknown;
  readonly #path: () => string;
  readonly #children = new Map<string | number, ValueNode>();
  #nameNode: ValueNode | undefined;
  #canonicalText: string | undefined;
  #codePointCount: number | undefined;
  /** Most parts of a value are validated in a single scope. */
  #scope: Scope | undefined;
  readonly #results = new Map<JsonObject, SchemaResult>();
  #otherResults: Map<Scope, Map<JsonObject, SchemaResult>> | undefined;

  constructor(value: unknown, path: () => string) {
    this.value = value;
    this.#path = path;
  }

  get path(): string {
    return this.#path();
  }

  /** Returns the results for this value in a scope, by schema. */
  getResults(scope: Scope): Map<JsonObject, SchemaResult> {
    this.#scope ??= scope;
    if (this.#scope === scope) return this.#results;
    this.#otherResults ??= new Map();
    let results = this.#otherResults.get(scope);
    if (results === undefined) this.#otherResults.set(scope, (results = new Map()));
    return results;
  }

  getChild(key: string | number, value: unknown): ValueNode {
    let child = this.#children.get(key);
    if (child === undefined) {
      child = new ValueNode(value, () =>
        typeof key === "number" ? `${this.path}[${key}]` : joinPath(this.path, key),
      );
      this.#children.set(key, child);
    }
    return child;
  }

  /** Returns the name of this property as a value, for `propertyNames`. */
  getNameNode(key: string): ValueNode {
    return (this.#nameNode ??= new ValueNode(key, () => `${this.path} (its name)`));
  }

  /** Equal for equal JSON values, regardless of the order of their keys. */
  get canonicalText(): string {
    return (this.#canonicalText ??= canonicalize(this.value));
  }

  get codePointCount(): number {
    return (this.#codePointCount ??= countCodePoints(this.value as string));
  }
}

const indexes = new WeakMap<JsonObject, SchemaIndex>();

class SchemaValidator {
  readonly #index: SchemaIndex;
  readonly #rootScope: Scope;
  readonly #scopes = new Map<string, Scope>();
  readonly #patterns = new PatternTester();
  /** The values of each `enum` in their canonical form. */
  readonly #enumValues = new Map<JsonValue[], ReadonlySet<string>>();
  /** The `const` of each schema in its canonical form. */
  readonly #constValues = new Map<JsonObject, string>();
  #steps = 0;

  constructor(schema: JsonObject) {
    this.#index =
      indexes.get(schema) ??
      new SchemaIndex(schema, (count) => this.#addSteps(count * stepsPerSchema));
    indexes.set(schema, this.#index);
    const resource = this.#index.document;
    const dynamicAnchors = withDynamicAnchors(new Map(), resource);
    this.#rootScope = { resource, dynamicAnchors, enteredScopes: new Map() };
  }

  validate(value: unknown): readonly string[] {
    const node = new ValueNode(value, () => "");
    return this.#visit(this.#index.document.root, { scope: this.#rootScope, node, depth: 0 });
  }

  findUncheckedKeywords(): string[] {
    const uncheckedKeywords = new Set<string>();
    const { $schema } = this.#index.document.root;
    if (typeof $schema === "string" && !/\/json-schema\.org\/draft[-/]/.test($schema))
      uncheckedKeywords.add(`its dialect ${abbreviate($schema)} is read as draft 2020-12`);
    for (const [schema, resource] of this.#index.schemas) {
      this.#addSteps(1);
      for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef"]) {
        const reference = schema[keyword];
        if (typeof reference === "string" && !this.#index.resolve(reference, resource))
          uncheckedKeywords.add(`${keyword} ${abbreviate(reference)} is not in the schema`);
      }
      const { pattern, patternProperties, type = [] } = schema;
      const patterns = isObject(patternProperties) ? Object.keys(patternProperties) : [];
      for (const source of typeof pattern === "string" ? [pattern, ...patterns] : patterns)
        if (this.#testPattern(source, "") === "unusable")
          uncheckedKeywords.add(`the pattern ${abbreviate(source)} cannot be used`);
      for (const name of Array.isArray(type) ? type : [type])
        if (typeof name !== "string" || !Object.hasOwn(typeDescriptions, name))
          uncheckedKeywords.add(`type ${abbreviate(JSON.stringify(name))} is unknown`);
      for (const [keyword, setting] of Object.entries(schema))
        if (setting !== undefined && keywordChecks.get(keyword)?.(setting) === false)
          uncheckedKeywords.add(`${keyword} has an invalid value`);
    }
    return [...uncheckedKeywords].slice(0, maxUncheckedKeywords);
  }

  /** Applies part of the schema to the value, or to part of it. Returns the problems. */
  #visit(
    schema: JsonValue | undefined,
    location: SchemaLocation,
    node = location.node,
  ): readonly string[] {
    if (schema === false) return [formatProblem(node, "is not allowed")];
    if (!isObject(schema)) return [];
    const scope = this.#enter(location.scope, this.#index.getResource(schema));
    const results = node.getResults(scope);
    const cachedResult = results.get(schema);
    if (cachedResult !== undefined) {
      if (cachedResult.problems === undefined)
        throw new RangeError("a schema that refers to itself");
      return cachedResult.problems;
    }
    if (location.depth > maxDepth) throw new RangeError("nested too deeply");
    this.#addSteps(1);
    const result: SchemaResult = {};
    results.set(schema, result);
    const problems = new ProblemList();
    this.#apply(schema, { scope, node, problems, depth: location.depth + 1 });
    return (result.problems = problems.list);
  }

  #apply(schema: JsonObject, location: SchemaApplication): void {
    const { scope, node, problems } = location;
    const { value } = node;
    for (const target of this.#resolveReferences(schema, scope))
      problems.addAll(
        this.#visit(target.schema, { ...location, scope: this.#enter(scope, target.resource) }),
      );
    if (this.#isReferenceOnly(schema)) return;
    if (schema["nullable"] === true && value === null) return; // an OpenAPI keyword that MCP servers copy
    if (Array.isArray(schema["type"])) this.#addSteps(schema["type"].length / 8);
    if (!checkType(schema["type"], node, problems)) return; // other problems would follow from this one
    this.#checkFixedValues(schema, node, problems);
    this.#checkCombinators(schema, location);
    if (typeof value === "number") checkNumber(schema, value, node, problems);
    else if (typeof value === "string") this.#checkString(schema, value, node, problems);
    else if (Array.isArray(value)) this.#checkArray(schema, value, location);
    else if (isObject(value)) this.#checkObject(schema, value, location);
  }

  #addSteps(steps: number): void {
    this.#steps += steps;
    if (this.#steps > maxSteps) throw new TooManyStepsError();
  }

  #enter(scope: Scope, resource: SchemaResource | undefined): Scope {
    if (resource === undefined || resource === scope.resource) return scope;
    let enteredScope = scope.enteredScopes.get(resource);
    if (enteredScope === undefined) {
      const dynamicAnchors = withDynamicAnchors(scope.dynamicAnchors, resource);
      // The same scope whichever way it was entered, so that cached results apply.
      const key = JSON.stringify([
        resource.uri,
        ...[...dynamicAnchors].map(([name, target]) => `${name} ${target.resource.uri}`).toSorted(),
      ]);
      this.#addSteps(1 + key.length / charactersPerStep);
      enteredScope = this.#scopes.get(key) ?? {
        resource,
        dynamicAnchors,
        enteredScopes: new Map(),
      };
      this.#scopes.set(key, enteredScope);
      scope.enteredScopes.set(resource, enteredScope);
    }
    return enteredScope;
  }

  /** Returns the targets of the references in a schema. */
  #resolveReferences(schema: JsonObject, { resource, dynamicAnchors }: Scope): SchemaTarget[] {
    const { $ref, $dynamicRef, $recursiveRef } = schema;
    const targets: SchemaTarget[] = [];
    const resolve = (
      reference: string,
      parseAnchorName: (reference: string) => string | undefined,
    ): void => {
      this.#addSteps(reference.length / charactersPerStep);
      const target = this.#index.resolve(reference, resource);
      if (target === undefined) return;
      const name = parseAnchorName(reference);
      const isDynamic =
        name !== undefined && target.resource.dynamicAnchors.get(name) === target.schema;
      targets.push((isDynamic ? dynamicAnchors.get(name) : undefined) ?? target);
    };
    if (typeof $ref === "string") resolve($ref, () => undefined);
    if (typeof $dynamicRef === "string")
      resolve($dynamicRef, (reference) => reference.slice(reference.indexOf("#") + 1));
    if (typeof $recursiveRef === "string") resolve($recursiveRef, () => "");
    return targets;
  }

  #isReferenceOnly(schema: JsonObject): boolean {
    return this.#index.ignoresRefSiblings && typeof schema["$ref"] === "string";
  }

  #checkFixedValues(schema: JsonObject, node: ValueNode, problems: ProblemList): void {
    const { enum: choices, const: constant } = schema;
    const { value } = node;
    if (constant !== undefined) {
      const expected = this.#constValues.get(schema) ?? canonicalize(constant);
      this.#constValues.set(schema, expected);
      if (expected !== this.#getCanonicalText(node))
        problems.add(node, `must be ${formatValue(constant)}, got ${formatValue(value)}`);
    }
    if (!Array.isArray(choices)) return;
    let allowedTexts = this.#enumValues.get(choices);
    if (allowedTexts === undefined) {
      allowedTexts = new Set(choices.map(canonicalize));
      this.#addSteps(choices.length / 2);
      this.#enumValues.set(choices, allowedTexts);
    }
    if (allowedTexts.has(this.#getCanonicalText(node))) return;
    const list = choices.slice(0, 20).map(formatValue);
    const suffix = choices.length > 20 ? ", …" : "";
    problems.add(node, `must be one of ${list.join(", ")}${suffix}; got ${formatValue(value)}`);
  }

  #getCanonicalText(node: ValueNode): string {
    const text = node.canonicalText;
    this.#addSteps(text.length / charactersPerStep);
    return text;
  }

  #checkCombinators(schema: JsonObject, location: SchemaApplication): void {
    const { node, problems } = location;
    const { allOf, anyOf, oneOf, not } = schema;
    if (Array.isArray(allOf))
      for (const part of allOf) problems.addAll(this.#visit(part, location));
    if (Array.isArray(anyOf) && anyOf.length > 0) {
      const problemLists = this.#validateEach(anyOf, location);
      if (problemLists.every((list) => list.length > 0))
        addNoMatchProblem(problemLists, node, problems);
    }
    if (Array.isArray(oneOf) && oneOf.length > 0) {
      const problemLists = this.#validateEach(oneOf, location);
      const matchCount = problemLists.filter((list) => list.length === 0).length;
      if (matchCount === 0) addNoMatchProblem(problemLists, node, problems);
      if (matchCount > 1)
        problems.add(node, `must match exactly one of the allowed schemas, matches ${matchCount}`);
    }
    if (not !== undefined && this.#isValid(not, location))
      problems.add(node, "matches a schema that is not allowed");
    problems.addAll(this.#visit(this.#selectBranch(schema, location), location));
  }

  #validateEach(schemas: JsonValue[], location: SchemaLocation): (readonly string[])[] {
    this.#addSteps(schemas.length);
    return schemas.map((schema) => this.#visit(schema, location));
  }

  #isValid(schema: JsonValue | undefined, location: SchemaLocation, node = location.node): boolean {
    return this.#visit(schema, location, node).length === 0;
  }

  /** Returns the branch that `if` selects. */
  #selectBranch(schema: JsonObject, location: SchemaLocation): JsonValue | undefined {
    if (schema["if"] === undefined) return undefined;
    return schema[this.#isValid(schema["if"], location) ? "then" : "else"];
  }

  #checkString(schema: JsonObject, value: string, node: ValueNode, problems: ProblemList): void {
    const { minLength, maxLength, pattern } = schema;
    if (typeof minLength === "number" || typeof maxLength === "number")
      checkSize(node.codePointCount, minLength, maxLength, "character", node, problems);
    if (typeof pattern !== "string") return;
    const patternResult = this.#testPattern(pattern, value);
    if (patternResult === "differs")
      problems.add(
        node,
        `must match the pattern ${abbreviate(pattern)}, got ${formatValue(value)}`,
      );
    if (patternResult === "too complex")
      problems.add(node, `could not be checked: the pattern ${abbreviate(pattern)} is too complex`);
  }

  #testPattern(pattern: string, text: string): ReturnType<PatternTester["test"]> {
    this.#addSteps(stepsPerTest + (text.length * 4) / charactersPerStep);
    if (!this.#patterns.has(pattern)) this.#addSteps(stepsPerPattern + pattern.length / 4);
    const { counter } = this.#patterns;
    const stepsBefore = counter.steps;
    const patternResult = this.#patterns.test(pattern, text);
    this.#addSteps((counter.steps - stepsBefore) / patternStepsPerStep);
    return patternResult;
  }

  #checkArray(schema: JsonObject, value: unknown[], location: SchemaApplication): void {
    const { node, problems } = location;
    checkSize(value.length, schema["minItems"], schema["maxItems"], "entry", node, problems);
    if (schema["uniqueItems"] === true) {
      this.#addSteps(value.length);
      const entries = value.map((entry, index) =>
        this.#getCanonicalText(node.getChild(index, entry)),
      );
      if (new Set(entries).size < value.length)
        problems.add(node, "must not contain duplicate entries");
    }
    const { prefixSchemas, restSchema } = getItemSchemas(schema);
    const end =
      restSchema === undefined || restSchema === true ? prefixSchemas.length : value.length;
    for (const [index, entry] of value.slice(0, end).entries()) {
      if (problems.isFull) return;
      const itemSchema = index < prefixSchemas.length ? prefixSchemas[index] : restSchema;
      problems.addAll(this.#visit(itemSchema, location, node.getChild(index, entry)));
    }
    const { minContains = 1, maxContains } = schema;
    if (schema["contains"] !== undefined)
      checkSize(
        this.#findContained(schema, value, location).length,
        minContains,
        maxContains,
        "matching entry",
        node,
        problems,
      );
    this.#checkUnevaluated("unevaluatedItems", schema, value.entries(), location);
  }

  /** Returns the indexes of the entries that match `contains`. */
  #findContained({ contains }: JsonObject, value: unknown[], location: SchemaLocation): number[] {
    if (contains === undefined) return [];
    this.#addSteps(value.length / 4);
    return value.flatMap((entry, index) =>
      this.#isValid(contains, location, location.node.getChild(index, entry)) ? [index] : [],
    );
  }

  #checkObject(
    schema: JsonObject,
    value: Record<string, unknown>,
    location: SchemaApplication,
  ): void {
    const { node, problems } = location;
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const { required, additionalProperties: additional, propertyNames } = schema;
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    this.#addSteps((keys.length + (Array.isArray(required) ? required.length : 0)) / 4);
    checkSize(
      keys.length,
      schema["minProperties"],
      schema["maxProperties"],
      "property",
      node,
      problems,
    );
    checkRequired(required, value, "is missing", node, problems);
    this.#checkDependencies(schema, value, location);
    for (const key of keys) {
      if (problems.isFull) return;
      const child = node.getChild(key, value[key]);
      if (propertyNames !== undefined)
        problems.addAll(this.#visit(propertyNames, location, child.getNameNode(key)));
      const isKnown = Object.hasOwn(properties, key);
      if (isKnown) problems.addAll(this.#visit(properties[key], location, child));
      const matching = this.#findMatchingSchemas(schema, key);
      for (const part of matching) problems.addAll(this.#visit(part, location, child));
      if (isKnown || matching.length > 0) continue;
      if (additional === false) problems.add(child, `is unknown${formatKnownKeys(properties)}`);
      else problems.addAll(this.#visit(additional, location, child));
    }
    const entries = keys.map((key): [string, unknown] => [key, value[key]]);
    this.#checkUnevaluated("unevaluatedProperties", schema, entries, location);
  }

  /** Returns the schemas of `patternProperties` for a name. */
  #findMatchingSchemas({ patternProperties }: JsonObject, key: string): (JsonValue | undefined)[] {
    if (!isObject(patternProperties)) return [];
    return Object.entries(patternProperties).flatMap(([pattern, part]) =>
      this.#testPattern(pattern, key) === "matches" ? [part] : [],
    );
  }

  #checkDependencies(
    schema: JsonObject,
    value: Record<string, unknown>,
    location: SchemaApplication,
  ): void {
    for (const [key, requirement] of listDependencies(schema, value)) {
      this.#addSteps(1);
      checkRequired(
        requirement,
        value,
        `is required if ${abbreviate(key)} is set`,
        location.node,
        location.problems,
      );
      if (!Array.isArray(requirement)) location.problems.addAll(this.#visit(requirement, location));
    }
  }

  #checkUnevaluated(
    keyword: "unevaluatedItems" | "unevaluatedProperties",
    schema: JsonObject,
    entries: Iterable<[string | number, unknown]>,
    location: SchemaApplication,
  ): void {
    const { node, problems } = location;
    const restSchema = schema[keyword];
    // An invalid value has no meaningful set of evaluated keys.
    if (restSchema === undefined || restSchema === true || problems.list.length > 0) return;
    const evaluatedKeys = this.#computeEvaluatedKeys(schema, location);
    if (evaluatedKeys === "all") return;
    for (const [key, entry] of entries) {
      if (problems.isFull) return;
      if (evaluatedKeys.has(key)) continue;
      const child = node.getChild(key, entry);
      if (restSchema === false) problems.add(child, "is unknown");
      else problems.addAll(this.#visit(restSchema, location, child));
    }
  }

  /** Returns the keys that a valid schema, including its `unevaluated…` keyword, has evaluated. */
  #getEvaluatedKeys(schema: JsonValue | undefined, location: SchemaLocation): EvaluatedKeys {
    if (!isObject(schema) || !this.#isValid(schema, location)) return noKeys;
    const { node, depth } = location;
    const scope = this.#enter(location.scope, this.#index.getResource(schema));
    const result = node.getResults(scope).get(schema) ?? {};
    const keyword = Array.isArray(node.value) ? "unevaluatedItems" : "unevaluatedProperties";
    if (schema[keyword] !== undefined) return "all";
    return (result.evaluatedKeys ??= this.#computeEvaluatedKeys(schema, {
      node,
      scope,
      depth: depth + 1,
    }));
  }

  #computeEvaluatedKeys(schema: JsonObject, location: SchemaLocation): EvaluatedKeys {
    const { scope } = location;
    const { value } = location.node;
    const keys = new Set<string | number>();
    const add = (evaluatedKeys: EvaluatedKeys): boolean => {
      if (evaluatedKeys === "all") return true;
      this.#addSteps(1 + evaluatedKeys.size / 8);
      for (const key of evaluatedKeys) keys.add(key);
      return false;
    };
    for (const target of this.#resolveReferences(schema, scope)) {
      const targetLocation = { ...location, scope: this.#enter(scope, target.resource) };
      if (add(this.#getEvaluatedKeys(target.schema, targetLocation))) return "all";
    }
    if (this.#isReferenceOnly(schema)) return keys;
    if (Array.isArray(value)) {
      const { prefixSchemas, restSchema } = getItemSchemas(schema);
      if (restSchema !== undefined) return "all";
      for (const index of prefixSchemas.keys()) keys.add(index);
      for (const index of this.#findContained(schema, value, location)) keys.add(index);
    } else if (isObject(value)) {
      if (schema["additionalProperties"] !== undefined) return "all";
      const properties = isObject(schema["properties"]) ? schema["properties"] : {};
      for (const key of Object.keys(value))
        if (Object.hasOwn(properties, key) || this.#findMatchingSchemas(schema, key).length > 0)
          keys.add(key);
    } else return keys;
    const parts: (JsonValue | undefined)[] = [schema["allOf"], schema["anyOf"], schema["oneOf"]]
      .filter((list) => Array.isArray(list))
      .flat();
    if (isObject(value)) for (const [, part] of listDependencies(schema, value)) parts.push(part);
    if (schema["if"] !== undefined) parts.push(schema["if"], this.#selectBranch(schema, location));
    for (const part of parts) if (add(this.#getEvaluatedKeys(part, location))) return "all";
    return keys;
  }
}

const isNumberValue = (value: JsonValue): boolean => typeof value === "number";
const isStringValue = (value: JsonValue): boolean => typeof value === "string";
const isSchemaValue = (value: JsonValue): boolean => typeof value === "boolean" || isObject(value);
const isArrayValue = (value: JsonValue): boolean => Array.isArray(value);
const isBooleanValue = (value: JsonValue): boolean => typeof value === "boolean";
/** By keyword: a check of its value. */
const keywordChecks = new Map<string, (value: JsonValue) => boolean>(
  Object.entries({
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength":
      isNumberValue,
    "minItems maxItems minContains maxContains minProperties maxProperties": isNumberValue,
    "pattern $ref $dynamicRef $recursiveRef": isStringValue,
    "additionalItems additionalProperties contains else if not propertyNames then": isSchemaValue,
    "unevaluatedItems unevaluatedProperties": isSchemaValue,
    items: (value: JsonValue) => isSchemaValue(value) || isArrayValue(value),
    "allOf anyOf oneOf prefixItems enum required": isArrayValue,
    "properties patternProperties dependentRequired dependentSchemas dependencies": isObject,
    "uniqueItems nullable": isBooleanValue,
  }).flatMap(([names, rule]) => names.split(" ").map((name) => [name, rule] as const)),
);

const noKeys: ReadonlySet<string> = new Set();

function withDynamicAnchors(
  dynamicAnchors: ReadonlyMap<string, SchemaTarget>,
  resource: SchemaResource,
): ReadonlyMap<string, SchemaTarget> {
  const entries = [...resource.dynamicAnchors].map(([name, schema]): [string, SchemaTarget] => [
    name,
    { schema, resource },
  ]);
  return entries.length === 0 ? dynamicAnchors : new Map([...entries, ...dynamicAnchors]);
}

/** Before draft 2020-12 a list in `items` had the meaning of `prefixItems`. */
function getItemSchemas(schema: JsonObject): {
  prefixSchemas: JsonValue[];
  restSchema: JsonValue | undefined;
} {
  const { items, prefixItems, additionalItems } = schema;
  if (Array.isArray(items)) return { prefixSchemas: items, restSchema: additionalItems };
  return { prefixSchemas: Array.isArray(prefixItems) ? prefixItems : [], restSchema: items };
}

/** Yields each present property with a requirement that depends on it. Before draft 2019-09 one keyword had both kinds. */
function* listDependencies(
  { dependentRequired, dependentSchemas, dependencies }: JsonObject,
  value: Record<string, unknown>,
): Generator<[string, JsonValue | undefined]> {
  for (const keyword of [dependentRequired, dependentSchemas, dependencies])
    if (isObject(keyword))
      for (const [key, requirement] of Object.entries(keyword))
        if (Object.hasOwn(value, key) && value[key] !== undefined) yield [key, requirement];
}

/** The first problems of a value. */
class ProblemList {
  readonly list: string[] = [];

  get isFull(): boolean {
    return this.list.length >= maxProblems;
  }

  add(node: ValueNode, problem: string): void {
    if (!this.isFull) this.list.push(formatProblem(node, problem));
  }

  addAll(problems: readonly string[]): void {
    for (const problem of problems) if (!this.isFull) this.list.push(problem);
  }
}

function formatProblem({ path }: ValueNode, problem: string): string {
  return path === "" ? problem : `${path}: ${problem}`;
}

function checkType(type: JsonValue | undefined, node: ValueNode, problems: ProblemList): boolean {
  if (type === undefined) return true;
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
  if (types.length === 0 || types.some((name) => matchesType(name, node.value))) return true;
  const names = types.slice(0, 10).map((name) => typeDescriptions[name] ?? name.slice(0, 60));
  problems.add(node, `expected ${names.join(" or ")}, got ${formatValue(node.value)}`);
  return false;
}

function addNoMatchProblem(
  problemLists: (readonly string[])[],
  node: ValueNode,
  problems: ProblemList,
): void {
  const firstProblems = [...new Set(problemLists.map((list) => list[0] ?? ""))];
  if (firstProblems.length === 1) problems.addAll(firstProblems);
  else
    problems.add(
      node,
      `matches none of the allowed schemas (${firstProblems.slice(0, 5).join("; or ")})`,
    );
}

function checkRequired(
  required: JsonValue | undefined,
  value: Record<string, unknown>,
  problem: string,
  node: ValueNode,
  problems: ProblemList,
): void {
  if (!Array.isArray(required)) return;
  for (const key of required)
    if (typeof key === "string" && !(Object.hasOwn(value, key) && value[key] !== undefined))
      problems.add(node.getChild(key, undefined), problem);
}

function checkNumber(
  schema: JsonObject,
  value: number,
  node: ValueNode,
  problems: ProblemList,
): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const actual = `got ${value}`;
  if (typeof minimum === "number" && value < minimum)
    problems.add(node, `must be at least ${minimum}, ${actual}`);
  if (typeof maximum === "number" && value > maximum)
    problems.add(node, `must be at most ${maximum}, ${actual}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    problems.add(node, `must be more than ${exclusiveMinimum}, ${actual}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    problems.add(node, `must be less than ${exclusiveMaximum}, ${actual}`);
  if (typeof multipleOf === "number" && multipleOf > 0) {
    const quotient = value / multipleOf; // 0.3 / 0.1 is 2.9999999999999996
    // The division may overflow to infinity.
    if (
      !Number.isFinite(quotient) ||
      Math.abs(quotient - Math.round(quotient)) > 1e-9 * Math.max(1, Math.abs(quotient))
    )
      problems.add(node, `must be a multiple of ${multipleOf}, ${actual}`);
  }
}

function checkSize(
  size: number,
  min: JsonValue | undefined,
  max: JsonValue | undefined,
  unit: string,
  node: ValueNode,
  problems: ProblemList,
): void {
  const formatCount = (count: number): string => `${count} ${count === 1 ? unit : plurals[unit]}`;
  if (typeof min === "number" && size < min)
    problems.add(node, `must have at least ${formatCount(min)}, has ${size}`);
  if (typeof max === "number" && size > max)
    problems.add(node, `must have at most ${formatCount(max)}, has ${size}`);
}

const typeDescriptions: Record<string, string> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  null: "null",
  object: "an object",
  array: "an array",
};
const plurals: Record<string, string> = {
  character: "characters",
  entry: "entries",
  "matching entry": "matching entries",
  property: "properties",
};

function matchesType(name: string, value: unknown): boolean {
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
      return true; // a type of a later draft
  }
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (isObject(value)) return "an object";
  if (value === undefined) return "nothing";
  // Not truncated: a part of a private value would not be recognized.
  if (typeof value === "string" && value.length > 58)
    return `a string of ${value.length} characters`;
  const text = JSON.stringify(value) ?? typeof value;
  return text.length <= 60 ? text : `a string of ${text.length - 2} characters`;
}

function canonicalize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "undefined";
  const keys = Object.keys(value).toSorted();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalize(value[key])}`).join(",")}}`;
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function joinPath(path: string, key: string): string {
  const step = /^[A-Za-z_$][\w$-]{0,60}$/.test(key) ? key : `[${formatValue(key)}]`;
  return path === "" || step.startsWith("[") ? path + step : `${path}.${step}`;
}

function formatKnownKeys(properties: JsonObject): string {
  const keys: string[] = [];
  for (const key in properties) if (keys.push(abbreviate(key)) > 20) break;
  if (keys.length === 0) return "";
  return `; known properties: ${keys.slice(0, 20).join(", ")}${keys.length > 20 ? ", …" : ""}`;
}

function abbreviate(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
