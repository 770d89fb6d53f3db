import {
  genericProfile,
  findMessagesFlags,
  findProviderProfile,
  providerProfileNames,
  withProfileFlags,
  type MessagesFlags,
  type UpstreamProfile,
} from "@deltawire/wire";
import { isPrivateHost } from "./host-addresses.ts";
import { parseBaseUrl } from "./base-url.ts";
import type { ApiName, UpstreamConfig } from "./config.ts";
import { decodeSection, decodeTable, expectTable } from "./decode-section.ts";
import type { DecodeContext } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { didYouMean } from "@deltawire/tasks";
import type { SettingLocation } from "./config-problems.ts";
import { toMessagesFlags } from "./messages-flag-settings.ts";
import { toProfileFlags } from "./profile-flags.ts";
import { isHeaderName, isHeaderValue, type Secret } from "./secret.ts";
import { getSectionSettings, type DecodedSection } from "./setting-definitions.ts";

/** Upstreams by name. An upstream with errors, which are already reported, is undefined. */
export type DecodedUpstreams = ReadonlyMap<string, UpstreamConfig | undefined>;

/** Decodes `[upstreams.*]`. */
export function decodeUpstreams(table: unknown, context: DecodeContext): DecodedUpstreams {
  const tables = expectTable(table, ["upstreams"], context.problems);
  return new Map(
    Object.entries(tables).map(([name, values]) => [name, decodeUpstream(name, values, context)]),
  );
}

function decodeUpstream(
  name: string,
  table: unknown,
  context: DecodeContext,
): UpstreamConfig | undefined {
  const path = ["upstreams", name];
  checkUpstreamName(name, path, context);
  const values = decodeSection("upstreams.*", table, path, context);
  const headers = decodeHeaders(values, path, context);
  const profile = decodeProfile(values, path, context);
  const messagesFlags = decodeMessagesFlags(values, path, context);
  const models = decodeModels(values.models, [...path, "models"], context);
  const baseUrl = values.base_url && decodeBaseUrl(values.base_url, [...path, "base_url"], context);
  const key = values.api_key ?? noSecret;
  warnIfKeyUnset(name, key, [...path, "api_key"], context);
  if (baseUrl === undefined || values.speaks === undefined) return undefined;
  warnIfKeyUnencrypted(baseUrl, key, [...path, "base_url"], context);
  return {
    name,
    baseUrl,
    ...parseApi(values.speaks),
    profile,
    messagesFlags: { ...findMessagesFlags(profile.name), ...messagesFlags },
    apiKey: key.value,
    apiKeyVariable: key.variable,
    apiKeyHeader: resolveKeyHeader(values.api_key_header, values.speaks, profile),
    headers,
    query: values.query,
    models,
    connectTimeoutMs: values.connect_timeout_seconds * 1000,
    idleTimeoutMs: values.idle_timeout_seconds * 1000,
    retries: values.retries,
  };
}

/** The header that carries the key. Anthropic reads it only in `x-api-key`, servers compatible with its API also as a token. */
function resolveKeyHeader(
  configured: string | undefined,
  speaks: ApiName | "auto",
  { name }: UpstreamProfile,
): string {
  if (configured !== undefined) return configured.toLowerCase();
  const mayUseMessages = speaks === "messages" || speaks === "auto";
  return mayUseMessages && name === "anthropic" ? "x-api-key" : defaultKeyHeader;
}

const defaultKeyHeader = "authorization";

/** `auto` starts with Chat, which almost every server has. */
export function parseApi(speaks: ApiName | "auto"): Pick<UpstreamConfig, "speaks" | "detectsApi"> {
  return speaks === "auto" ? { speaks: "chat", detectsApi: true } : { speaks, detectsApi: false };
}

/** Fills in missing values with the defaults of `setting-definitions.ts`. */
export function createUpstreamConfig(
  values: Pick<UpstreamConfig, "name" | "baseUrl" | "speaks"> & Partial<UpstreamConfig>,
): UpstreamConfig {
  const { profile = genericProfile, speaks } = values;
  return {
    detectsApi: false,
    profile,
    messagesFlags: findMessagesFlags(profile.name),
    apiKey: undefined,
    apiKeyVariable: undefined,
    apiKeyHeader: resolveKeyHeader(undefined, speaks, profile),
    headers: {},
    query: {},
    models: undefined,
    connectTimeoutMs: getDefaultNumber("connect_timeout_seconds") * 1000,
    idleTimeoutMs: getDefaultNumber("idle_timeout_seconds") * 1000,
    retries: getDefaultNumber("retries"),
    ...values,
  };
}

function getDefaultNumber(setting: string): number {
  return Number(getSectionSettings("upstreams.*").get(setting)?.default);
}

