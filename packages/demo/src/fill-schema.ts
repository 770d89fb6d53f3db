import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";
import type { PromptValues } from "./prompt-values.ts";

/** Builds a value that matches a JSON schema, using values found in the text. */
export function fillSchema(schema: JsonValue | undefined, hints: PromptValues): JsonValue {
  return new SchemaFiller(schema ?? {}, hints).fill(schema ?? {}, "", 0);
}

/** From this depth on, arrays are empty and nullable values are null. */
const minimalDepth = 4;
/** Deeper values are null. Only recursive schemas reach this depth. */
const maxDepth = 12;
const maxNodes = 2000;

class SchemaFiller {
  readonly #root: JsonValue;
  readonly #hints: PromptValues;
  #nodes = 0;

  constructor(root: JsonValue, hints: PromptValues) {
    this.#root = root;
    this.#hints = hints;
  }

  fill(source: JsonValue, name: string, depth: number): JsonValue {
    this.#nodes += 1;
    if (depth > maxDepth || this.#nodes > maxNodes) return null;
    const schema = this.#resolveSchema(source);
    if (!isObject(schema)) return this.#fillString({}, name);
    if (schema["const"] !== undefined) return schema["const"];
    if (Array.isArray(schema["enum"]))
      return this.#findMentionedValue(schema["enum"]) ?? schema["enum"][0] ?? null;
    const alternatives = schema["anyOf"] ?? schema["oneOf"];
    if (Array.isArray(alternatives)) return this.#fillAlternative(alternatives, name, depth);
    const type = this.#getType(schema, depth);
    switch (type) {
      case "object":
        return this.#fillObject(schema, depth);
      case "array":
        return this.#fillArray(schema, name, depth);
      case "number":
      case "integer":
        return this.#fillNumber(schema, name, type === "integer");
      case "boolean":
        return schema["default"] === true || this.#isAffirmed(name);
      case "null":
        return null;
      default:
        return this.#fillString(schema, name);
    }
  }

  /** Resolves `$ref` and merges `allOf`. */
  #resolveSchema(source: JsonValue): JsonValue {
    let schema = source;
    for (let hopCount = 0; isObject(schema) && typeof schema["$ref"] === "string"; hopCount++) {
      if (hopCount > maxDepth) return {};
      schema = resolveReference(this.#root, schema["$ref"]) ?? {};
    }
    if (!isObject(schema) || !Array.isArray(schema["allOf"])) return schema;
    const mergedSchema: JsonObject = { ...schema, allOf: undefined };
    for (const part of schema["allOf"].map((part) => this.#resolveSchema(part)).filter(isObject)) {
      const { properties, required } = mergedSchema;
      Object.assign(mergedSchema, part);
      if (isObject(properties) && isObject(part["properties"]))
        mergedSchema["properties"] = { ...properties, ...part["properties"] };
      if (Array.isArray(required) && Array.isArray(part["required"]))
        mergedSchema["required"] = [...required, ...part["required"]];
    }
    return mergedSchema;
  }

  #findMentionedValue(values: readonly JsonValue[]): JsonValue | undefined {
    return values.find((value) => this.#isMentioned(value));
  }

  #isMentioned(value: JsonValue): boolean {
    if (typeof value !== "string" && typeof value !== "number") return false;
    return this.#hints.mentions(String(value));
  }

  #fillAlternative(alternatives: readonly JsonValue[], name: string, depth: number): JsonValue {
    const isNull = (schema: JsonValue) => {
      const resolvedSchema = this.#resolveSchema(schema);
      return isObject(resolvedSchema) && resolvedSchema["type"] === "null";
    };
    if (
      alternatives.some(isNull) &&
      (depth >= minimalDepth || (depth > 0 && !this.#isAffirmed(name)))
    )
      return null;
    const [first = {}] = alternatives.filter((schema) => !isNull(schema));
    return this.fill(first, name, depth);
  }

  #getType(schema: JsonObject, depth: number): JsonValue | undefined {
    const { type } = schema;
    if (Array.isArray(type)) {
      if (type.includes("null") && depth >= minimalDepth) return "null";
      return type.find((name) => name !== "null");
    }
    if (type !== undefined) return type;
    if (schema["properties"] !== undefined) return "object";
    return schema["items"] === undefined ? undefined : "array";
  }

  #fillObject(schema: JsonObject, depth: number): JsonObject {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
    const mainProperty = required.size === 0 ? this.#findMainProperty(properties) : undefined;
    const object: JsonObject = {};
    for (const [name, property] of Object.entries(properties)) {
      if (property === undefined || name === "__proto__") continue;
      const isRequired = required.has(name);
      if (!isRequired && name !== mainProperty && !this.#hasValueFor(name, property)) continue;
      if (isRequired && this.#isNullable(property) && !this.#hasValueFor(name, property))
        object[name] = null;
      else object[name] = this.fill(property, name, depth + 1);
    }
    return object;
  }

  /** Returns the optional property that best represents the purpose of the call. */
  #findMainProperty(properties: JsonObject): string | undefined {
    const textProperties = Object.keys(properties).filter((name) => {
      const property = this.#resolveSchema(properties[name] ?? {});
      return isObject(property) && property["type"] === "string" && !property["enum"];
    });
    return textProperties.find((name) => sentencePropertyNames.test(name)) ?? textProperties[0];
  }

  /** True if the text contains a value for an optional property. */
  #hasValueFor(name: string, property: JsonValue): boolean {
    const schema = this.#resolveSchema(property);
    if (!isObject(schema)) return false;
    if (Array.isArray(schema["enum"]))
      return this.#findMentionedValue(schema["enum"]) !== undefined;
    if (schema["type"] === "boolean") return this.#isAffirmed(name);
    return this.#hints.findStatedValue(name) !== undefined;
  }

