import { WireError } from "../error.ts";
import { isObject } from "../json.ts";

/** One `[model_providers.*]` table of a Codex configuration, by the rules of Codex 0.166. */
export interface ModelProvider {
  /** Empty if absent: only a whole configuration needs it. */
  name: string;
  wire_api: "responses";
  requires_openai_auth: boolean;
  supports_websockets: boolean;
  supports_standalone_web_search: boolean;
  /** The others, as they were given. */
  [field: string]: unknown;
}

/** Reads a table; TOML is parsed by the caller. Throws in Codex's own words. */
export function parseModelProvider(table: unknown): ModelProvider {
  if (!isTable(table)) throw wrongType(table, "struct ModelProviderInfo");
  const given: Record<string, unknown> = {};
  // In the order of the table, so that of two faults the one that Codex names comes out.
  for (const [field, value] of Object.entries(table)) {
    if (value === undefined || value === null || !isProviderField(field)) continue;
    given[field] = read[providerFields[field]](value, field);
  }
  return {
    name: "",
    wire_api: "responses",
    requires_openai_auth: false,
    supports_websockets: false,
    supports_standalone_web_search: false,
    ...given,
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
  auth: "unread",
  aws: "unread",
  capabilities: "unread",
  gateway_oauth: "unread",
} as const;

type FieldKind = (typeof providerFields)[keyof typeof providerFields];

const read: Record<FieldKind, (value: unknown, path: string) => unknown> = {
  string: readString,
  wire: readWire,
  strings(value, path) {
    if (!isTable(value)) throw wrongType(value, "a map", path);
    for (const [name, text] of Object.entries(value)) readString(text, `${path}.${name}`);
    return value;
  },
  count(value, path) {
    if (!isInteger(value)) throw wrongType(value, "u64", path);
    if (value < 0) throw refusal(`invalid value: ${show(value)}, expected u64`, path);
    return value;
  },
  boolean(value, path) {
    if (typeof value !== "boolean") throw wrongType(value, "a boolean", path);
    return value;
  },
  unread: (value) => value,
};

function readWire(value: unknown, path: string): "responses" {
  const wire = readString(value, path);
  if (wire === "responses") return wire;
  throw refusal(
    wire === "chat" ? chatIsRemoved : `unknown variant \`${wire}\`, expected \`responses\``,
    path,
  );
}

const chatIsRemoved = `\`wire_api = "chat"\` is no longer supported.
How to fix: set \`wire_api = "responses"\` in your provider config.
More info: https://github.com/openai/codex/discussions/7782`;

function readString(value: unknown, path: string): string {
  if (typeof value === "string") return value;
  if (isDate(value)) return value.toISOString();
  throw wrongType(value, "a string", path);
}

export function wrongType(value: unknown, expected: string, path?: string): WireError {
  return refusal(`invalid type: ${show(value)}, expected ${expected}`, path);
}

/** `param` is where in the table it stands. */
function refusal(message: string, param?: string): WireError {
  return new WireError("invalid_config", message, param === undefined ? {} : { param });
}

function show(value: unknown): string {
  if (typeof value === "string") return `string ${JSON.stringify(value)}`;
  if (isInteger(value)) return `integer \`${value}\``;
  if (typeof value === "number") return `floating point \`${value}\``;
  if (typeof value === "boolean") return `boolean \`${value}\``;
  return Array.isArray(value) ? "sequence" : "map";
}

/** A bigint from a parser that keeps the two apart; else 1.0 is 1. */
function isInteger(value: unknown): value is number | bigint {
  return typeof value === "bigint" || Number.isInteger(value);
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !isDate(value);
}

/** A TOML parser's date, which Codex reads as the text it was. */
function isDate(value: unknown): value is { toISOString(): string } {
  return (
    typeof value === "object" &&
    value !== null &&
    "toISOString" in value &&
    typeof value.toISOString === "function"
  );
}
