import type { ClientConfig } from "./config.ts";
import { decodeSection, expectTable } from "./decode-section.ts";
import type { DecodeContext, TomlTable } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import type { Secret } from "./secret.ts";

export interface ClientSettings {
  /** `tokens` of `[server]`. Each token is a client with default settings. */
  readonly tokens: readonly Secret[];
  /** The undecoded `[clients]` table. */
  readonly table: unknown;
  /** True if other machines can reach the gateway: then short tokens are rejected. */
  readonly isReachableFromOutside: boolean;
}

/** Decodes `[clients.*]` and the tokens of `[server]`. `hasTokens`: true if there are any tokens, valid or not. */
export function decodeClients(
  { tokens, table, isReachableFromOutside }: ClientSettings,
  context: DecodeContext,
): { readonly clients: readonly ClientConfig[]; readonly hasTokens: boolean } {
  const tables = expectTable(table, ["clients"], context.problems);
  const clients = [...createTokenClients(tokens, context), ...decodeClientTables(tables, context)];
  checkTokens(clients, isReachableFromOutside, context);
  return {
    clients: clients.map(({ client }) => client),
    hasTokens: tokens.length > 0 || Object.keys(tables).length > 0,
  };
}

interface LocatedClient {
  readonly client: ClientConfig;
  readonly location: KeyPath;
}

function createTokenClients(tokens: readonly Secret[], context: DecodeContext): LocatedClient[] {
  return tokens.flatMap((secret, index) => {
    const location = ["server", "tokens", index];
    const token = validateToken(secret, location, context);
    if (token === undefined) return [];
    const name = `token ${index + 1}`;
    return [{ location, client: { name, token, toolCalls: "deltas", reasoning: "summary" } }];
  });
}

function decodeClientTables(table: TomlTable, context: DecodeContext): LocatedClient[] {
  return Object.entries(table).flatMap(([name, values]) => {
    const path = ["clients", name];
    const nameError = findNameError(name);
    if (nameError !== undefined) context.problems.error(path, nameError);
    const decoded = decodeSection("clients.*", values, path, context);
    const location = [...path, "token"];
    const token = decoded.token && validateToken(decoded.token, location, context);
    if (token === undefined) return [];
    const { tool_calls: toolCalls, reasoning } = decoded;
    return [{ location, client: { name, token, toolCalls, reasoning } }];
  });
}

/**
 * Returns why the name is invalid. Names are keys of stored data, so they must differ from "", which means no client, and
 * from the name of the gateway's own agents, which contains a control character.
 */
function findNameError(name: string): string | undefined {
  if (/^token \d+$/.test(name))
    return "reserved client name: token 1, token 2 and so on are the clients of [server] tokens; choose another name";
  return name.trim() === "" || /\p{Cc}/u.test(name)
    ? "invalid client name; it must not be empty or contain control characters"
    : undefined;
}

/** Returns the token if it is valid. An unset token is an error, not a warning: without it anybody could use the gateway. */
function validateToken(
  { value, variable }: Secret,
  location: KeyPath,
  { problems }: DecodeContext,
): string | undefined {
  if (value === undefined)
    problems.error(
      location,
      `the environment variable ${variable ?? ""} is not set; set it, or remove the token`,
    );
  else if (/\s/.test(value))
    problems.error(location, "must not contain whitespace; choose another token");
  else return value;
  return undefined;
}

function checkTokens(
  clients: readonly LocatedClient[],
  isReachableFromOutside: boolean,
  { problems }: DecodeContext,
): void {
  const owners = new Map<string, string>();
  for (const { client, location } of clients) {
    const owner = owners.get(client.token);
    if (owner !== undefined)
      problems.error(location, `is also the token of ${owner}; give every client its own token`);
    else owners.set(client.token, client.name);
    if (isReachableFromOutside && client.token.length < minTokenLength)
      problems.error(
        location,
        `must have at least ${minTokenLength} characters, because other machines can reach the gateway; create one with: openssl rand -hex 32`,
      );
  }
}

const minTokenLength = 16;
