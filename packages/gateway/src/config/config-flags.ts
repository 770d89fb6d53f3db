import { isIP } from "node:net";
import { normalizeHost, isLoopback } from "./host-addresses.ts";
import type { UpstreamConfig } from "./config.ts";
import type { DecodeContext } from "./decode-value.ts";
import { didYouMean } from "@deltawire/tasks";
import { ConfigProblems } from "./config-problems.ts";
import type { ConfigOverrides } from "./parse-config.ts";
import { isVariableName, resolveSecret, type EnvironmentVariables, type Secret } from "./secret.ts";
import {
  resolveProfile,
  createUpstreamConfig,
  parseApi,
  decodeBaseUrl,
  warnIfKeyUnencrypted,
  warnIfKeyUnset,
} from "./upstreams.ts";

/** The unparsed command-line flags that change the configuration. */
export interface ConfigFlags {
  readonly config?: string | undefined;
  readonly upstream?: string | undefined;
  readonly apiKeyEnv?: string | undefined;
  readonly speaks?: string | undefined;
  readonly profile?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly data?: string | undefined;
}

export interface ParsedFlags {
  readonly overrides: ConfigOverrides;
  readonly warnings: readonly string[];
}

/** Parses the flags that override the file. Throws a ConfigError with all problems. */
export function parseConfigFlags(flags: ConfigFlags, env: EnvironmentVariables): ParsedFlags {
  const problems = new ConfigProblems("command line", "");
  const context = { env, problems };
  const { host } = flags;
  const port = flags.port === undefined ? undefined : parsePort(flags.port, context);
  const upstream = buildUpstream(flags, context);
  problems.throwIfAny();
  return {
    overrides: {
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
      ...(upstream === undefined ? {} : { upstreams: [upstream] }),
    },
    warnings: problems.warnings,
  };
}

function parsePort(text: string, { problems }: DecodeContext): number | undefined {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  problems.error("--port", `must be a port number from 0 to 65535, got ${JSON.stringify(text)}`);
  return undefined;
}

function buildUpstream(flags: ConfigFlags, context: DecodeContext): UpstreamConfig | undefined {
  const { problems } = context;
  if (flags.upstream === undefined) {
    for (const [flag, value] of [
      ["--api-key-env", flags.apiKeyEnv],
      ["--speaks", flags.speaks],
      ["--profile", flags.profile],
    ] as const)
      if (value !== undefined) problems.error(flag, "requires --upstream URL");
    return undefined;
  }
  const baseUrl = decodeBaseUrl(flags.upstream, "--upstream", context);
  const speaks = parseSpeaks(flags.speaks ?? "chat", context);
  const profile = resolveProfile(flags.profile ?? "generic", "--profile", context);
  const key = readApiKey(flags.apiKeyEnv, context);
  if (baseUrl === undefined || speaks === undefined) return undefined;
  const name = deriveUpstreamName(new URL(baseUrl).hostname);
  warnIfKeyUnset(name, key, "--api-key-env", context);
  warnIfKeyUnencrypted(baseUrl, key, "--upstream", context);
  const { value: apiKey, variable: apiKeyVariable } = key;
  const api = parseApi(speaks);
  return createUpstreamConfig({ name, baseUrl, ...api, profile, apiKey, apiKeyVariable });
}

const apiNames = ["chat", "responses", "messages", "auto"] as const;

function parseSpeaks(
  speaks: string,
  { problems }: DecodeContext,
): (typeof apiNames)[number] | undefined {
  const known = apiNames.find((name) => name === speaks);
  if (known === undefined)
    problems.error(
      "--speaks",
      `must be chat, responses, messages or auto${didYouMean(speaks, apiNames)}`,
    );
  return known;
}

/** Reports an invalid name without quoting it: it may be the key itself. */
function readApiKey(variable: string | undefined, { env, problems }: DecodeContext): Secret {
  if (variable === undefined) return { value: undefined, variable: undefined };
  if (isVariableName(variable)) return resolveSecret(variable, env);
  problems.error(
    "--api-key-env",
    "must be the name of an environment variable, not the key itself",
  );
  return { value: undefined, variable: undefined };
}

/** Returns `deepseek` for `api.deepseek.com`, and `local` for this machine. */
function deriveUpstreamName(hostname: string): string {
  const host = normalizeHost(hostname);
  if (isLoopback(host)) return "local";
  if (isIP(host) !== 0) return host.replaceAll(":", "-");
  const labels = host.split(".");
  const suffixLength = labels.length > 2 && secondLevelLabels.has(labels.at(-2) ?? "") ? 2 : 1;
  const name = labels.at(-1 - suffixLength) ?? host;
  return name === "demo" ? "upstream" : name;
}

/** Second-level labels that belong to the public suffix, as in `co.uk`. */
const secondLevelLabels: ReadonlySet<string> = new Set([
  "co",
  "com",
  "net",
  "org",
  "ac",
  "gov",
  "edu",
]);
