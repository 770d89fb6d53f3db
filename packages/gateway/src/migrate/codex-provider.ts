import { WireError } from "@deltawire/wire";
import { parseModelProvider } from "@deltawire/wire/codex";
import { parseBaseUrl } from "../config/base-url.ts";
import { isTomlTable, type TomlTable } from "../config/decode-section.ts";
import { isSecretName, isSecretValue, isSafeVariableName } from "./detect-secrets.ts";
import type { TomlEditor } from "./toml-editor.ts";

/** The fields of a Codex provider that are migrated. Empty strings count as not set. */
export interface CodexProvider {
  readonly base_url: string;
  readonly env_key: string | undefined;
  readonly env_key_instructions: string | undefined;
  readonly experimental_bearer_token: string | undefined;
  readonly http_headers: ReadonlyMap<string, string>;
  readonly env_http_headers: ReadonlyMap<string, string>;
  readonly query_params: ReadonlyMap<string, string>;
  readonly requires_openai_auth: boolean;
  /** Undefined: the default of Codex, which is not migrated. */
  readonly request_max_retries: number | undefined;
  readonly stream_idle_timeout_ms: number | undefined;
}

/** Fields that move to the gateway's configuration. */
export const movedFields = [
  "env_key",
  "env_key_instructions",
  "experimental_bearer_token",
  "http_headers",
  "env_http_headers",
  "query_params",
  "requires_openai_auth",
] as const;

/** Returns the tables of `[model_providers]`. */
export function listProviders(config: TomlTable): [id: string, table: TomlTable][] {
  const providers = config["model_providers"];
  return Object.entries(isTomlTable(providers) ? providers : {}).flatMap(([id, table]) =>
    isTomlTable(table) ? [[id, table]] : [],
  );
}

/** Decodes a provider. Throws a MigrationError with the line if the provider cannot be migrated. */
export function parseProvider(id: string, table: TomlTable, editor: TomlEditor): CodexProvider {
  const path = ["model_providers", id];
  try {
    parseModelProvider({ ...table, wire_api: "responses" });
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw editor.createError([...path, ...(error.param?.split(".") ?? [])], "has the wrong type");
  }
  for (const field of ["auth", "aws", "gateway_oauth"])
    if (table[field] !== undefined)
      throw editor.createError(
        [...path, field],
        "is not supported: only Codex can sign in this way",
      );
  const baseUrl = parseBaseUrl(readString(table["base_url"]) ?? openaiBaseUrl);
  if ("error" in baseUrl) throw editor.createError([...path, "base_url"], baseUrl.error);
  const query_params = readStringTable(table["query_params"]);
  for (const [name, value] of query_params)
    if (isSecretName(name) || isSecretValue(value))
      throw editor.createError(
        [...path, "query_params", name],
        "looks like a secret, which does not belong in a URL; remove it, and set env_key if the server accepts a bearer token",
      );
  return {
    base_url: baseUrl.url,
    env_key: readString(table["env_key"]),
    env_key_instructions: readString(table["env_key_instructions"]),
    experimental_bearer_token: readString(table["experimental_bearer_token"]),
    http_headers: readStringTable(table["http_headers"]),
    env_http_headers: readStringTable(table["env_http_headers"]),
    query_params,
    requires_openai_auth: table["requires_openai_auth"] === true,
    request_max_retries: toNumber(table["request_max_retries"]),
    stream_idle_timeout_ms: toNumber(table["stream_idle_timeout_ms"]),
  };
}

/** The default of Codex for providers without `base_url`. */
const openaiBaseUrl = "https://api.openai.com/v1";

/** Returns an id that Codex accepts: its built-in providers can no longer be redefined. */
export function toAllowedProviderId(id: string, config: TomlTable): string {
  if (!builtInProviders.has(id)) return id;
  const usedIds = new Set(listProviders(config).map(([usedId]) => usedId));
  let newId = `${id}-custom`;
  for (let count = 2; usedIds.has(newId); count += 1) newId = `${id}-custom-${count}`;
  return newId;
}

const builtInProviders = new Set([
  "openai",
  "ollama",
  "lmstudio",
  "amazon-bedrock",
  "amazon-bedrock-runtime",
]);

/** Returns the names of the environment variables that the providers use. */
export function listVariableNames(config: TomlTable): string[] {
  return listProviders(config)
    .flatMap(([, table]) => [
      readString(table["env_key"]) ?? "",
      ...readStringTable(table["env_http_headers"]).values(),
    ])
    .filter(isSafeVariableName);
}

/** Like Codex, reads a date as a string. */
function readString(value: unknown): string | undefined {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** `parseModelProvider` has already checked that it is a number. */
function toNumber(value: unknown): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function readStringTable(table: unknown): Map<string, string> {
  const entries = Object.entries(isTomlTable(table) ? table : {});
  return new Map(entries.map(([name, value]) => [name, readString(value) ?? ""]));
}
