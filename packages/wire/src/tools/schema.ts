import { isObject, type JsonObject, type JsonValue } from "../json.ts";

/** A function's parameters as every server takes them: an object schema, never absent (MiniMax error 2013). */
export function objectSchema(parameters: JsonObject | null | undefined): JsonObject {
  const schema = parameters ?? {};
  if (schema["type"] === "object" && isObject(schema["properties"])) return schema;
  return {
    ...schema,
    type: "object",
    properties: isObject(schema["properties"]) ? schema["properties"] : {},
  };
}

/**
 * The dialect of Kimi's gateways ("moonshot flavored json schema"): the type stands in the items of
 * `anyOf` instead of beside it, nothing stands beside `$ref`, every property has a type.
 */
export function moonshotSchema(schema: JsonObject): JsonObject {
  if (schema["$ref"] !== undefined) return { $ref: schema["$ref"] };
  const out: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema))
    define(out, keyword, inside(keyword, value));
  const { anyOf } = out;
  if (Array.isArray(anyOf)) {
    const { type, ...rest } = out;
    const choices = anyOf.map((choice) =>
      isObject(choice) ? typed(choice, type ?? guessType(choice)) : choice,
    );
    return { ...rest, anyOf: choices };
  }
  return out;
}

function inside(keyword: string, value: JsonValue | undefined): JsonValue | undefined {
  if (schemaMaps.has(keyword) && isObject(value)) {
    const out: JsonObject = {};
    for (const [name, schema] of Object.entries(value)) {
      const mended = isObject(schema) ? moonshotSchema(schema) : {};
      define(out, name, keyword === "properties" ? typed(mended, guessType(mended)) : mended);
    }
    return out;
  }
  if (schemaLists.has(keyword) && Array.isArray(value))
    return value.map((schema) => (isObject(schema) ? moonshotSchema(schema) : schema));
  if (singleSchemas.has(keyword) && isObject(value)) return moonshotSchema(value);
  return value;
}

const schemaMaps = new Set(["properties", "$defs", "definitions"]);
const schemaLists = new Set(["anyOf", "oneOf", "allOf"]);
const singleSchemas = new Set(["items", "additionalProperties"]);

function typed(schema: JsonObject, type: JsonValue): JsonObject {
  const settled = ["type", "anyOf", "$ref"].some((keyword) => schema[keyword] !== undefined);
  return settled ? schema : { ...schema, type };
}

export function guessType(schema: JsonObject): string {
  if (isObject(schema["properties"])) return "object";
  if (schema["items"] !== undefined) return "array";
  const { enum: values, const: only } = schema;
  const sample = Array.isArray(values) ? values[0] : only;
  if (typeof sample === "number" || typeof sample === "boolean") return typeof sample;
  return "string";
}

/** A property may be called `__proto__`: assigned to, it would change the object instead of being listed. */
export function define(target: JsonObject, name: string, value: JsonValue | undefined): void {
  Object.defineProperty(target, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}
