import type { EnvironmentVariables } from "../config/secret.ts";
import { getSectionSettings } from "../config/setting-definitions.ts";
import type { CodexProvider } from "./codex-provider.ts";
import { detectProfile } from "./detect-profile.ts";
import { isSecretName, isSecretValue, isSafeVariableName } from "./detect-secrets.ts";

/** An upstream of deltawire.toml, created from a Codex provider. Secrets are only referenced by the names of environment variables. */
export interface MigratedUpstream {
  readonly baseUrl: string;
  readonly profile: string | undefined;
  /** The variable that holds the key. */
  readonly keyVariable: string | undefined;
  /** The `env_key_instructions` of Codex for that variable. */
  readonly keyInstructions: string | undefined;
  readonly headers: ReadonlyMap<string, string>;
  readonly query: ReadonlyMap<string, string>;
  /** Undefined: the gateway's default. */
  readonly idleTimeoutSeconds: number | undefined;
  /** Undefined: the gateway's default. */
  readonly retries: number | undefined;
  /** Required variables that are not set. */
  readonly unsetVariables: readonly string[];
  readonly notes: readonly string[];
}

export interface NamedUpstream extends MigratedUpstream {
  readonly name: string;
  /** The models in the Codex configuration; if empty, the list is fetched from the upstream. */
  readonly models: readonly string[];
}

/** The migration of one provider. */
export interface ProviderMigration {
  readonly id: string;
  /** The id after the migration. */
  readonly newId: string;
  /** Undefined for a provider that already pointed to this gateway. */
  readonly upstreamName: string | undefined;
  /** Undefined if deltawire.toml already has the upstream, or if the provider already pointed to this gateway. */
  readonly newUpstream: NamedUpstream | undefined;
}

export function migrateProvider(
  id: string,
  baseUrl: string,
  provider: CodexProvider,
  variables: VariableAllocator,
): MigratedUpstream {
  const notes: string[] = [];
  const unsetVariables = new Set<string>();
  const replaceSecret = (secret: string, secretLabel: string, suffix: string) => {
    const variable = variables.allocate(id, suffix);
    if (variables.hasValue(variable, secret)) return variable;
    unsetVariables.add(variable);
    notes.push(
      `Set the environment variable ${variable} to ${secretLabel} of provider ${id}, which was not copied.`,
    );
    return variable;
  };
  const requireVariable = (variable: string) => {
    if (!variables.isSet(variable)) unsetVariables.add(variable);
    return variable;
  };

  // Codex prefers env_key, then the token, then the header.
  let keyVariable: string | undefined;
  if (provider.env_key !== undefined)
    keyVariable = isSafeVariableName(provider.env_key)
      ? requireVariable(provider.env_key)
      : replaceSecret(provider.env_key, "the secret in env_key", "API_KEY");
  if (provider.experimental_bearer_token !== undefined)
    keyVariable ??= replaceSecret(
      provider.experimental_bearer_token,
      "the token in experimental_bearer_token",
      "API_KEY",
    );
  const bearer = findBearerToken(provider.http_headers);
  if (bearer !== undefined)
    keyVariable ??= replaceSecret(bearer, 'the token after "Bearer" in http_headers', "API_KEY");
  if (provider.requires_openai_auth && keyVariable === undefined) {
    keyVariable = requireVariable("OPENAI_API_KEY");
    notes.push(
      `Provider ${id} used the Codex login. The gateway cannot use it and requires an API key in OPENAI_API_KEY instead.`,
    );
  }

  const headers = new Map<string, string>();
  for (const [name, value] of provider.http_headers) {
    const carriesKey = keyVariable !== undefined && name.toLowerCase() === "authorization";
    if (carriesKey || value.trim() === "") continue;
    if (isSecretName(name) || isSecretValue(value))
      headers.set(name, `env:${replaceSecret(value, `the secret in the header ${name}`, name)}`);
    else headers.set(name, value);
  }
  for (const [name, variable] of provider.env_http_headers) {
    if (keyVariable !== undefined && name.toLowerCase() === "authorization") continue;
    const secretVariable = isSafeVariableName(variable)
      ? requireVariable(variable)
      : replaceSecret(variable, `the secret in env_http_headers for ${name}`, name);
    headers.set(name, `env:${secretVariable}`);
  }
  const idleMs = provider.stream_idle_timeout_ms;
  const clampSetting = (value: number | undefined, { setting, field }: MigratedSetting) => {
    if (value === undefined) return undefined;
    const { min = value, max = value } = getSectionSettings("upstreams.*").get(setting) ?? {};
    const clampedValue = Math.min(Math.max(value, min), max);
    if (clampedValue !== value)
      notes.push(
        `${field} of provider ${id} is outside the range of ${setting} (${min} to ${max}), so it was changed to ${clampedValue}.`,
      );
    return clampedValue;
  };
  return {
    baseUrl,
    profile: detectProfile(new URL(baseUrl)),
    keyVariable,
    keyInstructions: provider.env_key_instructions,
    headers,
    query: provider.query_params,
    idleTimeoutSeconds: clampSetting(idleMs === undefined ? undefined : idleMs / 1000, {
      setting: "idle_timeout_seconds",
      field: "stream_idle_timeout_ms",
    }),
    retries: clampSetting(provider.request_max_retries, {
      setting: "retries",
      field: "request_max_retries",
    }),
    unsetVariables: [...unsetVariables],
    notes,
  };
}

interface MigratedSetting {
  readonly setting: string;
  /** The name of the setting in Codex. */
  readonly field: string;
}

function findBearerToken(headers: ReadonlyMap<string, string>): string | undefined {
  const header = [...headers].find(([name]) => name.toLowerCase() === "authorization")?.[1];
  return /^\s*bearer\s+(\S+)\s*$/i.exec(header ?? "")?.[1];
}

/** Chooses environment variables for secrets in the Codex configuration. */
export class VariableAllocator {
  readonly #usedNames: Set<string>;
  readonly #env: EnvironmentVariables;

  /** `usedNames`: the variables that Codex providers already use. */
  constructor(usedNames: Iterable<string>, env: EnvironmentVariables) {
    this.#usedNames = new Set(usedNames);
    this.#env = env;
  }

  /** Returns an unused name such as `ZAI_API_KEY` for the secret of a provider. */
  allocate(id: string, suffix: string): string {
    const baseName = `${id}_${suffix}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
    const name = /^[A-Z]/.test(baseName) ? baseName : `UPSTREAM_${baseName.replace(/^_+/, "")}`;
    let candidate = name;
    for (let count = 2; this.#usedNames.has(candidate); count += 1) candidate = `${name}_${count}`;
    this.#usedNames.add(candidate);
    return candidate;
  }

  isSet(variable: string): boolean {
    return (this.#env[variable] ?? "") !== "";
  }

  hasValue(variable: string, secret: string): boolean {
    return this.#env[variable] === secret;
  }
}
