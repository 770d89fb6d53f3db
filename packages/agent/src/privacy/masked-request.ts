import { isObject, type JsonObject, type JsonValue, type ResponsesRequest } from "@deltawire/wire";
import { isBase64, maskedDataUrl, maskedFileData } from "./masked-file.ts";
import { placeholderOf } from "./placeholder.ts";
import type { Vault } from "./vault.ts";

/**
 * What one part of a request tells may be found in another, which was looked at before. Two or three passes are usual; more
 * are needed only while other requests of the chat go on teaching the vault new values.
 */
const mostPasses = 16;

/**
 * Returns a request without private values. Everything that is not a known keyword of the wire is taken for a text that
 * somebody wrote.
 *
 * A generator, since a history of many MiB takes seconds. Other requests of the chat may teach the vault new values between
 * two steps: then all texts are masked again, as after a value that the request itself contains.
 */
export function* maskRequestSteps(
  request: ResponsesRequest,
  vault: Vault,
): Generator<void, ResponsesRequest> {
  let masked: JsonObject = request;
  for (let pass = 0; pass < mostPasses; pass += 1) {
    const known = vault.size;
    masked = yield* maskedObject(masked, vault, maskedField);
    if (vault.size === known) break;
  }
  return masked;
}

/** Where bytes may stand; anywhere else a text is one, whatever it looks like. */
const addresses = new Set(["image_url", "file_url", "url"]);

type MaskField = (
  value: JsonValue,
  name: string,
  vault: Vault,
  within: JsonObject,
) => Generator<void, JsonValue>;

/** Words of the wire, names of tools, and what only their server can read. */
const fixed = new Set([
  "type",
  "role",
  "status",
  "phase",
  "detail",
  "execution",
  "id",
  "call_id",
  "item_id",
  "file_id",
  "response_id",
  "previous_response_id",
  "conversation",
  "model",
  "include",
  "truncation",
  "service_tier",
  "tool_choice",
  "name",
  "namespace",
  "server_label",
  "encrypted_content",
  "syntax",
  "effort",
  "verbosity",
]);
/** Fields whose objects are JSON Schemas. */
const schemas = new Set(["parameters", "schema", "input_schema", "output_schema"]);

function* maskedField(
  value: JsonValue,
  name: string,
  vault: Vault,
  within: JsonObject,
): Generator<void, JsonValue> {
  if (fixed.has(name) && !isOfPerson(name, within)) return value;
  if (typeof value === "string") {
    if (name === "instructions") return yield* maskedAroundRule(value, vault);
    if (name === "arguments" || name === "output") return yield* vault.maskJsonSteps(value);
    // The picture, and the sound, in base64.
    if (name === "result" && within["type"] === "image_generation_call") return value;
    if (name === "data" && typeof within["format"] === "string" && isBase64(value)) return value;
    if (name === "file_data") return yield* maskedFileData(value, vault);
    if (addresses.has(name) && value.startsWith("data:")) return yield* maskedDataUrl(value, vault);
    return yield* vault.maskSteps(value);
  }
  if (isObject(value) && schemas.has(name))
    return yield* maskedObject(value, vault, maskedSchemaField);
  // What a tool was called with is data: its names are the user's words like the rest.
  if (isObject(value) && (name === "arguments" || name === "metadata"))
    return yield* maskedData(value, vault);
  return yield* maskedWithin(value, name, vault, within, maskedField);
}

/** A person's own pattern may find something in our words too, which must reach the model as they are. */
function* maskedAroundRule(text: string, vault: Vault): Generator<void, string> {
  const rule = privacyRule(vault);
  const parts: string[] = [];
  for (const part of text.split(rule)) parts.push(yield* vault.maskSteps(part));
  return parts.join(rule);
}

/** Who said a message, in an item that came from elsewhere. */
function isOfPerson(name: string, within: JsonObject): boolean {
  return name === "name" && "role" in within;
}

/** Keywords that are no words for a reader: masked they would mean something else. */
const schemaWords = new Set(["type", "required", "pattern", "format", "dependentRequired"]);
/** Keywords whose objects have names of properties. */
const named = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);
const schemaData = new Set(["enum", "const", "default", "examples", "example"]);

function* maskedSchemaField(
  value: JsonValue,
  name: string,
  vault: Vault,
  within: JsonObject,
): Generator<void, JsonValue> {
  if (name.startsWith("$") && name !== "$comment" && typeof value === "string") return value;
  if (schemaWords.has(name) && !isObject(value)) return value;
  if (schemaData.has(name)) return yield* maskedData(value, vault);
  if (named.has(name) && isObject(value))
    return yield* maskedObject(value, vault, (schema) =>
      maskedWithin(schema, "", vault, within, maskedSchemaField),
    );
  if (typeof value === "string") return yield* vault.maskSteps(value);
  return yield* maskedWithin(value, name, vault, within, maskedSchemaField);
}

function* maskedWithin(
  value: JsonValue,
  name: string,
  vault: Vault,
  within: JsonObject,
  mask: MaskField,
): Generator<void, JsonValue> {
  if (Array.isArray(value))
    return yield* eachOf(value, (one) =>
      typeof one === "string"
        ? mask(one, name, vault, within)
        : maskedWithin(one, name, vault, within, mask),
    );
  return isObject(value) ? yield* maskedObject(value, vault, mask) : value;
}

function* maskedObject(
  object: JsonObject,
  vault: Vault,
  mask: MaskField,
): Generator<void, JsonObject> {
  let changed: JsonObject | undefined;
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const masked = yield* mask(value, name, vault, object);
    if (masked === value) continue;
    changed ??= { ...object };
    changed[name] = masked;
  }
  return changed ?? object;
}

/** Every text of a value, the names of its properties too. A number that is private becomes a text. */
function* maskedData(value: JsonValue, vault: Vault): Generator<void, JsonValue> {
  if (typeof value === "string") return yield* vault.maskSteps(value);
  if (typeof value === "number") {
    const masked = yield* vault.maskSteps(String(value));
    return masked === String(value) ? value : masked;
  }
  if (Array.isArray(value)) return yield* eachOf(value, (one) => maskedData(one, vault));
  if (!isObject(value)) return value;
  const text = JSON.stringify(value);
  const masked = yield* vault.maskJsonSteps(text);
  return masked === text ? value : (JSON.parse(masked) as JsonValue);
}

function* eachOf(
  values: JsonValue[],
  change: (value: JsonValue) => Generator<void, JsonValue>,
): Generator<void, JsonValue[]> {
  const changed: JsonValue[] = [];
  for (const value of values) {
    changed.push(yield* change(value));
    yield;
  }
  return changed.some((value, index) => value !== values[index]) ? changed : values;
}

/** Tells a model what placeholders are. The same for as long as the fields are, for the sake of the prompt cache. */
export function privacyRule(vault: Vault): string {
  const [label = "NAME"] = vault.labels;
  const example = placeholderOf(label, 0, vault.tag);
  return `<PRIVACY_RULE>
Private values in this conversation are replaced by placeholders of the form ${example}: two braces, what it is, a number, the code ${vault.tag}, two braces. The same placeholder always stands for the same value; two placeholders may be two spellings of one value.
- Use a placeholder wherever you would use the value, in answers and in the arguments of tools. The user and the tools get the value in its place.
- Copy it exactly, braces and code included. Do not translate, shorten, split, decorate or number it yourself, and do not make up new ones.
- Do not guess the value, and do not ask for it or remark that it is hidden.
- If a task needs something of the value that you cannot see, such as its length or its last digits, say so.
</PRIVACY_RULE>`;
}
