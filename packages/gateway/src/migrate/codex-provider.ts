import { WireError } from "@deltawire/wire";
import { parseModelProvider } from "@deltawire/wire/codex";
import { checkBaseUrl } from "../config/base-url.ts";
import { isTable, type Table } from "../config/decode.ts";
import { isSecretName, isSecretValue, isVariable } from "./secret-words.ts";
import type { TomlEdits } from "./toml-edits.ts";

/** What moves of a provider of Codex; a text that is empty is none. */
export interface CodexProvider {
  readonly base_url: string;
  readonly env_key: string | undefined;
  readonly env_key_instructions: string | undefined;
  readonly experimental_bearer_token: string | undefined;
  readonly http_headers: ReadonlyMap<string, string>;
  readonly env_http_headers: ReadonlyMap<string, string>;
  readonly query_params: ReadonlyMap<string, string>;
  readonly requires_openai_auth: boolean;
  /** Undefined: Codex's default, which is not the user's wish. */
  readonly request_max_retries: number | undefined;
  readonly stream_idle_timeout_ms: number | undefined;
}

/** Its fields that the gateway needs from now on, and Codex no longer. */
export const movedFields = [
  "env_key",
  "env_key_instructions",
  "experimental_bearer_token",
  "http_headers",
  "env_http_headers",
  "query_params",
  "requires_openai_auth",
] as const;

/** The tables of `[model_providers]`. */
export function providersOf(config: Table): [id: string, table: Table][] {
  const providers = config["model_providers"];
  return Object.entries(isTable(providers) ? providers : {}).flatMap(([id, table]) =>
    isTable(table) ? [[id, table]] : [],
  );
}

/** Reads a provider, and refuses one that cannot be moved, with the line. */
export function readProvider(id: string, table: Table, edits: TomlEdits): CodexProvider {
  const path = ["model_providers", id];
  try {
    parseModelProvider({ ...table, wire_api: "responses" });
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw edits.refusal([...path, ...(error.param?.split(".") ?? [])], "has the wrong type");
  }
  for (const field of ["auth", "aws", "gateway_oauth"])
    if (table[field] !== undefined)
      throw edits.refusal([...path, field], "is a way to sign in that only Codex has");
  const address = checkBaseUrl(textOf(table["base_url"]) ?? openaiBaseUrl);
  if ("fault" in address) throw edits.refusal([...path, "base_url"], address.fault);
  const query_params = textsOf(table["query_params"]);
  for (const [name, value] of query_params)
    if (isSecretName(name) || isSecretValue(value))
      throw edits.refusal(
        [...path, "query_params", name],
        "looks like a secret, which has no place in an address; take it out, and set env_key if the server takes its key as a bearer",
      );
  return {
    base_url: address.url,
    env_key: textOf(table["env_key"]),
    env_key_instructions: textOf(table["env_key_instructions"]),
    experimental_bearer_token: textOf(table["experimental_bearer_token"]),
    http_headers: textsOf(table["http_headers"]),
    env_http_headers: textsOf(table["env_http_headers"]),
    query_params,
    requires_openai_auth: table["requires_openai_auth"] === true,
    request_max_retries: countOf(table["request_max_retries"]),
    stream_idle_timeout_ms: countOf(table["stream_idle_timeout_ms"]),
  };
}

/** Where Codex goes without a `base_url`. */
const openaiBaseUrl = "https://api.openai.com/v1";

/** The id that Codex accepts: its own providers cannot be defined anew any longer. */
export function acceptedId(id: string, config: Table): string {
  if (!builtIn.has(id)) return id;
  const taken = new Set(providersOf(config).map(([id]) => id));
  let free = `${id}-custom`;
  for (let count = 2; taken.has(free); count += 1) free = `${id}-custom-${count}`;
  return free;
}

const builtIn = new Set([
  "openai",
  "ollama",
  "lmstudio",
  "amazon-bedrock",
  "amazon-bedrock-runtime",
]);

/** The environment variables that the providers of a configuration name. */
export function variablesIn(config: Table): string[] {
  return providersOf(config)
    .flatMap(([, table]) => [
      textOf(table["env_key"]) ?? "",
      ...textsOf(table["env_http_headers"]).values(),
    ])
    .filter(isVariable);
}

/** A date is the text it was, as for Codex. */
function textOf(value: unknown): string | undefined {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Its type has been checked before. */
function countOf(value: unknown): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function textsOf(table: unknown): Map<string, string> {
  const entries = Object.entries(isTable(table) ? table : {});
  return new Map(entries.map(([name, value]) => [name, textOf(value) ?? ""]));
}
