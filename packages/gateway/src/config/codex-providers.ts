import { genericProfile, profileNamed, WireError } from "@deltawire/wire";
import { checkCodexConfig, type ModelProvider } from "@deltawire/wire/codex";
import type { UpstreamConfig } from "./config.ts";
import { isTable, type Reading, type Table } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { isHeaderValue, isVariableName, secretOf, type Secret } from "./secret.ts";
import { settingsOf } from "./settings.ts";
import { builtInGroups } from "./tools.ts";
import {
  checkUpstreamName,
  plainUpstream,
  usableHeaders,
  usableUrl,
  warnOfOpenKey,
  warnOfUnsetKey,
  type ReadUpstreams,
} from "./upstream.ts";

/** Whether a file is, or holds, a configuration of Codex, with many settings that are none of ours. */
export function isCodexConfig(document: Table): boolean {
  return document["model_providers"] !== undefined || document["model_provider"] !== undefined;
}

/** Codex has tables `[agents]`, `[tools]` and `[skills]` too, and what is in them by its rules is none of ours. */
export function withoutCodexSettings(document: Table): Table {
  if (!isCodexConfig(document)) return document;
  const { agents, tools, skills, ...others } = document;
  const agentSettings = settingsOf("agents.*");
  const skillSettings = settingsOf("skills.*");
  // Its own roles have a description, too.
  const isOurAgent = (table: Table) =>
    Object.keys(table).some((name) => name !== "description" && agentSettings.has(name));
  const isOurSkill = (table: Table) => Object.keys(table).some((name) => skillSettings.has(name));
  return {
    ...others,
    agents: filtered(agents, (_, table) => isOurAgent(table)),
    tools: filtered(tools, (name) => builtInGroups.some((group) => group === name)),
    skills: filtered(skills, (_, table) => isOurSkill(table)),
  };
}

function filtered(tables: unknown, isOurs: (name: string, table: Table) => boolean): Table {
  const entries = Object.entries(isTable(tables) ? tables : {});
  return Object.fromEntries(
    entries.filter(([name, table]) => isTable(table) && isOurs(name, table)),
  );
}

/** `[model_providers.*]` of Codex as upstreams that speak `responses`, by Codex's own rules and in its words. */
export function readCodexProviders(document: Table, file: string, reading: Reading): ReadUpstreams {
  const upstreams = new Map<string, UpstreamConfig | undefined>();
  const tables = document["model_providers"] ?? {};
  let isRefused = false;
  for (const [id, table] of Object.entries(isTable(tables) ? tables : {})) {
    const path = ["model_providers", id];
    // Each alone, so that everything that Codex refuses is named, and not only the first.
    const checked = codexSays({ model_providers: { [id]: table } }, file);
    const provider = checked instanceof WireError ? undefined : checked.model_providers[id];
    if (checked instanceof WireError) {
      isRefused = true;
      refuse(checked, path, table, reading);
    }
    const key = provider && keyOf(provider, path, reading);
    if (provider && key && isForCodexOnly(id, provider, key))
      reading.problems.warn(path, "signs in as only Codex can, and is left out here");
    else upstreams.set(id, provider && key && upstreamOf(id, provider, key, path, reading));
  }
  const whole = isRefused ? undefined : codexSays(document, file);
  if (whole instanceof WireError)
    refuse(whole, [whole.param ?? "model_providers"], tables, reading);
  for (const text of whole instanceof WireError ? [] : (whole?.warnings ?? []))
    reading.problems.warn(["model_providers"], text);
  return upstreams;
}

