import {
  genericProfile,
  profileNamed,
  profileNames,
  withFlags,
  type Profile,
} from "@deltawire/wire";
import { isPrivate } from "./addresses.ts";
import { checkBaseUrl } from "./base-url.ts";
import type { UpstreamConfig } from "./config.ts";
import { decodeSection, decodeTable, tableOf } from "./decode.ts";
import type { Reading } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { didYouMean } from "@deltawire/tasks";
import type { Place } from "./problems.ts";
import { flagsOf } from "./profile-flags.ts";
import { isHeaderName, isHeaderValue, type Secret } from "./secret.ts";
import { settingsOf, type Decoded } from "./settings.ts";

/** Upstreams by name; undefined is one that is there, but cannot be used, which has been said. */
export type ReadUpstreams = ReadonlyMap<string, UpstreamConfig | undefined>;

/** `[upstreams.*]`. */
export function readUpstreams(table: unknown, reading: Reading): ReadUpstreams {
  const named = tableOf(table, ["upstreams"], reading.problems);
  return new Map(
    Object.entries(named).map(([name, given]) => [name, readUpstream(name, given, reading)]),
  );
}

function readUpstream(name: string, table: unknown, reading: Reading): UpstreamConfig | undefined {
  const path = ["upstreams", name];
  checkUpstreamName(name, path, reading);
  const given = decodeSection("upstreams.*", table, path, reading);
  const headers = headersOf(given, path, reading);
  const profile = profileOf(given, path, reading);
  const models = modelsOf(given.models, [...path, "models"], reading);
  const baseUrl = given.base_url && usableUrl(given.base_url, [...path, "base_url"], reading);
  const key = given.api_key ?? noSecret;
  warnOfUnsetKey(name, key, [...path, "api_key"], reading);
  if (baseUrl === undefined || given.speaks === undefined) return undefined;
  warnOfOpenKey(baseUrl, key, [...path, "base_url"], reading);
  return {
    name,
    baseUrl,
    speaks: given.speaks,
    profile,
    apiKey: key.value,
    apiKeyVariable: key.variable,
    apiKeyHeader: given.api_key_header.toLowerCase(),
    headers,
    query: given.query,
    models,
    connectTimeoutMs: given.connect_timeout_seconds * 1000,
    idleTimeoutMs: given.idle_timeout_seconds * 1000,
    retries: given.retries,
  };
}

/** An upstream of which only the main things are said; the rest is as the table of settings has it. */
export function plainUpstream(
  given: Pick<UpstreamConfig, "name" | "baseUrl" | "speaks"> & Partial<UpstreamConfig>,
): UpstreamConfig {
  return {
    profile: genericProfile,
    apiKey: undefined,
    apiKeyVariable: undefined,
    apiKeyHeader: "authorization",
    headers: {},
    query: {},
    models: undefined,
    connectTimeoutMs: usualNumber("connect_timeout_seconds") * 1000,
    idleTimeoutMs: usualNumber("idle_timeout_seconds") * 1000,
    retries: usualNumber("retries"),
    ...given,
  };
}

function usualNumber(setting: string): number {
  return Number(settingsOf("upstreams.*").get(setting)?.default);
}

/** A name stands before the slash of `upstream/model`. */
export function checkUpstreamName(name: string, place: KeyPath, { problems }: Reading): void {
  if (!/^[\w.-]+$/.test(name))
    problems.error(place, "is no name for an upstream; use letters, digits, - _ and . only");
}

export function usableUrl(text: string, place: Place, { problems }: Reading): string | undefined {
  const checked = checkBaseUrl(text);
  if ("url" in checked) return checked.url;
  problems.error(place, checked.fault);
  return undefined;
}

export function warnOfUnsetKey(
  name: string,
  { value, variable }: Secret,
  place: Place,
  { problems }: Reading,
): void {
  if (value === undefined && variable !== undefined)
    problems.warn(place, `${notSet(variable)}; requests to ${name} are refused until it is`);
}

export function notSet(variable: string | undefined): string {
  return `the environment variable ${variable ?? ""} is not set`;
}

export function warnOfOpenKey(
  baseUrl: string,
  key: Secret,
  place: Place,
  { problems }: Reading,
): void {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== "http:" || isPrivate(hostname)) return;
  if (key.value !== undefined || key.variable !== undefined)
    problems.warn(place, "sends the key over the network unencrypted; write https://");
}

export function knownProfile(name: string, place: Place, { problems }: Reading): Profile {
  const profile = profileNamed(name);
  if (profile !== undefined) return profile;
  const near = didYouMean(name, profileNames);
  problems.error(
    place,
    `is no known profile;${near === "" ? ` known are ${profileNames.join(", ")}` : near}`,
  );
  return genericProfile;
}

function profileOf(given: Decoded<"upstreams.*">, path: KeyPath, reading: Reading): Profile {
  const profile = knownProfile(given.profile, [...path, "profile"], reading);
  const place = [...path, "flags"];
  return withFlags(profile, flagsOf(decodeTable("upstreams.*.flags", given.flags, place, reading)));
}

function modelsOf(
  models: readonly string[] | undefined,
  place: KeyPath,
  { problems }: Reading,
): readonly string[] | undefined {
  if (models?.length === 0)
    problems.error(place, "is empty; name a model, or leave it out and the upstream is asked");
  return models && [...new Set(models)];
}

function headersOf(
  given: Decoded<"upstreams.*">,
  path: KeyPath,
  reading: Reading,
): Record<string, string> {
  const keyHeader = given.api_key_header.toLowerCase();
  if (!isHeaderName(keyHeader) || reservedHeaders.has(keyHeader))
    reading.problems.error(
      [...path, "api_key_header"],
      "is no header for a key; write api-key, for example",
    );
  const taken = given.api_key === undefined ? undefined : keyHeader;
  return usableHeaders(given.headers, taken, [...path, "headers"], reading);
}

/** Headers by their names in lower case; `taken` is the one that carries the key. */
export function usableHeaders(
  headers: Readonly<Record<string, Secret>>,
  taken: string | undefined,
  path: KeyPath,
  { problems }: Reading,
): Record<string, string> {
  const usable: [string, string][] = [];
  for (const [name, { value, variable }] of Object.entries(headers)) {
    const place = [...path, name];
    const header = name.toLowerCase();
    if (!isHeaderName(name))
      problems.error(place, "is no name of a header; use letters, digits and -");
    else if (reservedHeaders.has(header))
      problems.error(place, "is set by the gateway itself; take it out");
    else if (header === taken)
      problems.error(place, "is the header of the key; keep one of the two");
    else if (value === undefined)
      problems.warn(place, `${notSet(variable)}; the header is not sent`);
    else if (!isHeaderValue(value))
      problems.error(place, "has a character that no header can carry; write it anew");
    else usable.push([header, value]);
  }
  return Object.fromEntries(usable);
}

/** They belong to one connection or one body, and a second one breaks the request. */
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