  #isNullable(property: JsonValue): boolean {
    const schema = this.#resolveSchema(property);
    return isObject(schema) && Array.isArray(schema["type"]) && schema["type"].includes("null");
  }

  /** True if the text contains the name without a negation before it. */
  #isAffirmed(name: string): boolean {
    const { text } = this.#hints;
    if (name === "" || !this.#hints.mentions(name)) return false;
    const index = text.toLowerCase().indexOf(name.toLowerCase());
    return !/\b(?:no|not|without|never|don't)\s+(?:be\s+)?$/i.test(
      text.slice(0, Math.max(index, 0)),
    );
  }

  #fillArray(schema: JsonObject, name: string, depth: number): JsonValue[] {
    const { minItems = 0, maxItems = 20, prefixItems, items = {} } = schema;
    const minimum = typeof minItems === "number" ? Math.min(minItems, 100) : 0;
    const maximum = typeof maxItems === "number" ? Math.max(maxItems, minimum) : 20;
    if (Array.isArray(prefixItems))
      return prefixItems.map((item) => this.fill(item, name, depth + 1));
    const values =
      depth >= minimalDepth ? [] : this.#fillItems(items, name, depth).slice(0, maximum);
    while (values.length < minimum) values.push(this.fill(items, name, depth + 1));
    return values;
  }

  #fillItems(items: JsonValue, name: string, depth: number): JsonValue[] {
    const schema = this.#resolveSchema(items);
    if (!isObject(schema)) return [];
    if (Array.isArray(schema["enum"])) {
      const mentionedValues = schema["enum"].filter((value) => this.#isMentioned(value));
      return mentionedValues.length > 0 ? mentionedValues : schema["enum"].slice(0, 1);
    }
    const { listedNames, quotedTexts, numbers } = this.#hints;
    if (schema["type"] === "string" && schema["format"] === undefined) {
      const listedTexts = listedNames.length > 0 ? listedNames : quotedTexts;
      if (listedTexts.length > 0) return listedTexts.map((text) => fitLength(text, schema));
    }
    if ((schema["type"] === "number" || schema["type"] === "integer") && numbers.length > 0)
      return numbers.map((number) => clampToRange(number, schema, schema["type"] === "integer"));
    return [this.fill(items, name, depth + 1)];
  }

  #fillNumber(schema: JsonObject, name: string, isInteger: boolean): number {
    const statedNumber = Number(this.#hints.findStatedValue(name) ?? Number.NaN);
    if (Number.isFinite(statedNumber)) return clampToRange(statedNumber, schema, isInteger);
    const hintedValue = this.#hints.takeNumber() ?? schema["default"];
    return clampToRange(typeof hintedValue === "number" ? hintedValue : 1, schema, isInteger);
  }

  #fillString(schema: JsonObject, name: string): string {
    const statedValue = this.#hints.findStatedValue(name);
    const format =
      typeof schema["format"] === "string" ? patternsByFormat[schema["format"]] : undefined;
    if (format !== undefined) return this.#hints.findMatch(format.pattern) ?? format.fallback;
    if (statedValue !== undefined) return fitLength(statedValue, schema);
    for (const { namePattern, pattern } of patternsByPropertyName) {
      const match = namePattern.test(name) ? this.#hints.findMatch(pattern) : undefined;
      if (match !== undefined) return fitLength(match.trim(), schema);
    }
    const quotedText = this.#hints.takeQuoted();
    if (quotedText !== undefined) return fitLength(quotedText, schema);
    if (typeof schema["default"] === "string") return schema["default"];
    const sentence = this.#hints.text.slice(0, 300);
    if (sentencePropertyNames.test(name)) return fitLength(sentence, schema);
    return fitLength(this.#hints.takeName() ?? this.#hints.names.at(-1) ?? sentence, schema);
  }
}

