import { WireError } from "../error.ts";
import { isObject } from "../json.ts";

/** One `[model_providers.*]` table of a Codex configuration, parsed as by Codex 0.166. */
export interface ModelProvider {
  /** Empty if absent. `validateCodexConfig` requires it. */
  name: string;
  wire_api: "responses";
  requires_openai_auth: boolean;
  supports_websockets: boolean;
  supports_standalone_web_search: boolean;
  /** All other fields, unchanged. */
  [field: string]: unknown;
}

/** Validates a provider table of a parsed TOML file. Throws `invalid_config` with the message that Codex prints. */
export function parseModelProvider(table: unknown): ModelProvider {
  if (!isConfigTable(table)) throw createTypeError(table, "struct ModelProviderInfo");
  const fields: Record<string, unknown> = {};
  // In the order of the table: Codex reports the first error.
  for (const [field, value] of Object.entries(table)) {
    if (value === undefined || value === null || !isProviderField(field)) continue;
    fields[field] = fieldReaders[providerFields[field]](value, field);
  }
  return {
    name: "",
    wire_api: "responses",
    requires_openai_auth: false,
    supports_websockets: false,
    supports_standalone_web_search: false,
    ...fields,
  };
}

export function isProviderField(field: string): field is keyof typeof providerFields {
  return Object.hasOwn(providerFields, field);
}

const providerFields = {
  name: "string",
  base_url: "string",
  model_catalog_url: "string",
  env_key: "string",
  env_key_instructions: "string",
  experimental_bearer_token: "string",
  wire_api: "wire",
  query_params: "strings",
  http_headers: "strings",
  env_http_headers: "strings",
  request_max_retries: "count",
  stream_max_retries: "count",
  stream_idle_timeout_ms: "count",
  websocket_connect_timeout_ms: "count",
  requires_openai_auth: "boolean",
  supports_websockets: "boolean",
  supports_standalone_web_search: "boolean",
  auth: "unvalidated",
  aws: "unvalidated",
  capabilities: "unvalidated",
  gateway_oauth: "unvalidated",
} as const;

type FieldKind = (typeof providerFields)[keyof typeof providerFields];

const fieldReaders: Record<FieldKind, (value: unknown, path: string) => unknown> = {
  string: readString,
  wire: readWireApi,
  strings(value, path) {
    if (!isConfigTable(value)) throw createTypeError(value, "a map", path);
    for (const [name, text] of Object.entries(value)) readString(text, `${path}.${name}`);
    return value;
  },
  count(value, path) {
    if (!isInteger(value)) throw createTypeError(value, "u64", path);
    if (value < 0)
      throw createConfigError(`invalid value: ${formatValue(value)}, expected u64`, path);
    return value;
  },
  boolean(value, path) {
    if (typeof value !== "boolean") throw createTypeError(value, "a boolean", path);
    return value;
  },
  unvalidated: (value) => value,
};

function readWireApi(value: unknown, path: string): "responses" {
  const wire = readString(value, path);
  if (wire === "responses") return wire;
  throw createConfigError(
    wire === "chat" ? chatRemovedMessage : `unknown variant \`${wire}\`, expected \`responses\``,
    path,
  );
}

const chatRemovedMessage = `\`wire_api = "chat"\` is no longer supported.
How to fix: set \`wire_api = "responses"\` in your provider config.
More info: https://github.com/openai/codex/discussions/7782`;

function readString(value: unknown, path: string): string {
  if (typeof value === "string") return value;
  if (isDate(value)) return value.toISOString();
  throw createTypeError(value, "a string", path);
}

export function createTypeError(value: unknown, expected: string, path?: string): WireError {
  return createConfigError(`invalid type: ${formatValue(value)}, expected ${expected}`, path);
}

/** `param` is the path of the field in the table. */
function createConfigError(message: string, param?: string): WireError {
  return new WireError("invalid_config", message, param === undefined ? {} : { param });
}

function formatValue(value: unknown): string {
  if (typeof value === "string") return `string ${JSON.stringify(value)}`;
  if (isInteger(value)) return `integer \`${value}\``;
  if (typeof value === "number") return `floating point \`${value}\``;
  if (typeof value === "boolean") return `boolean \`${value}\``;
  return Array.isArray(value) ? "sequence" : "map";
}

/** Some TOML parsers return integers as bigint. For the others, 1.0 counts as an integer. */
function isInteger(value: unknown): value is number | bigint {
  return typeof value === "bigint" || Number.isInteger(value);
}

export function isConfigTable(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !isDate(value);
}

/** True for the date object of a TOML parser. Codex reads dates as strings. */
function isDate(value: unknown): value is { toISOString(): string } {
  return (
    typeof value === "object" &&
    value !== null &&
    "toISOString" in value &&
    typeof value.toISOString === "function"
  );
}
