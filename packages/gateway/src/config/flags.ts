import { isIP } from "node:net";
import { bare, isLoopback } from "./addresses.ts";
import type { UpstreamConfig } from "./config.ts";
import type { Reading } from "./decode-value.ts";
import { didYouMean } from "@deltawire/tasks";
import { Problems } from "./problems.ts";
import type { Overrides } from "./read.ts";
import { isVariableName, secretOf, type Environment, type Secret } from "./secret.ts";
import {
  knownProfile,
  plainUpstream,
  usableUrl,
  warnOfOpenKey,
  warnOfUnsetKey,
} from "./upstream.ts";

/** The flags of the command line that configure, as they were typed. */
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

export interface ReadFlags {
  readonly overrides: Overrides;
  readonly warnings: readonly string[];
}

/** What the command line says over the file. Throws a ConfigError with all that is wrong in it. */
export function readFlags(flags: ConfigFlags, env: Environment): ReadFlags {
  const problems = new Problems("command line", "");
  const reading = { env, problems };
  const { host } = flags;
  const port = flags.port === undefined ? undefined : portOf(flags.port, reading);
  const upstream = upstreamOf(flags, reading);
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

function portOf(text: string, { problems }: Reading): number | undefined {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  problems.error("--port", "is no port; write a number from 0 to 65535");
  return undefined;
}

function upstreamOf(flags: ConfigFlags, reading: Reading): UpstreamConfig | undefined {
  const { problems } = reading;
  if (flags.upstream === undefined) {
    for (const [flag, value] of [
      ["--api-key-env", flags.apiKeyEnv],
      ["--speaks", flags.speaks],
      ["--profile", flags.profile],
    ] as const)
      if (value !== undefined)
        problems.error(flag, "says something of an upstream; give --upstream URL too");
    return undefined;
  }
  const baseUrl = usableUrl(flags.upstream, "--upstream", reading);
  const speaks = speaksOf(flags.speaks ?? "chat", reading);
  const profile = knownProfile(flags.profile ?? "generic", "--profile", reading);
  const key = keyOf(flags.apiKeyEnv, reading);
  if (baseUrl === undefined || speaks === undefined) return undefined;
  const name = nameOf(new URL(baseUrl).hostname);
  warnOfUnsetKey(name, key, "--api-key-env", reading);
  warnOfOpenKey(baseUrl, key, "--upstream", reading);
  const { value: apiKey, variable: apiKeyVariable } = key;
  return plainUpstream({ name, baseUrl, speaks, profile, apiKey, apiKeyVariable });
}

function speaksOf(word: string, { problems }: Reading): "chat" | "responses" | undefined {
  if (word === "chat" || word === "responses") return word;
  problems.error(
    "--speaks",
    `is no wire; write chat or responses${didYouMean(word, ["chat", "responses"]).replace(" ", ": ")}`,
  );
  return undefined;
}

/** The value is not repeated: somebody may have typed the key itself. */
function keyOf(variable: string | undefined, { env, problems }: Reading): Secret {
  if (variable === undefined) return { value: undefined, variable: undefined };
  if (isVariableName(variable)) return secretOf(variable, env);
  problems.error("--api-key-env", "is no name of a variable; write the name, not the key itself");
  return { value: undefined, variable: undefined };
}

/** `api.deepseek.com` is `deepseek`, what runs here is `local`. */
function nameOf(hostname: string): string {
  const host = bare(hostname);
  if (isLoopback(host)) return "local";
  if (isIP(host) !== 0) return host.replaceAll(":", "-");
  const labels = host.split(".");
  const endings = labels.length > 2 && secondLevel.has(labels.at(-2) ?? "") ? 2 : 1;
  const name = labels.at(-1 - endings) ?? host;
  return name === "demo" ? "upstream" : name;
}

/** As in `co.uk`. */
const secondLevel: ReadonlySet<string> = new Set(["co", "com", "net", "org", "ac", "gov", "edu"]);