/** Properties whose value is a sentence. */
const sentencePropertyNames =
  /^(?:q|query|prompt|message|text|input|content|question|task|objective|description|summary|answer|explanation|reason(?:ing)?|body)$/i;

/** Patterns for values, by property name. */
const patternsByPropertyName: readonly { namePattern: RegExp; pattern: RegExp }[] = [
  { namePattern: /path|file/i, pattern: /[\w./~-]*[\w-]\.\w{1,8}(?![\w.])|\/[\w./-]+/ },
  { namePattern: /url|uri|link/i, pattern: /https?:\/\/[^\s"'`<>)]+/ },
  { namePattern: /mail/i, pattern: /[\w.+-]+@[\w-]+\.[\w.-]*\w/ },
  {
    namePattern: /expression|formula|calculation|math/i,
    pattern: /[\d(][\d\s+*/().^-]*[+*/^-][\d\s+*/().^-]*[\d)]/,
  },
  {
    namePattern: /date|day|when/i,
    pattern: /\d{4}-\d\d-\d\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow)\b/i,
  },
  { namePattern: /time/i, pattern: /\b\d{1,2}:\d\d\b/ },
];

const patternsByFormat: Record<string, { pattern: RegExp; fallback: string }> = {
  date: { pattern: /\d{4}-\d\d-\d\d/, fallback: "2025-01-01" },
  time: { pattern: /\d\d:\d\d:\d\d/, fallback: "12:00:00" },
  "date-time": {
    pattern: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)/,
    fallback: "2025-01-01T12:00:00Z",
  },
  email: { pattern: /[\w.+-]+@[\w-]+\.[\w.-]*\w/, fallback: "demo@example.com" },
  uri: { pattern: /https?:\/\/[^\s"'`<>)]+/, fallback: "https://example.com/" },
  uuid: {
    pattern: /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i,
    fallback: "00000000-0000-4000-8000-000000000000",
  },
  ipv4: { pattern: /\b\d{1,3}(?:\.\d{1,3}){3}\b/, fallback: "127.0.0.1" },
};

/** Resolves `#`, `#/$defs/Step`, `#/properties/a%20b`. */
function resolveReference(root: JsonValue, reference: string): JsonValue | undefined {
  if (!reference.startsWith("#")) return undefined;
  let target: JsonValue | undefined = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    const key = decodeFragment(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(target)) target = target[Number(key)];
    else if (isObject(target)) target = target[key];
    else return undefined;
  }
  return target;
}

function decodeFragment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not valid percent-encoding
  }
}

function fitLength(text: string, { minLength, maxLength }: JsonObject): string {
  const truncatedText = typeof maxLength === "number" ? text.slice(0, maxLength) : text;
  return typeof minLength === "number"
    ? truncatedText.padEnd(Math.min(minLength, 1000), ".")
    : truncatedText;
}

function clampToRange(number: number, schema: JsonObject, isInteger: boolean): number {
  const step = typeof schema["multipleOf"] === "number" ? schema["multipleOf"] : isInteger ? 1 : 0;
  const getBound = (name: string) => (typeof schema[name] === "number" ? schema[name] : undefined);
  const margin = step || 1e-6;
  const exclusiveMinimum = getBound("exclusiveMinimum");
  const exclusiveMaximum = getBound("exclusiveMaximum");
  const minimum =
    getBound("minimum") ?? (exclusiveMinimum === undefined ? -Infinity : exclusiveMinimum + margin);
  const maximum =
    getBound("maximum") ?? (exclusiveMaximum === undefined ? Infinity : exclusiveMaximum - margin);
  const clampedNumber = Math.min(Math.max(number, minimum), maximum);
  if (step === 0) return clampedNumber;
  const roundedUp = Math.ceil(clampedNumber / step) * step;
  const roundedDown = Math.floor(clampedNumber / step) * step;
  return clampedNumber === number && roundedDown >= minimum
    ? roundedDown
    : roundedUp <= maximum
      ? roundedUp
      : roundedDown;
}
