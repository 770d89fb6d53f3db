import type { JsonObject, JsonValue, ResponsesRequest } from "@deltawire/wire";
import { isObject } from "../json.ts";
import { isBase64, maskedDataUrl, maskedFileData } from "./masked-file.ts";
import { privacyRule } from "./privacy-rule.ts";
import type { Vault } from "./vault.ts";

/** What one part of a request tells may be found in another, which was looked at before. */
const mostPasses = 4;

/**
 * A request with nothing private in it. Whatever is not known to be a word of the wire is taken for a text that somebody
 * wrote.
 */
export function maskedRequest(request: ResponsesRequest, vault: Vault): ResponsesRequest {
  let masked: JsonObject = request;
  for (let pass = 0; pass < mostPasses; pass += 1) {
    const known = vault.size;
    masked = maskedObject(masked, vault, maskedField);
    if (vault.size === known) break;
  }
  return masked;
}

/** Where bytes may stand; anywhere else a text is one, whatever it looks like. */
const addresses = new Set(["image_url", "file_url", "url"]);

type MaskField = (value: JsonValue, name: string, vault: Vault, within: JsonObject) => JsonValue;

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

function maskedField(value: JsonValue, name: string, vault: Vault, within: JsonObject): JsonValue {
  if (fixed.has(name) && !isOfPerson(name, within)) return value;
  if (typeof value === "string") {
    if (name === "instructions") return maskedAroundRule(value, vault);
    if (name === "arguments" || name === "output") return vault.maskJson(value);
    // The picture, and the sound, in base64.
    if (name === "result" && within["type"] === "image_generation_call") return value;
    if (name === "data" && typeof within["format"] === "string" && isBase64(value)) return value;
    if (name === "file_data") return maskedFileData(value, vault);
    if (addresses.has(name) && value.startsWith("data:")) return maskedDataUrl(value, vault);
    return vault.mask(value);
  }
  if (isObject(value) && schemas.has(name)) return maskedObject(value, vault, maskedSchemaField);
  // What a tool was called with is data: its names are the user's words like the rest.
  if (isObject(value) && (name === "arguments" || name === "metadata"))
    return maskedData(value, vault);
  return maskedWithin(value, name, vault, within, maskedField);
}

/** A person's own pattern may find something in our words too, which must reach the model as they are. */
function maskedAroundRule(text: string, vault: Vault): string {
  const rule = privacyRule(vault);
  return text
    .split(rule)
    .map((part) => vault.mask(part))
    .join(rule);
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

function maskedSchemaField(
  value: JsonValue,
  name: string,
  vault: Vault,
  within: JsonObject,
): JsonValue {
  if (name.startsWith("$") && name !== "$comment" && typeof value === "string") return value;
  if (schemaWords.has(name) && !isObject(value)) return value;
  if (schemaData.has(name)) return maskedData(value, vault);
  if (named.has(name) && isObject(value))
    return maskedObject(value, vault, (schema) =>
      maskedWithin(schema, "", vault, within, maskedSchemaField),
    );
  if (typeof value === "string") return vault.mask(value);
  return maskedWithin(value, name, vault, within, maskedSchemaField);
}

function maskedWithin(
  value: JsonValue,
  name: string,
  vault: Vault,
  within: JsonObject,
  mask: MaskField,
): JsonValue {
  if (Array.isArray(value))
    return eachOf(value, (one) =>
      typeof one === "string"
        ? mask(one, name, vault, within)
        : maskedWithin(one, name, vault, within, mask),
    );
  return isObject(value) ? maskedObject(value, vault, mask) : value;
}

function maskedObject(object: JsonObject, vault: Vault, mask: MaskField): JsonObject {
  let changed: JsonObject | undefined;
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const masked = mask(value, name, vault, object);
    if (masked === value) continue;
    changed ??= { ...object };
    changed[name] = masked;
  }
  return changed ?? object;
}

/** Every text of a value, the names of its properties too. A number that is private becomes a text. */
function maskedData(value: JsonValue, vault: Vault): JsonValue {
  if (typeof value === "string") return vault.mask(value);
  if (typeof value === "number") {
    const masked = vault.mask(String(value));
    return masked === String(value) ? value : masked;
  }
  if (Array.isArray(value)) return eachOf(value, (one) => maskedData(one, vault));
  if (!isObject(value)) return value;
  const text = JSON.stringify(value);
  const masked = vault.maskJson(text);
  return masked === text ? value : (JSON.parse(masked) as JsonValue);
}

function eachOf(values: JsonValue[], change: (value: JsonValue) => JsonValue): JsonValue[] {
  const changed = values.map(change);
  return changed.some((value, index) => value !== values[index]) ? changed : values;
}
