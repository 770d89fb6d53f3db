import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import { defineProperty, inferType } from "./json-schema.ts";

/**
 * Converts a function's parameters to Google's Schema, which rejects unknown keywords by name ("Unknown name
 * \"additionalProperties\"", cline issue 7339, opencode issue 11889). References are inlined, `const` and `oneOf`
 * become `enum` and `anyOf`, type lists become alternatives and null becomes `nullable`. Google allows no alternatives
 * at the top level, so their properties are merged there.
 */
export function toGeminiSchema(schema: JsonObject): JsonObject {
  const writer = new GeminiSchemaWriter(schema);
  const { anyOf, oneOf, ...rest } = schema;
  const topLevel = writer.write({ ...rest, type: "object" }, []);
  const properties: JsonObject = {};
  for (const choice of [...filterSchemas(anyOf), ...filterSchemas(oneOf)]) {
    const { properties: choiceProperties } = writer.write({ ...choice, type: "object" }, []);
    if (isObject(choiceProperties)) copyProperties(choiceProperties, properties);
  }
  if (isObject(topLevel["properties"])) copyProperties(topLevel["properties"], properties);
  return { ...topLevel, properties };
}

/**
 * Keywords with the same meaning in JSON Schema and Google's Schema. Lengths and patterns are dropped, because gateways also
 * use this dialect for llama.cpp, which cannot build a grammar from them (issues 17574 and 25895).
 */
const sharedKeywords = ["description", "minimum", "maximum"];
const supportedFormats = new Set(["date-time", "float", "double", "int32", "int64"]);
const supportedTypes = new Set(["object", "array", "string", "number", "integer", "boolean"]);

/** Limits for recursive references. Deeper schemas become `{ type: "object" }`. */
const maxDepth = 32;
const maxSchemas = 4_000;

class GeminiSchemaWriter {
  readonly #root: JsonObject;
  #schemaCount = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  write(source: JsonObject, path: readonly string[]): JsonObject {
    const { $ref: reference, allOf, ...keywords } = source;
    this.#schemaCount += 1;
    if (path.length > maxDepth || this.#schemaCount > maxSchemas) return { type: "object" };
    if (typeof reference === "string") {
      if (path.includes(reference)) return { type: "object" };
      return this.write({ ...this.#resolveReference(reference), ...keywords }, [
        ...path,
        reference,
      ]);
    }
    const allOfSchemas = filterSchemas(allOf);
    if (allOfSchemas.length > 0)
      return this.write(allOfSchemas.reduce(mergeSchemas, keywords), [...path, "allOf"]);
    return this.#writeAlternatives(keywords, path) ?? this.#writeSingle(keywords, path);
  }

  #resolveReference(reference: string): JsonObject {
    let target: JsonValue | undefined = this.#root;
    for (const step of reference.split("/").slice(1)) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined;
    }
    return isObject(target) ? target : {};
  }

  /**
   * Google allows no keywords next to `anyOf`. One alternative next to null becomes that alternative with `nullable`.
   */
  #writeAlternatives(schema: JsonObject, path: readonly string[]): JsonObject | undefined {
    const { anyOf, oneOf, type, ...rest } = schema;
    const alternatives = [...filterSchemas(anyOf), ...filterSchemas(oneOf)];
    if (alternatives.length > 0) {
      const siblings = type === undefined || Array.isArray(type) ? rest : { ...rest, type };
      return this.#writeAnyOf(
        alternatives.map((choice) => mergeSchemas(siblings, choice)),
        path,
      );
    }
    if (!Array.isArray(type)) return undefined;
    return this.#writeAnyOf(
      type.map((name) => ({ ...rest, type: name })),
      path,
    );
  }

  #writeAnyOf(choices: readonly JsonObject[], path: readonly string[]): JsonObject {
    const written = choices
      .filter((choice) => choice["type"] !== "null")
      .map((choice) => this.write(choice, [...path, "anyOf"]));
    const nullable = written.length < choices.length ? { nullable: true } : {};
    const [only, ...others] = written;
    if (only === undefined) return { type: "string", ...nullable };
    if (others.length === 0) return { ...only, ...nullable };
    return { anyOf: written.map((choice) => ({ ...choice, ...nullable })) };
  }

  #writeSingle(schema: JsonObject, path: readonly string[]): JsonObject {
    const declaredType = schema["type"];
    const type =
      typeof declaredType === "string" && supportedTypes.has(declaredType)
        ? declaredType
        : inferType(schema);
    const out: JsonObject = { type };
    for (const keyword of sharedKeywords)
      if (schema[keyword] !== undefined) out[keyword] = schema[keyword];
    const { format, nullable } = schema;
    if (typeof format === "string" && supportedFormats.has(format)) out["format"] = format;
    if (nullable === true) out["nullable"] = true;
    this.#writeEnum(schema, type, out);
    if (type === "object") this.#writeProperties(schema, path, out);
    if (type === "array") {
      const items = isObject(schema["items"]) ? schema["items"] : { type: "string" };
      out["items"] = this.write(items, [...path, "items"]);
    }
    return out;
  }

  /** Google's `enum` allows only non-empty strings. Other values are listed in the description. */
  #writeEnum(schema: JsonObject, type: string, out: JsonObject): void {
    const alternatives = Array.isArray(schema["enum"]) ? schema["enum"] : [schema["const"]];
    const values = alternatives.filter(
      (value) => value !== undefined && value !== null && value !== "",
    );
    if (values.length === 0) return;
    if (type === "string") {
      out["enum"] = values.map((value) =>
        typeof value === "string" ? value : JSON.stringify(value),
      );
      return;
    }
    const valuesText = `One of: ${values.map((value) => JSON.stringify(value)).join(", ")}.`;
    const description = nonEmptyString(out["description"]);
    out["description"] = description === undefined ? valuesText : `${description} ${valuesText}`;
  }

  #writeProperties(schema: JsonObject, path: readonly string[], out: JsonObject): void {
    const { properties, required } = schema;
    if (!isObject(properties)) return;
    const written: JsonObject = {};
    for (const [name, property] of Object.entries(properties))
      defineProperty(
        written,
        name,
        this.write(isObject(property) ? property : {}, [...path, "properties"]),
      );
    if (Object.keys(written).length === 0) return;
    out["properties"] = written;
    const knownRequired = (Array.isArray(required) ? required : []).filter(
      (name) => typeof name === "string" && Object.hasOwn(written, name),
    );
    if (knownRequired.length > 0) out["required"] = knownRequired;
  }
}

/** Merges two schemas of `allOf`: properties of both; the second one wins for other keywords. */
function mergeSchemas(first: JsonObject, second: JsonObject): JsonObject {
  const properties: JsonObject = {};
  for (const source of [first["properties"], second["properties"]])
    if (isObject(source)) copyProperties(source, properties);
  const required = [first["required"], second["required"]].flatMap((names) =>
    Array.isArray(names) ? names : [],
  );
  return {
    ...first,
    ...second,
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

function filterSchemas(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function copyProperties(source: JsonObject, target: JsonObject): void {
  for (const [name, value] of Object.entries(source)) defineProperty(target, name, value);
}
