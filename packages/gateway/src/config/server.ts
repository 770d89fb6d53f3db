import { isIP } from "node:net";
import { normalizeHost, isLoopback } from "./host-addresses.ts";
import { decodeClients } from "./clients.ts";
import type { ServerConfig } from "./config.ts";
import { decodeSection } from "./decode-section.ts";
import type { DecodeContext, TomlTable } from "./decode-value.ts";
import type { SettingLocation } from "./config-problems.ts";
import type { Secret } from "./secret.ts";

/** Settings of the command line, which take precedence over the file. */
export interface ServerOverrides {
  readonly host?: string;
  readonly port?: number;
}

/** Decodes `[server]`, and the clients with a token. The default of `demo` depends on the upstreams, so it stays undefined here. */
export function decodeServer(
  document: TomlTable,
  overrides: ServerOverrides,
  context: DecodeContext,
): Omit<ServerConfig, "demo"> & { readonly demo: boolean | undefined } {
  const { problems } = context;
  const values = decodeSection("server", document["server"], ["server"], context);
  const hostLocation = overrides.host === undefined ? (["server", "host"] as const) : "--host";
  const host = checkHost(overrides.host ?? values.host, hostLocation, context);
  const isReachableFromOutside = !isLoopback(host);
  const { clients, hasTokens } = decodeClients(
    { tokens: values.tokens, table: document["clients"], isReachableFromOutside },
    context,
  );
  if (isReachableFromOutside && !hasTokens)
    problems.error(
      hostLocation,
      'other machines could use your API keys without a token; set tokens = ["env:DELTAWIRE_TOKEN"] under [server] (without a file, set DELTAWIRE_TOKEN), or listen on 127.0.0.1',
    );
  return {
    host,
    port: overrides.port ?? values.port,
    clients,
    allowedHosts: values.allowed_hosts.flatMap((name, index) => {
      if (/^(?:[\w-]+\.)*[\w-]+\.?$|^\[[\da-fA-F:]+\]$/.test(name)) return [name.toLowerCase()];
      problems.error(
        ["server", "allowed_hosts", index],
        "must be a host name, without scheme, port or *",
      );
      return [];
    }),
    corsOrigins: values.cors_origins.flatMap((origin, index) => {
      if (isOrigin(origin)) return [origin.toLowerCase()];
      problems.error(
        ["server", "cors_origins", index],
        "must be an origin such as https://HOST or https://HOST:PORT, without a path or *",
      );
      return [];
    }),
    maxBodyBytes: Math.floor(values.max_body_mb * 1024 * 1024),
    maxJsonValues: values.max_json_values,
    drainSeconds: values.drain_seconds,
    logLevel: values.log_level,
    sealingKey: checkSealingKey(values.sealing_key, context),
    demo: values.demo,
  };
}

function checkHost(host: string, location: SettingLocation, { problems }: DecodeContext): string {
  const name = normalizeHost(host.trim());
  if (isIP(name) !== 0 || /^[\w-]+(?:\.[\w-]+)*$/.test(name)) return name;
  problems.error(location, "must be 127.0.0.1, 0.0.0.0 or a host name, without scheme or port");
  return "127.0.0.1";
}

/** An unset key is an error: a process that used another key would drop the reasoning of the others. */
function checkSealingKey(
  secret: Secret | undefined,
  { problems }: DecodeContext,
): string | undefined {
  const location = ["server", "sealing_key"];
  if (secret === undefined) return undefined;
  const { value, variable = "" } = secret;
  if (value === undefined)
    problems.error(
      location,
      `the environment variable ${variable} is not set; set it, or remove the setting`,
    );
  else if (value.length < minSealingKeyLength)
    problems.error(
      location,
      `must have at least ${minSealingKeyLength} characters; create one with: openssl rand -hex 32`,
    );
  return value;
}

const minSealingKeyLength = 32;

function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*]+$/i.test(text) || !URL.canParse(text)) return false;
  // For other schemes, such as those of extensions, URL.origin is "null".
  const { origin } = new URL(text);
  return origin === "null" || origin === text.toLowerCase();
}
