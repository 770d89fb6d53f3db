import { isIP } from "node:net";
import { bare, isLoopback } from "./addresses.ts";
import type { ClientConfig, ServerConfig } from "./config.ts";
import { decodeSection, tableOf } from "./decode.ts";
import type { Reading, Table } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import type { Place } from "./problems.ts";
import type { Secret } from "./secret.ts";

/** What the command line says instead of the file. */
export interface ServerOverrides {
  readonly host?: string;
  readonly port?: number;
}

/** `[server]` and `[clients.*]`; whether the demo is served is known only with the upstreams. */
export function readServer(
  document: Table,
  overrides: ServerOverrides,
  reading: Reading,
): Omit<ServerConfig, "demo"> & { readonly demo: boolean | undefined } {
  const { problems } = reading;
  const given = decodeSection("server", document["server"], ["server"], reading);
  const hostPlace = overrides.host === undefined ? (["server", "host"] as const) : "--host";
  const host = checkHost(overrides.host ?? given.host, hostPlace, reading);
  const named = tableOf(document["clients"], ["clients"], problems);
  const clients = [...clientsOfTokens(given.tokens, reading), ...readClients(named, reading)];
  const isWide = !isLoopback(host);
  checkTokens(clients, isWide, reading);
  if (isWide && given.tokens.length === 0 && Object.keys(named).length === 0)
    problems.error(
      hostPlace,
      'listens beyond this machine, where anybody could use your keys; set tokens = ["env:DELTAWIRE_TOKEN"] under [server] (without a file, setting DELTAWIRE_TOKEN is enough), or listen on 127.0.0.1',
    );
  return {
    host,
    port: overrides.port ?? given.port,
    clients: clients.map(({ client }) => client),
    allowedHosts: given.allowed_hosts.flatMap((name, index) => {
      if (/^(?:[\w-]+\.)*[\w-]+\.?$|^\[[\da-fA-F:]+\]$/.test(name)) return [name.toLowerCase()];
      problems.error(
        ["server", "allowed_hosts", index],
        "is no host name; write the name alone, without scheme, port or *",
      );
      return [];
    }),
    corsOrigins: given.cors_origins.flatMap((origin, index) => {
      if (isOrigin(origin)) return [origin.toLowerCase()];
      problems.error(
        ["server", "cors_origins", index],
        "is no origin; write https://HOST or https://HOST:PORT, without a path or *",
      );
      return [];
    }),
    maxBodyBytes: Math.floor(given.max_body_mb * 1024 * 1024),
    maxJsonValues: given.max_json_values,
    drainSeconds: given.drain_seconds,
    logLevel: given.log_level,
    demo: given.demo,
  };
}

function checkHost(host: string, place: Place, { problems }: Reading): string {
  const name = bare(host.trim());
  if (isIP(name) !== 0 || /^[\w-]+(?:\.[\w-]+)*$/.test(name)) return name;
  problems.error(
    place,
    "is no address to listen on; write 127.0.0.1, 0.0.0.0 or a host name, without scheme or port",
  );
  return "127.0.0.1";
}

function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*]+$/i.test(text) || !URL.canParse(text)) return false;
  // Of a scheme that browsers do not know, such as an extension's, URL says "null".
  const { origin } = new URL(text);
  return origin === "null" || origin === text.toLowerCase();
}

interface PlacedClient {
  readonly client: ClientConfig;
  readonly place: KeyPath;
}

function clientsOfTokens(tokens: readonly Secret[], reading: Reading): PlacedClient[] {
  return tokens.flatMap((secret, index) => {
    const place = ["server", "tokens", index];
    const token = tokenOf(secret, place, reading);
    if (token === undefined) return [];
    const name = `token ${index + 1}`;
    return [{ place, client: { name, token, toolCalls: "deltas", reasoning: "summary" } }];
  });
}

function readClients(table: Table, reading: Reading): PlacedClient[] {
  return Object.entries(table).flatMap(([name, given]) => {
    const path = ["clients", name];
    if (isReservedName(name))
      reading.problems.error(
        path,
        "cannot be the name of a client: the tokens of [server] are named token 1, token 2 and so on, and data is separated by name; choose another name without control characters",
      );
    const decoded = decodeSection("clients.*", given, path, reading);
    const place = [...path, "token"];
    const token = decoded.token && tokenOf(decoded.token, place, reading);
    if (token === undefined) return [];
    const { tool_calls: toolCalls, reasoning } = decoded;
    return [{ place, client: { name, token, toolCalls, reasoning } }];
  });
}

/** True for names that could stand for another client, for no client, or for the gateway's own agents. */
function isReservedName(name: string): boolean {
  return name.trim() === "" || /^token \d+$/.test(name) || /\p{Cc}/u.test(name);
}

/** A token that is not set would leave the door open, so it is an error and no warning. */
function tokenOf(
  { value, variable }: Secret,
  place: KeyPath,
  { problems }: Reading,
): string | undefined {
  if (value === undefined)
    problems.error(
      place,
      `the environment variable ${variable ?? ""} is not set; set it, or take the token out`,
    );
  else if (/\s/.test(value))
    problems.error(place, "has a space in it; a bearer token has none, so choose another one");
  else return value;
  return undefined;
}

function checkTokens(
  clients: readonly PlacedClient[],
  isWide: boolean,
  { problems }: Reading,
): void {
  const owners = new Map<string, string>();
  for (const { client, place } of clients) {
    const owner = owners.get(client.token);
    if (owner !== undefined)
      problems.error(place, `is the token of ${owner} too; give every client its own`);
    else owners.set(client.token, client.name);
    if (isWide && client.token.length < shortestToken)
      problems.error(
        place,
        `has fewer than ${shortestToken} characters, and the gateway listens beyond this machine; take a longer one, such as the output of: openssl rand -hex 32`,
      );
  }
}

const shortestToken = 16;
