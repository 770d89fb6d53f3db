import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import { define, guessType } from "./schema.ts";

/**
 * A function's parameters in the few words of Google's Schema, which refuses all others by name ("Unknown name
 * \"additionalProperties\"", cline issue 7339, opencode issue 11889): references are written out, `const` and `oneOf`
 * become `enum` and `anyOf`, several types become choices, null becomes `nullable`. What the choices at the very top
 * may hold is offered there, for no choice may stand at the top itself.
 */
export function geminiSchema(schema: JsonObject): JsonObject {
  const writer = new GeminiSchema(schema);
  const { anyOf, oneOf, ...rest } = schema;
  const top = writer.write({ ...rest, type: "object" }, []);
  const properties: JsonObject = {};
  for (const choice of [...schemasIn(anyOf), ...schemasIn(oneOf)]) {
    const { properties: offered } = writer.write({ ...choice, type: "object" }, []);
    if (isObject(offered)) copy(offered, properties);
  }
  if (isObject(top["properties"])) copy(top["properties"], properties);
  return { ...top, properties };
}

/**
 * Keywords that mean the same on both sides. Of the others those of a schema are translated, and the rest is dropped;
 * lengths and patterns too, for llama.cpp cannot build its grammar with them (issues 17574 and 25895).
 */
const plainKeywords = ["description", "minimum", "maximum"];
const formats = new Set(["date-time", "float", "double", "int32", "int64"]);
const types = new Set(["object", "array", "string", "number", "integer", "boolean"]);

/** References that lead to each other cannot be written out without end: past these limits comes any object. */
const deepest = 32;
const most = 4_000;

class GeminiSchema {
  readonly #root: JsonObject;
  #written = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  write(given: JsonObject, path: readonly string[]): JsonObject {
    const { $ref: reference, allOf, ...own } = given;
    this.#written += 1;
    if (path.length > deepest || this.#written > most) return { type: "object" };
    if (typeof reference === "string") {
      if (path.includes(reference)) return { type: "object" };
      return this.write({ ...this.#referred(reference), ...own }, [...path, reference]);
    }
    const all = schemasIn(allOf);
    if (all.length > 0) return this.write(all.reduce(together, own), [...path, "allOf"]);
    return this.#choices(own, path) ?? this.#single(own, path);
  }

  #referred(reference: string): JsonObject {
    let found: JsonValue | undefined = this.#root;
    for (const step of reference.split("/").slice(1)) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return isObject(found) ? found : {};
  }

  /** `anyOf`, alone as Google wants it; one choice beside null is that choice. */
  #choices(schema: JsonObject, path: readonly string[]): JsonObject | undefined {
    const { anyOf, oneOf, type, ...rest } = schema;
    const listed = [...schemasIn(anyOf), ...schemasIn(oneOf)];
    if (listed.length > 0) {
      const beside = type === undefined || Array.isArray(type) ? rest : { ...rest, type };
      return this.#asChoices(
        listed.map((choice) => together(beside, choice)),
        path,
      );
    }
    if (!Array.isArray(type)) return undefined;
    return this.#asChoices(
      type.map((one) => ({ ...rest, type: one })),
      path,
    );
  }

  #asChoices(choices: readonly JsonObject[], path: readonly string[]): JsonObject {
    const written = choices
      .filter((choice) => choice["type"] !== "null")
      .map((choice) => this.write(choice, [...path, "anyOf"]));
    const nullable = written.length < choices.length ? { nullable: true } : {};
    const [only, ...others] = written;
    if (only === undefined) return { type: "string", ...nullable };
    if (others.length === 0) return { ...only, ...nullable };
    return { anyOf: written.map((choice) => ({ ...choice, ...nullable })) };
  }

  #single(schema: JsonObject, path: readonly string[]): JsonObject {
    const guessed = schema["type"];
    const type = typeof guessed === "string" && types.has(guessed) ? guessed : guessType(schema);
    const out: JsonObject = { type };
    for (const keyword of plainKeywords)
      if (schema[keyword] !== undefined) out[keyword] = schema[keyword];
    const { format, nullable } = schema;
    if (typeof format === "string" && formats.has(format)) out["format"] = format;
    if (nullable === true) out["nullable"] = true;
    this.#values(schema, type, out);
    if (type === "object") this.#properties(schema, path, out);
    if (type === "array") {
      const items = isObject(schema["items"]) ? schema["items"] : { type: "string" };
      out["items"] = this.write(items, [...path, "items"]);
    }
    return out;
  }

  /** Only texts may be listed, and no empty one; other values are told in the description. */
  #values(schema: JsonObject, type: string, out: JsonObject): void {
    const listed = Array.isArray(schema["enum"]) ? schema["enum"] : [schema["const"]];
    const values = listed.filter((value) => value !== undefined && value !== null && value !== "");
    if (values.length === 0) return;
    if (type === "string") {
      out["enum"] = values.map((value) =>
        typeof value === "string" ? value : JSON.stringify(value),
      );
      return;
    }
    const told = `One of: ${values.map((value) => JSON.stringify(value)).join(", ")}.`;
    const description = nonEmptyString(out["description"]);
    out["description"] = description === undefined ? told : `${description} ${told}`;
  }

  #properties(schema: JsonObject, path: readonly string[], out: JsonObject): void {
    const { properties, required } = schema;
    if (!isObject(properties)) return;
    const written: JsonObject = {};
    for (const [name, property] of Object.entries(properties))
      define(
        written,
        name,
        this.write(isObject(property) ? property : {}, [...path, "properties"]),
      );
    if (Object.keys(written).length === 0) return;
    out["properties"] = written;
    const known = (Array.isArray(required) ? required : []).filter(
      (name) => typeof name === "string" && Object.hasOwn(written, name),
    );
    if (known.length > 0) out["required"] = known;
  }
}

/** Two schemas that both hold: the properties of both, and of everything else what the second says. */
function together(first: JsonObject, second: JsonObject): JsonObject {
  const properties: JsonObject = {};
  for (const one of [first["properties"], second["properties"]])
    if (isObject(one)) copy(one, properties);
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

function schemasIn(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function copy(from: JsonObject, to: JsonObject): void {
  for (const [name, value] of Object.entries(from)) define(to, name, value);
}
