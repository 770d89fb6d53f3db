import { genericProfile, findProviderProfile, WireError } from "@deltawire/wire";
import { validateCodexConfig, type ModelProvider } from "@deltawire/wire/codex";
import type { UpstreamConfig } from "./config.ts";
import { isTomlTable, type DecodeContext, type TomlTable } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { isHeaderValue, isVariableName, resolveSecret, type Secret } from "./secret.ts";
import { getSectionSettings } from "./setting-definitions.ts";
import { builtInToolGroups } from "./tools.ts";
import {
  checkUpstreamName,
  createUpstreamConfig,
  resolveHeaders,
  decodeBaseUrl,
  warnIfKeyUnencrypted,
  warnIfKeyUnset,
  type DecodedUpstreams,
} from "./upstreams.ts";

/** True if the file is, or contains, a Codex configuration, which has many settings that the gateway does not know. */
export function isCodexConfig(document: TomlTable): boolean {
  return document["model_providers"] !== undefined || document["model_provider"] !== undefined;
}

/** Removes the settings of Codex from `[agents]`, `[tools]` and `[skills]`, tables that both programs have. */
export function withoutCodexSettings(document: TomlTable): TomlTable {
  if (!isCodexConfig(document)) return document;
  const { agents, tools, skills, ...otherTables } = document;
  const agentSettings = getSectionSettings("agents.*");
  const skillSettings = getSectionSettings("skills.*");
  // Codex's agent roles have a description too, so it does not identify an agent of the gateway.
  const isGatewayAgent = (table: TomlTable) =>
    Object.keys(table).some((name) => name !== "description" && agentSettings.has(name));
  const isGatewaySkill = (table: TomlTable) =>
    Object.keys(table).some((name) => skillSettings.has(name));
  return {
    ...otherTables,
    agents: filterTables(agents, (_, table) => isGatewayAgent(table)),
    tools: filterTables(tools, (name) => builtInToolGroups.some((group) => group === name)),
    skills: filterTables(skills, (_, table) => isGatewaySkill(table)),
  };
}

function filterTables(
  tables: unknown,
  isIncluded: (name: string, table: TomlTable) => boolean,
): TomlTable {
  const entries = Object.entries(isTomlTable(tables) ? tables : {});
  return Object.fromEntries(
    entries.filter(([name, table]) => isTomlTable(table) && isIncluded(name, table)),
  );
}

/** Decodes `[model_providers.*]` of Codex as upstreams that speak `responses`. Validates like Codex, with its messages. */
export function decodeCodexProviders(
  document: TomlTable,
  file: string,
  context: DecodeContext,
): DecodedUpstreams {
  const upstreams = new Map<string, UpstreamConfig | undefined>();
  const tables = document["model_providers"] ?? {};
  let hasErrors = false;
  for (const [id, table] of Object.entries(isTomlTable(tables) ? tables : {})) {
    const path = ["model_providers", id];
    // Providers are validated one at a time, because Codex reports only the first error.
    const result = validateAsCodex({ model_providers: { [id]: table } }, file);
    const provider = result instanceof WireError ? undefined : result.model_providers[id];
    if (result instanceof WireError) {
      hasErrors = true;
      reportCodexError(result, path, table, context);
    }
    const key = provider && readApiKey(provider, path, context);
    if (provider && key && isForCodexOnly(id, provider, key))
      context.problems.warn(path, "skipped: only Codex itself can sign in to this provider");
    else upstreams.set(id, provider && key && buildUpstream(id, provider, key, path, context));
  }
  const documentResult = hasErrors ? undefined : validateAsCodex(document, file);
  if (documentResult instanceof WireError)
    reportCodexError(documentResult, [documentResult.param ?? "model_providers"], tables, context);
  else
    for (const warning of documentResult?.warnings ?? [])
      context.problems.warn(["model_providers"], warning);
  return upstreams;
}

