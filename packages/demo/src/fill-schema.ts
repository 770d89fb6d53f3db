import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";
import type { TextHints } from "./text-hints.ts";

/** A value that is valid against a JSON schema, made of what a text offers. */
export function fillSchema(schema: JsonValue | undefined, hints: TextHints): JsonValue {
  return new Filler(schema ?? {}, hints).fill(schema ?? {}, "", 0);
}

/** From here on a schema that can end does so: arrays are empty, null is chosen. */
const deep = 4;
/** And from here on nothing is filled any more: only a schema that contains itself gets here. */
const bottom = 12;
const mostNodes = 2000;

class Filler {
  readonly #root: JsonValue;
  readonly #hints: TextHints;
  #nodes = 0;

  constructor(root: JsonValue, hints: TextHints) {
    this.#root = root;
    this.#hints = hints;
  }

  fill(given: JsonValue, name: string, depth: number): JsonValue {
    this.#nodes += 1;
    if (depth > bottom || this.#nodes > mostNodes) return null;
    const schema = this.#resolved(given);
    if (!isObject(schema)) return this.#string({}, name);
    if (schema["const"] !== undefined) return schema["const"];
    if (Array.isArray(schema["enum"]))
      return this.#mentioned(schema["enum"]) ?? schema["enum"][0] ?? null;
    const alternatives = schema["anyOf"] ?? schema["oneOf"];
    if (Array.isArray(alternatives)) return this.#alternative(alternatives, name, depth);
    const type = this.#typeOf(schema, depth);
    switch (type) {
      case "object":
        return this.#object(schema, depth);
      case "array":
        return this.#array(schema, name, depth);
      case "number":
      case "integer":
        return this.#number(schema, name, type === "integer");
      case "boolean":
        return schema["default"] === true || this.#says(name);
      case "null":
        return null;
      default:
        return this.#string(schema, name);
    }
  }

  /** Follows `$ref` and lays the parts of `allOf` over each other. */
  #resolved(given: JsonValue): JsonValue {
    let schema = given;
    for (let hops = 0; isObject(schema) && typeof schema["$ref"] === "string"; hops++) {
      if (hops > bottom) return {};
      schema = lookUp(this.#root, schema["$ref"]) ?? {};
    }
    if (!isObject(schema) || !Array.isArray(schema["allOf"])) return schema;
    const merged: JsonObject = { ...schema, allOf: undefined };
    for (const part of schema["allOf"].map((part) => this.#resolved(part)).filter(isObject)) {
      const { properties, required } = merged;
      Object.assign(merged, part);
      if (isObject(properties) && isObject(part["properties"]))
        merged["properties"] = { ...properties, ...part["properties"] };
      if (Array.isArray(required) && Array.isArray(part["required"]))
        merged["required"] = [...required, ...part["required"]];
    }
    return merged;
  }

  #mentioned(values: readonly JsonValue[]): JsonValue | undefined {
    return values.find((value) => this.#isMentioned(value));
  }

  #isMentioned(value: JsonValue): boolean {
    if (typeof value !== "string" && typeof value !== "number") return false;
    return this.#hints.mentions(String(value));
  }

  #alternative(alternatives: readonly JsonValue[], name: string, depth: number): JsonValue {
    const isNull = (schema: JsonValue) => {
      const resolved = this.#resolved(schema);
      return isObject(resolved) && resolved["type"] === "null";
    };
    if (alternatives.some(isNull) && (depth >= deep || (depth > 0 && !this.#says(name))))
      return null;
    const [first = {}] = alternatives.filter((schema) => !isNull(schema));
    return this.fill(first, name, depth);
  }

  #typeOf(schema: JsonObject, depth: number): JsonValue | undefined {
    const { type } = schema;
    if (Array.isArray(type)) {
      if (type.includes("null") && depth >= deep) return "null";
      return type.find((word) => word !== "null");
    }
    if (type !== undefined) return type;
    if (schema["properties"] !== undefined) return "object";
    return schema["items"] === undefined ? undefined : "array";
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
    const obvious = required.size === 0 ? this.#mainProperty(properties) : undefined;
    const filled: JsonObject = {};
    for (const [name, property] of Object.entries(properties)) {
      if (property === undefined || name === "__proto__") continue;
      const isRequired = required.has(name);
      if (!isRequired && name !== obvious && !this.#wants(name, property)) continue;
      if (isRequired && this.#isNullable(property) && !this.#wants(name, property))
        filled[name] = null;
      else filled[name] = this.fill(property, name, depth + 1);
    }
    return filled;
  }

  /** Of properties that are all optional, the one that holds what the whole call is about. */
  #mainProperty(properties: JsonObject): string | undefined {
    const texts = Object.keys(properties).filter((name) => {
      const property = this.#resolved(properties[name] ?? {});
      return isObject(property) && property["type"] === "string" && !property["enum"];
    });
    return texts.find((name) => sentenceNames.test(name)) ?? texts[0];
  }

  /** Whether the text says something for a property that need not be given. */
  #wants(name: string, property: JsonValue): boolean {
    const schema = this.#resolved(property);
    if (!isObject(schema)) return false;
    if (Array.isArray(schema["enum"])) return this.#mentioned(schema["enum"]) !== undefined;
    if (schema["type"] === "boolean") return this.#says(name);
    return this.#hints.stated(name) !== undefined;
  }

  #isNullable(property: JsonValue): boolean {
    const schema = this.#resolved(property);
    return isObject(schema) && Array.isArray(schema["type"]) && schema["type"].includes("null");
  }

  /** The name stands in the text, and nothing before it takes it back. */
  #says(name: string): boolean {
    const { words } = this.#hints;
    if (name === "" || !this.#hints.mentions(name)) return false;
    const at = words.toLowerCase().indexOf(name.toLowerCase());
    return !/\b(?:no|not|without|never|don't)\s+(?:be\s+)?$/i.test(words.slice(0, Math.max(at, 0)));
  }

  #array(schema: JsonObject, name: string, depth: number): JsonValue[] {
    const { minItems = 0, maxItems = 20, prefixItems, items = {} } = schema;
    const least = typeof minItems === "number" ? Math.min(minItems, 100) : 0;
    const most = typeof maxItems === "number" ? Math.max(maxItems, least) : 20;
    if (Array.isArray(prefixItems))
      return prefixItems.map((item) => this.fill(item, name, depth + 1));
    const values = depth >= deep ? [] : this.#items(items, name, depth).slice(0, most);
    while (values.length < least) values.push(this.fill(items, name, depth + 1));
    return values;
  }

  #items(items: JsonValue, name: string, depth: number): JsonValue[] {
    const schema = this.#resolved(items);
    if (!isObject(schema)) return [];
    if (Array.isArray(schema["enum"])) {
      const meant = schema["enum"].filter((value) => this.#isMentioned(value));
      return meant.length > 0 ? meant : schema["enum"].slice(0, 1);
    }
    const { listed, quoted, numbers } = this.#hints;
    if (schema["type"] === "string" && schema["format"] === undefined) {
      const several = listed.length > 0 ? listed : quoted;
      if (several.length > 0) return several.map((text) => fitted(text, schema));
    }
    if ((schema["type"] === "number" || schema["type"] === "integer") && numbers.length > 0)
      return numbers.map((number) => inRange(number, schema, schema["type"] === "integer"));
    return [this.fill(items, name, depth + 1)];
  }

  #number(schema: JsonObject, name: string, whole: boolean): number {
    const stated = Number(this.#hints.stated(name) ?? Number.NaN);
    if (Number.isFinite(stated)) return inRange(stated, schema, whole);
    const said = this.#hints.takeNumber() ?? schema["default"];
    return inRange(typeof said === "number" ? said : 1, schema, whole);
  }

  #string(schema: JsonObject, name: string): string {
    const stated = this.#hints.stated(name);
    const format = typeof schema["format"] === "string" ? forms[schema["format"]] : undefined;
    if (format !== undefined) return this.#hints.find(format.form) ?? format.otherwise;
    if (stated !== undefined) return fitted(stated, schema);
    for (const { names, form } of namedForms) {
      const found = names.test(name) ? this.#hints.find(form) : undefined;
      if (found !== undefined) return fitted(found.trim(), schema);
    }
    const quoted = this.#hints.takeQuoted();
    if (quoted !== undefined) return fitted(quoted, schema);
    if (typeof schema["default"] === "string") return schema["default"];
    const sentence = this.#hints.words.slice(0, 300);
    if (sentenceNames.test(name)) return fitted(sentence, schema);
    return fitted(this.#hints.takeName() ?? this.#hints.names.at(-1) ?? sentence, schema);
  }
}

/** Properties that hold a whole sentence. */
const sentenceNames =
  /^(?:q|query|prompt|message|text|input|content|question|task|objective|description|summary|answer|explanation|reason(?:ing)?|body)$/i;

/** Properties whose names tell what their value looks like. */
const namedForms: readonly { names: RegExp; form: RegExp }[] = [
  { names: /path|file/i, form: /[\w./~-]*[\w-]\.\w{1,8}(?![\w.])|\/[\w./-]+/ },
  { names: /url|uri|link/i, form: /https?:\/\/[^\s"'`<>)]+/ },
  { names: /mail/i, form: /[\w.+-]+@[\w-]+\.[\w.-]*\w/ },
  {
    names: /expression|formula|calculation|math/i,
    form: /[\d(][\d\s+*/().^-]*[+*/^-][\d\s+*/().^-]*[\d)]/,
  },
  {
    names: /date|day|when/i,
    form: /\d{4}-\d\d-\d\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow)\b/i,
  },
  { names: /time/i, form: /\b\d{1,2}:\d\d\b/ },
];

const forms: Record<string, { form: RegExp; otherwise: string }> = {
  date: { form: /\d{4}-\d\d-\d\d/, otherwise: "2025-01-01" },
  time: { form: /\d\d:\d\d:\d\d/, otherwise: "12:00:00" },
  "date-time": {
    form: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)/,
    otherwise: "2025-01-01T12:00:00Z",
  },
  email: { form: /[\w.+-]+@[\w-]+\.[\w.-]*\w/, otherwise: "demo@example.com" },
  uri: { form: /https?:\/\/[^\s"'`<>)]+/, otherwise: "https://example.com/" },
  uuid: {
    form: /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i,
    otherwise: "00000000-0000-4000-8000-000000000000",
  },
  ipv4: { form: /\b\d{1,3}(?:\.\d{1,3}){3}\b/, otherwise: "127.0.0.1" },
};

/** `#`, `#/$defs/Step`, `#/properties/a%20b`. */
function lookUp(root: JsonValue, reference: string): JsonValue | undefined {
  if (!reference.startsWith("#")) return undefined;
  let found: JsonValue | undefined = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    if (Array.isArray(found)) found = found[Number(step)];
    else if (isObject(found)) found = found[step.replaceAll("~1", "/").replaceAll("~0", "~")];
    else return undefined;
  }
  return found;
}

function fitted(text: string, { minLength, maxLength }: JsonObject): string {
  const cut = typeof maxLength === "number" ? text.slice(0, maxLength) : text;
  return typeof minLength === "number" ? cut.padEnd(Math.min(minLength, 1000), ".") : cut;
}

function inRange(number: number, schema: JsonObject, whole: boolean): number {
  const step = typeof schema["multipleOf"] === "number" ? schema["multipleOf"] : whole ? 1 : 0;
  const bound = (name: string) => (typeof schema[name] === "number" ? schema[name] : undefined);
  const margin = step || 1e-6;
  const above = bound("exclusiveMinimum");
  const below = bound("exclusiveMaximum");
  const least = bound("minimum") ?? (above === undefined ? -Infinity : above + margin);
  const most = bound("maximum") ?? (below === undefined ? Infinity : below - margin);
  const clamped = Math.min(Math.max(number, least), most);
  if (step === 0) return clamped;
  const up = Math.ceil(clamped / step) * step;
  const down = Math.floor(clamped / step) * step;
  return clamped === number && down >= least ? down : up <= most ? up : down;
}
