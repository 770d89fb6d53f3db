import { isObject, type JsonObject, type JsonValue, type ResponsesRequest } from "@deltawire/wire";
import { isUnbrokenBase64, maskDataUrl, maskFileData } from "./mask-file.ts";
import { formatPlaceholder } from "./placeholder.ts";
import type { Vault } from "./vault.ts";

/**
 * A value found in one part of a request may also occur in a part that was already masked. Two or three passes are usual;
 * more are needed only while other requests of the chat add values to the vault.
 */
const maxPasses = 16;

/**
 * Returns a request without private values. All strings are masked, except fields that are known keywords of the wire.
 *
 * A generator, since a history of many MiB takes seconds. If the vault learns new values between two steps, from this
 * request or another one of the chat, all text is masked again.
 */
export function* maskRequestSteps(
  request: ResponsesRequest,
  vault: Vault,
): Generator<void, ResponsesRequest> {
  let masked: JsonObject = request;
  for (let pass = 0; pass < maxPasses; pass += 1) {
    const sizeBefore = vault.size;
    masked = yield* maskObject(masked, vault, maskField);
    if (vault.size === sizeBefore) break;
  }
  return masked;
}

/** Fields that may hold a `data:` URL. In all other fields a string is text, even if it looks like one. */
const urlFields = new Set(["image_url", "file_url", "url"]);

type MaskField = (
  value: JsonValue,
  name: string,
  vault: Vault,
  parent: JsonObject,
) => Generator<void, JsonValue>;

/** Keywords of the wire, ids, tool names, and content that is opaque to us. */
const unmaskedFields = new Set([
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
const schemaFields = new Set(["parameters", "schema", "input_schema", "output_schema"]);

function* maskField(
  value: JsonValue,
  name: string,
  vault: Vault,
  parent: JsonObject,
): Generator<void, JsonValue> {
  if (unmaskedFields.has(name) && !isParticipantName(name, parent)) return value;
  if (typeof value === "string") {
    if (name === "instructions") return yield* maskInstructions(value, vault);
    if (name === "arguments" || name === "output") return yield* vault.maskJsonSteps(value);
    // Images and audio in base64.
    if (name === "result" && parent["type"] === "image_generation_call") return value;
    if (name === "data" && typeof parent["format"] === "string" && isUnbrokenBase64(value))
      return value;
    if (name === "file_data") return yield* maskFileData(value, vault);
    if (urlFields.has(name) && value.startsWith("data:")) return yield* maskDataUrl(value, vault);
    return yield* vault.maskSteps(value);
  }
  if (isObject(value) && schemaFields.has(name))
    return yield* maskObject(value, vault, maskSchemaField);
  // Property names in the arguments of a call may be private too.
  if (isObject(value) && (name === "arguments" || name === "metadata"))
    return yield* maskData(value, vault);
  return yield* maskNested(value, name, vault, parent, maskField);
}

/** Masks instructions except the privacy rule: a custom pattern must not change the rule. */
function* maskInstructions(text: string, vault: Vault): Generator<void, string> {
  const rule = buildPrivacyRule(vault);
  const parts: string[] = [];
  for (const part of text.split(rule)) parts.push(yield* vault.maskSteps(part));
  return parts.join(rule);
}

/** True for the `name` of a message's author, which is private. Other names, such as those of tools, are not. */
function isParticipantName(name: string, parent: JsonObject): boolean {
  return name === "name" && "role" in parent;
}

/** Keywords whose values control validation: masking would change what the schema accepts. */
const schemaKeywords = new Set(["type", "required", "pattern", "format", "dependentRequired"]);
/** Keywords whose objects have schemas by property name. */
const propertyKeywords = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);
const schemaDataKeywords = new Set(["enum", "const", "default", "examples", "example"]);

function* maskSchemaField(
  value: JsonValue,
  name: string,
  vault: Vault,
  parent: JsonObject,
): Generator<void, JsonValue> {
  if (name.startsWith("$") && name !== "$comment" && typeof value === "string") return value;
  if (schemaKeywords.has(name) && !isObject(value)) return value;
  if (schemaDataKeywords.has(name)) return yield* maskData(value, vault);
  if (propertyKeywords.has(name) && isObject(value))
    return yield* maskObject(value, vault, (schema) =>
      maskNested(schema, "", vault, parent, maskSchemaField),
    );
  if (typeof value === "string") return yield* vault.maskSteps(value);
  return yield* maskNested(value, name, vault, parent, maskSchemaField);
}

function* maskNested(
  value: JsonValue,
  name: string,
  vault: Vault,
  parent: JsonObject,
  mask: MaskField,
): Generator<void, JsonValue> {
  if (Array.isArray(value))
    return yield* mapValues(value, (element) =>
      typeof element === "string"
        ? mask(element, name, vault, parent)
        : maskNested(element, name, vault, parent, mask),
    );
  return isObject(value) ? yield* maskObject(value, vault, mask) : value;
}

function* maskObject(
  object: JsonObject,
  vault: Vault,
  mask: MaskField,
): Generator<void, JsonObject> {
  let copy: JsonObject | undefined;
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const masked = yield* mask(value, name, vault, object);
    if (masked === value) continue;
    copy ??= { ...object };
    copy[name] = masked;
  }
  return copy ?? object;
}

/** Masks every string in a value, including property names. A private number becomes a string. */
function* maskData(value: JsonValue, vault: Vault): Generator<void, JsonValue> {
  if (typeof value === "string") return yield* vault.maskSteps(value);
  if (typeof value === "number") {
    const masked = yield* vault.maskSteps(String(value));
    return masked === String(value) ? value : masked;
  }
  if (Array.isArray(value)) return yield* mapValues(value, (element) => maskData(element, vault));
  if (!isObject(value)) return value;
  const text = JSON.stringify(value);
  const masked = yield* vault.maskJsonSteps(text);
  return masked === text ? value : (JSON.parse(masked) as JsonValue);
}

function* mapValues(
  values: JsonValue[],
  transform: (value: JsonValue) => Generator<void, JsonValue>,
): Generator<void, JsonValue[]> {
  const results: JsonValue[] = [];
  for (const value of values) {
    results.push(yield* transform(value));
    yield;
  }
  return results.some((value, index) => value !== values[index]) ? results : values;
}

/** Builds the instructions that explain placeholders to a model. Depends only on the fields, so that prompt caches stay valid. */
export function buildPrivacyRule(vault: Vault): string {
  const [label = "NAME"] = vault.labels;
  const example = formatPlaceholder(label, 0, vault.tag);
  return `<PRIVACY_RULE>
Private values in this conversation are replaced by placeholders of the form ${example}: two braces, what it is, a number, the code ${vault.tag}, two braces. The same placeholder always stands for the same value; two placeholders may be two spellings of one value.
- Use a placeholder wherever you would use the value, in answers and in the arguments of tools. The user and the tools get the value in its place.
- Copy it exactly, braces and code included. Do not translate, shorten, split, decorate or number it yourself, and do not make up new ones.
- Do not guess the value, and do not ask for it or remark that it is hidden.
- If a task depends on a property of the value that you cannot see, such as its length or its last digits, say so.
</PRIVACY_RULE>`;
}
