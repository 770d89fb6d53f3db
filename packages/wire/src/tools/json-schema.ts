import { isObject, type JsonObject, type JsonValue } from "../json.ts";

/** Returns the parameters as an object schema. Servers reject functions without one (MiniMax error 2013). */
export function toObjectSchema(parameters: JsonObject | null | undefined): JsonObject {
  const schema = parameters ?? {};
  if (schema["type"] === "object" && isObject(schema["properties"])) return schema;
  return {
    ...schema,
    type: "object",
    properties: isObject(schema["properties"]) ? schema["properties"] : {},
  };
}

/**
 * Converts a schema to Kimi's dialect ("moonshot flavored json schema"): `type` is inside the branches of `anyOf`, `$ref` has no
 * sibling keywords, and every property has a type.
 */
export function toMoonshotSchema(schema: JsonObject): JsonObject {
  if (schema["$ref"] !== undefined) return { $ref: schema["$ref"] };
  const out: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema))
    defineProperty(out, keyword, convertKeyword(keyword, value));
  const { anyOf } = out;
  if (Array.isArray(anyOf)) {
    const { type, ...rest } = out;
    const choices = anyOf.map((choice) =>
      isObject(choice) ? withType(choice, type ?? inferType(choice)) : choice,
    );
    return { ...rest, anyOf: choices };
  }
  return out;
}

function convertKeyword(keyword: string, value: JsonValue | undefined): JsonValue | undefined {
  if (schemaMapKeywords.has(keyword) && isObject(value)) {
    const out: JsonObject = {};
    for (const [name, schema] of Object.entries(value)) {
      const converted = isObject(schema) ? toMoonshotSchema(schema) : {};
      defineProperty(
        out,
        name,
        keyword === "properties" ? withType(converted, inferType(converted)) : converted,
      );
    }
    return out;
  }
  if (schemaListKeywords.has(keyword) && Array.isArray(value))
    return value.map((schema) => (isObject(schema) ? toMoonshotSchema(schema) : schema));
  if (singleSchemaKeywords.has(keyword) && isObject(value)) return toMoonshotSchema(value);
  return value;
}

const schemaMapKeywords = new Set(["properties", "$defs", "definitions"]);
const schemaListKeywords = new Set(["anyOf", "oneOf", "allOf"]);
const singleSchemaKeywords = new Set(["items", "additionalProperties"]);

function withType(schema: JsonObject, type: JsonValue): JsonObject {
  const hasType = ["type", "anyOf", "$ref"].some((keyword) => schema[keyword] !== undefined);
  return hasType ? schema : { ...schema, type };
}

export function inferType(schema: JsonObject): string {
  if (isObject(schema["properties"])) return "object";
  if (schema["items"] !== undefined) return "array";
  const { enum: values, const: constValue } = schema;
  const sample = Array.isArray(values) ? values[0] : constValue;
  if (typeof sample === "number" || typeof sample === "boolean") return typeof sample;
  return "string";
}

/** Like an assignment, but safe for a property called `__proto__`. */
export function defineProperty(
  target: JsonObject,
  name: string,
  value: JsonValue | undefined,
): void {
  Object.defineProperty(target, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}