function codexSays(config: unknown, file: string): ReturnType<typeof checkCodexConfig> | WireError {
  try {
    return checkCodexConfig(config, file);
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

function refuse(fault: WireError, path: KeyPath, table: unknown, { problems }: Reading): void {
  const { cause } = fault;
  const field = cause instanceof WireError ? cause.param?.split(".", 1) : undefined;
  const isChat = isTable(table) && table["wire_api"] === "chat" && field?.[0] === "wire_api";
  const advice = isChat
    ? `Codex no longer speaks Chat; write [upstreams.${path[1]}] with speaks = "chat" instead`
    : "Codex refuses this; write it as Codex wants it";
  // Codex repeats a text that stands where none belongs, and it may be a key.
  const words = fault.message.replaceAll(/string "(?:[^"\\]|\\.)*"/g, "string");
  problems.error([...path, ...(field ?? [])], `${advice}. It says:\n${words}`);
}

function upstreamOf(
  id: string,
  provider: ModelProvider,
  key: Secret,
  path: KeyPath,
  reading: Reading,
): UpstreamConfig | undefined {
  checkUpstreamName(id, path, reading);
  const address = textOf(provider["base_url"]);
  const place = [...path, "base_url"];
  const baseUrl = address === undefined ? openai : usableUrl(address, place, reading);
  warnOfUnsetKey(id, key, [...path, "env_key"], reading);
  const written = literals(provider["http_headers"]);
  const fromOutside = [...path, "env_http_headers"];
  const named = variables(provider["env_http_headers"], fromOutside, reading);
  const headers = {
    ...usableHeaders(written, undefined, [...path, "http_headers"], reading),
    ...usableHeaders(named, undefined, fromOutside, reading),
  };
  if (baseUrl === undefined) return undefined;
  warnOfOpenKey(baseUrl, key, place, reading);
  const { request_max_retries: retries, stream_idle_timeout_ms: idle } = provider;
  return plainUpstream({
    name: id,
    baseUrl,
    speaks: "responses",
    profile: address === undefined ? (profileNamed("openai") ?? genericProfile) : genericProfile,
    apiKey: key.value,
    apiKeyVariable: key.variable,
    headers,
    query: texts(provider["query_params"]),
    ...(retries === undefined ? {} : { retries: Math.min(Number(retries), mostRetries) }),
    ...(idle === undefined ? {} : { idleTimeoutMs: Math.max(Number(idle), leastIdleMs) }),
  });
}

/** Where Codex goes without a base_url. */
const openai = "https://api.openai.com/v1";
const mostRetries = 10;
const leastIdleMs = 1000;

/** As in Codex, the variable comes before the text. */
function keyOf(provider: ModelProvider, path: KeyPath, reading: Reading): Secret {
  const variable = textOf(provider["env_key"]);
  const named = variable && variableOf(variable, [...path, "env_key"], reading);
  const written = textOf(provider["experimental_bearer_token"])?.trim();
  if (written !== undefined && !isHeaderValue(written))
    reading.problems.error(
      [...path, "experimental_bearer_token"],
      "has a character that no header can carry; copy it again, without line ends",
    );
  if (named && (named.value !== undefined || !written)) return named;
  return { value: written === "" ? undefined : written, variable: undefined };
}

/** What is no name is not repeated: it may be the key itself. */
function variableOf(
  variable: string,
  place: KeyPath,
  { env, problems }: Reading,
): Secret | undefined {
  if (isVariableName(variable)) return secretOf(variable, env);
  problems.error(place, "is no name of a variable; write the name, not the key itself");
  return undefined;
}

/** A login, a command or AWS's signatures: keys that a configuration does not hold. */
function isForCodexOnly(id: string, provider: ModelProvider, key: Secret): boolean {
  const signsIn = ["auth", "aws", "gateway_oauth"].some((field) => provider[field] !== undefined);
  const hasKey = key.value !== undefined || key.variable !== undefined;
  return signsIn || id.startsWith("amazon-bedrock") || (provider.requires_openai_auth && !hasKey);
}

function literals(table: unknown): Record<string, Secret> {
  return mapped(texts(table), (value) => ({ value, variable: undefined }));
}

function variables(table: unknown, path: KeyPath, reading: Reading): Record<string, Secret> {
  const named = Object.entries(texts(table)).flatMap(([name, variable]) => {
    const secret = variableOf(variable, [...path, name], reading);
    return secret === undefined ? [] : [[name, secret] as const];
  });
  return Object.fromEntries(named);
}

function texts(table: unknown): Record<string, string> {
  return mapped(isTable(table) ? table : {}, (value) => textOf(value) ?? "");
}

function mapped<In, Out>(
  table: Readonly<Record<string, In>>,
  map: (value: In) => Out,
): Record<string, Out> {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, map(value)]));
}

/** A date is the text it was, as for Codex. */
function textOf(value: unknown): string | undefined {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "string" ? value : undefined;
}
