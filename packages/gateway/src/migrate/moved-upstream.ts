import type { Environment } from "../config/secret.ts";
import { settingsOf } from "../config/settings.ts";
import type { CodexProvider } from "./codex-provider.ts";
import { profileOfAddress } from "./known-hosts.ts";
import { isSecretName, isSecretValue, isVariable } from "./secret-words.ts";

/** An upstream of deltawire.toml, made of a provider of Codex. Secrets are there by the names of their variables only. */
export interface MovedUpstream {
  readonly baseUrl: string;
  readonly profile: string | undefined;
  /** The variable that holds the key. */
  readonly keyVariable: string | undefined;
  /** What Codex told its user about that variable. */
  readonly keyInstructions: string | undefined;
  readonly headers: ReadonlyMap<string, string>;
  readonly query: ReadonlyMap<string, string>;
  /** Undefined, as the next one: the gateway's default. */
  readonly idleTimeoutSeconds: number | undefined;
  readonly retries: number | undefined;
  /** Variables that have to be set for it and are not. */
  readonly unset: readonly string[];
  readonly notes: readonly string[];
}

export interface NamedUpstream extends MovedUpstream {
  readonly name: string;
  /** Those that the Codex configuration names; none: the upstream is asked. */
  readonly models: readonly string[];
}

/** A provider on its way. */
export interface Move {
  readonly id: string;
  /** Its id from now on. */
  readonly newId: string;
  /** The upstream's name; undefined for a provider that led to this gateway before. */
  readonly upstream: string | undefined;
  /** Undefined if deltawire.toml has it already. */
  readonly added: NamedUpstream | undefined;
}

export function movedUpstream(
  id: string,
  baseUrl: string,
  provider: CodexProvider,
  variables: Variables,
): MovedUpstream {
  const notes: string[] = [];
  const unset = new Set<string>();
  const hidden = (secret: string, where: string, suffix: string) => {
    const variable = variables.forSecret(id, suffix);
    if (variables.holds(variable, secret)) return variable;
    unset.add(variable);
    notes.push(
      `${variable} is new: set it to the secret that stood ${where} of ${id}, which is not copied.`,
    );
    return variable;
  };
  const named = (variable: string) => {
    if (!variables.isSet(variable)) unset.add(variable);
    return variable;
  };

  // Of several keys Codex sends that of env_key, else the token, else the header.
  let keyVariable: string | undefined;
  if (provider.env_key !== undefined)
    keyVariable = isVariable(provider.env_key)
      ? named(provider.env_key)
      : hidden(provider.env_key, "in env_key", "API_KEY");
  if (provider.experimental_bearer_token !== undefined)
    keyVariable ??= hidden(
      provider.experimental_bearer_token,
      "in experimental_bearer_token",
      "API_KEY",
    );
  const bearer = bearerIn(provider.http_headers);
  if (bearer !== undefined)
    keyVariable ??= hidden(bearer, 'behind "Bearer" in http_headers', "API_KEY");
  if (provider.requires_openai_auth && keyVariable === undefined) {
    keyVariable = named("OPENAI_API_KEY");
    notes.push(`The login of Codex, which ${id} used, stays with Codex; the gateway needs a key.`);
  }

  const headers = new Map<string, string>();
  for (const [name, value] of provider.http_headers) {
    const isOfKey = keyVariable !== undefined && name.toLowerCase() === "authorization";
    if (isOfKey || value.trim() === "") continue;
    if (isSecretName(name) || isSecretValue(value))
      headers.set(name, `env:${hidden(value, `in the header ${name}`, name)}`);
    else headers.set(name, value);
  }
  for (const [name, variable] of provider.env_http_headers) {
    if (keyVariable !== undefined && name.toLowerCase() === "authorization") continue;
    const holder = isVariable(variable)
      ? named(variable)
      : hidden(variable, `in env_http_headers for ${name}`, name);
    headers.set(name, `env:${holder}`);
  }
  const idleMs = provider.stream_idle_timeout_ms;
  const limited = (value: number | undefined, { setting, field }: CarriedSetting) => {
    if (value === undefined) return undefined;
    const { least = value, most = value } = settingsOf("upstreams.*").get(setting) ?? {};
    const nearest = Math.min(Math.max(value, least), most);
    if (nearest !== value)
      notes.push(
        `${field} of ${id} is outside of what ${setting} allows (${least} to ${most}): it becomes ${nearest}.`,
      );
    return nearest;
  };
  return {
    baseUrl,
    profile: profileOfAddress(new URL(baseUrl)),
    keyVariable,
    keyInstructions: provider.env_key_instructions,
    headers,
    query: provider.query_params,
    idleTimeoutSeconds: limited(idleMs === undefined ? undefined : idleMs / 1000, {
      setting: "idle_timeout_seconds",
      field: "stream_idle_timeout_ms",
    }),
    retries: limited(provider.request_max_retries, {
      setting: "retries",
      field: "request_max_retries",
    }),
    unset: [...unset],
    notes,
  };
}

interface CarriedSetting {
  readonly setting: string;
  /** What Codex calls it. */
  readonly field: string;
}

function bearerIn(headers: ReadonlyMap<string, string>): string | undefined {
  const header = [...headers].find(([name]) => name.toLowerCase() === "authorization")?.[1];
  return /^\s*bearer\s+(\S+)\s*$/i.exec(header ?? "")?.[1];
}

/** The names of environment variables: those in use, and new ones for secrets that stood in the file. */
export class Variables {
  readonly #taken: Set<string>;
  readonly #env: Environment;

  constructor(taken: Iterable<string>, env: Environment) {
    this.#taken = new Set(taken);
    this.#env = env;
  }

  forSecret(id: string, suffix: string): string {
    const words = `${id}_${suffix}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
    const name = /^[A-Z]/.test(words) ? words : `UPSTREAM_${words.replace(/^_+/, "")}`;
    let free = name;
    for (let count = 2; this.#taken.has(free); count += 1) free = `${name}_${count}`;
    this.#taken.add(free);
    return free;
  }

  isSet(variable: string): boolean {
    return (this.#env[variable] ?? "") !== "";
  }

  holds(variable: string, secret: string): boolean {
    return this.#env[variable] === secret;
  }
}