function validateAsCodex(
  config: unknown,
  file: string,
): ReturnType<typeof validateCodexConfig> | WireError {
  try {
    return validateCodexConfig(config, file);
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

function reportCodexError(
  error: WireError,
  path: KeyPath,
  table: unknown,
  { problems }: DecodeContext,
): void {
  const { cause } = error;
  const field = cause instanceof WireError ? cause.param?.split(".", 1) : undefined;
  const isChat = isTomlTable(table) && table["wire_api"] === "chat" && field?.[0] === "wire_api";
  const advice = isChat
    ? `Codex no longer supports Chat; write [upstreams.${path[1]}] with speaks = "chat" instead`
    : "Codex rejects this setting";
  // Codex quotes unexpected strings, which may be keys.
  const message = error.message.replaceAll(/string "(?:[^"\\]|\\.)*"/g, "string");
  problems.error([...path, ...(field ?? [])], `${advice}. Codex's error:\n${message}`);
}

function buildUpstream(
  id: string,
  provider: ModelProvider,
  key: Secret,
  path: KeyPath,
  context: DecodeContext,
): UpstreamConfig | undefined {
  checkUpstreamName(id, path, context);
  const address = readString(provider["base_url"]);
  const location = [...path, "base_url"];
  const baseUrl = address === undefined ? openaiBaseUrl : decodeBaseUrl(address, location, context);
  warnIfKeyUnset(id, key, [...path, "env_key"], context);
  const literal = toLiteralSecrets(provider["http_headers"]);
  const headersPath = [...path, "env_http_headers"];
  const fromVariables = resolveVariableSecrets(provider["env_http_headers"], headersPath, context);
  const headers = {
    ...resolveHeaders(literal, undefined, [...path, "http_headers"], context),
    ...resolveHeaders(fromVariables, undefined, headersPath, context),
  };
  if (baseUrl === undefined) return undefined;
  warnIfKeyUnencrypted(baseUrl, key, location, context);
  const { request_max_retries: retries, stream_idle_timeout_ms: idle } = provider;
  return createUpstreamConfig({
    name: id,
    baseUrl,
    speaks: "responses",
    profile:
      address === undefined ? (findProviderProfile("openai") ?? genericProfile) : genericProfile,
    apiKey: key.value,
    apiKeyVariable: key.variable,
    headers,
    query: readStringTable(provider["query_params"]),
    ...(retries === undefined ? {} : { retries: Math.min(Number(retries), maxRetries) }),
    ...(idle === undefined ? {} : { idleTimeoutMs: Math.max(Number(idle), minIdleMs) }),
  });
}

/** Codex's default for providers without base_url. */
const openaiBaseUrl = "https://api.openai.com/v1";
/* The limits of `retries` and `idle_timeout_seconds` of `[upstreams.*]`. */
const maxRetries = 10;
const minIdleMs = 1000;

/** As in Codex, `env_key` takes precedence over the literal token. */
function readApiKey(provider: ModelProvider, path: KeyPath, context: DecodeContext): Secret {
  const variable = readString(provider["env_key"]);
  const fromVariable = variable && resolveVariable(variable, [...path, "env_key"], context);
  const literal = readString(provider["experimental_bearer_token"])?.trim();
  if (literal !== undefined && !isHeaderValue(literal))
    context.problems.error(
      [...path, "experimental_bearer_token"],
      "contains a character that is not allowed in a header; copy it again, without line breaks",
    );
  if (fromVariable && (fromVariable.value !== undefined || !literal)) return fromVariable;
  return { value: literal === "" ? undefined : literal, variable: undefined };
}

/** Reports an invalid name without quoting it: it may be the key itself. */
function resolveVariable(
  variable: string,
  location: KeyPath,
  { env, problems }: DecodeContext,
): Secret | undefined {
  if (isVariableName(variable)) return resolveSecret(variable, env);
  problems.error(location, "must be the name of an environment variable, not the key itself");
  return undefined;
}

/** True if requests need a login, a command or AWS signatures instead of a configured key. */
function isForCodexOnly(id: string, provider: ModelProvider, key: Secret): boolean {
  const signsIn = ["auth", "aws", "gateway_oauth"].some((field) => provider[field] !== undefined);
  const hasKey = key.value !== undefined || key.variable !== undefined;
  return signsIn || id.startsWith("amazon-bedrock") || (provider.requires_openai_auth && !hasKey);
}

function toLiteralSecrets(table: unknown): Record<string, Secret> {
  return mapValues(readStringTable(table), (value) => ({ value, variable: undefined }));
}

function resolveVariableSecrets(
  table: unknown,
  path: KeyPath,
  context: DecodeContext,
): Record<string, Secret> {
  const fromVariables = Object.entries(readStringTable(table)).flatMap(([name, variable]) => {
    const secret = resolveVariable(variable, [...path, name], context);
    return secret === undefined ? [] : [[name, secret] as const];
  });
  return Object.fromEntries(fromVariables);
}

function readStringTable(table: unknown): Record<string, string> {
  return mapValues(isTomlTable(table) ? table : {}, (value) => readString(value) ?? "");
}

function mapValues<In, Out>(
  table: Readonly<Record<string, In>>,
  map: (value: In) => Out,
): Record<string, Out> {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, map(value)]));
}

/** Like Codex, reads a date as a string. */
function readString(value: unknown): string | undefined {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" ? value : undefined;
}