/** Reports an invalid name. Slashes are not allowed, because `upstream/model` is split at the first one. */
export function checkUpstreamName(
  name: string,
  location: KeyPath,
  { problems }: DecodeContext,
): void {
  if (!/^[\w.-]+$/.test(name))
    problems.error(location, "invalid upstream name; use only letters, digits, -, _ and .");
}

export function decodeBaseUrl(
  text: string,
  location: SettingLocation,
  { problems }: DecodeContext,
): string | undefined {
  const result = parseBaseUrl(text);
  if ("url" in result) return result.url;
  problems.error(location, result.error);
  return undefined;
}

export function warnIfKeyUnset(
  name: string,
  { value, variable }: Secret,
  location: SettingLocation,
  { problems }: DecodeContext,
): void {
  if (value === undefined && variable !== undefined)
    problems.warn(
      location,
      `${formatVariableNotSet(variable)}; requests to ${name} fail until it is set`,
    );
}

export function formatVariableNotSet(variable: string | undefined): string {
  return `the environment variable ${variable ?? ""} is not set`;
}

export function warnIfKeyUnencrypted(
  baseUrl: string,
  key: Secret,
  location: SettingLocation,
  { problems }: DecodeContext,
): void {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== "http:" || isPrivateHost(hostname)) return;
  if (key.value !== undefined || key.variable !== undefined)
    problems.warn(location, "sends the key unencrypted over the network; use https://");
}

export function resolveProfile(
  name: string,
  location: SettingLocation,
  { problems }: DecodeContext,
): UpstreamProfile {
  const profile = findProviderProfile(name);
  if (profile !== undefined) return profile;
  const suggestion = didYouMean(name, providerProfileNames);
  problems.error(
    location,
    `unknown profile${suggestion === "" ? `; known profiles: ${providerProfileNames.join(", ")}` : suggestion}`,
  );
  return genericProfile;
}

function decodeProfile(
  values: DecodedSection<"upstreams.*">,
  path: KeyPath,
  context: DecodeContext,
): UpstreamProfile {
  const profile = resolveProfile(values.profile, [...path, "profile"], context);
  const location = [...path, "flags"];
  return withProfileFlags(
    profile,
    toProfileFlags(decodeTable("upstreams.*.flags", values.flags, location, context)),
  );
}

function decodeMessagesFlags(
  values: DecodedSection<"upstreams.*">,
  path: KeyPath,
  context: DecodeContext,
): MessagesFlags {
  const location = [...path, "messages_flags"];
  return toMessagesFlags(
    decodeTable("upstreams.*.messages_flags", values.messages_flags, location, context),
  );
}

function decodeModels(
  models: readonly string[] | undefined,
  location: KeyPath,
  { problems }: DecodeContext,
): readonly string[] | undefined {
  if (models?.length === 0)
    problems.error(
      location,
      "must not be empty; name a model, or remove the setting to fetch the list from the upstream",
    );
  return models && [...new Set(models)];
}

function decodeHeaders(
  values: DecodedSection<"upstreams.*">,
  path: KeyPath,
  context: DecodeContext,
): Record<string, string> {
  const keyHeader = (values.api_key_header ?? defaultKeyHeader).toLowerCase();
  if (!isHeaderName(keyHeader) || reservedHeaders.has(keyHeader))
    context.problems.error(
      [...path, "api_key_header"],
      "invalid header for a key; use a name such as api-key",
    );
  const keyHeaderName = values.api_key === undefined ? undefined : keyHeader;
  return resolveHeaders(values.headers, keyHeaderName, [...path, "headers"], context);
}

/** Returns the headers with lower-case names. `keyHeaderName` is the one that carries the key. */
export function resolveHeaders(
  headers: Readonly<Record<string, Secret>>,
  keyHeaderName: string | undefined,
  path: KeyPath,
  { problems }: DecodeContext,
): Record<string, string> {
  const resolvedHeaders: [string, string][] = [];
  for (const [name, { value, variable }] of Object.entries(headers)) {
    const location = [...path, name];
    const header = name.toLowerCase();
    if (!isHeaderName(name))
      problems.error(location, "invalid header name; use letters, digits and -");
    else if (reservedHeaders.has(header))
      problems.error(location, "is set by the gateway; remove it");
    else if (header === keyHeaderName)
      problems.error(location, "already carries api_key; remove one of them");
    else if (value === undefined)
      problems.warn(location, `${formatVariableNotSet(variable)}; the header is not sent`);
    else if (!isHeaderValue(value))
      problems.error(location, "contains a character that is not allowed in a header");
    else resolvedHeaders.push([header, value]);
  }
  return Object.fromEntries(resolvedHeaders);
}

/** Headers that the HTTP client sets for a connection or a body; a second value would break the request. */
const reservedHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const noSecret: Secret = { value: undefined, variable: undefined };
