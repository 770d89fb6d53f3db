import { isPrivate } from "./addresses.ts";
import { pathFrom, type Beside } from "./beside.ts";
import type { McpConfig, McpTransport } from "./config.ts";
import { decodeSection, tableOf } from "./decode.ts";
import { isTable, type Reading, type Table } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import type { Secret } from "./secret.ts";
import type { Decoded } from "./settings.ts";
import { builtInGroups, policiesOf } from "./tools.ts";
import { notSet, usableHeaders } from "./upstream.ts";

/** Servers by name; undefined is one that is there, but cannot be used, which has been said. */
export type ReadMcpServers = ReadonlyMap<string, McpConfig | undefined>;

/** `[mcp.*]`: servers of tools. */
export function readMcpServers(table: unknown, beside: Beside, reading: Reading): ReadMcpServers {
  const named = tableOf(table, ["mcp"], reading.problems);
  return new Map(
    Object.entries(named).map(([name, given]) => [name, readServer(name, given, beside, reading)]),
  );
}

function readServer(
  name: string,
  table: unknown,
  beside: Beside,
  reading: Reading,
): McpConfig | undefined {
  const path = ["mcp", name];
  checkName(name, path, reading);
  const given = decodeSection("mcp.*", table, path, reading);
  if (given.tools?.length === 0)
    reading.problems.error(
      [...path, "tools"],
      "is empty; name a tool, or leave it out and all are used",
    );
  const transport = isTable(table) ? transportOf(given, table, path, beside, reading) : undefined;
  if (transport === undefined) return undefined;
  return {
    name,
    transport,
    timeoutMs: given.timeout_seconds * 1000,
    tools: given.tools && [...new Set(given.tools)],
    ...policiesOf(given),
    secrets: secretsOf(given),
  };
}

/** It stands before the names of tools, which providers limit to 64 characters of these. */
function checkName(name: string, path: KeyPath, { problems }: Reading): void {
  if (!/^[A-Za-z][\w-]{0,31}$/.test(name))
    problems.error(
      path,
      "is no name for a server of tools; begin with a letter and use letters, digits, - and _ only, 32 at most",
    );
  else if (builtInGroups.some((group) => group === name))
    problems.error(path, "has the name of a built-in tool group; take another one");
}

function transportOf(
  given: Decoded<"mcp.*">,
  table: Table,
  path: KeyPath,
  beside: Beside,
  reading: Reading,
): McpTransport | undefined {
  const { problems } = reading;
  const hasCommand = table["command"] !== undefined;
  if (hasCommand === (table["url"] !== undefined)) {
    problems.error(
      hasCommand ? [...path, "url"] : path,
      hasCommand
        ? "is there beside command; keep one of the two"
        : 'has no server; write command = "…" for a program, or url = "https://…"',
    );
    return undefined;
  }
  const others = hasCommand ? ["headers"] : ["args", "env", "cwd"];
  for (const setting of others)
    if (table[setting] !== undefined)
      problems.error(
        [...path, setting],
        `does not go with ${hasCommand ? "command" : "url"}; take it out`,
      );
  return hasCommand ? commandOf(given, path, beside, reading) : addressOf(given, path, reading);
}

function commandOf(
  { command, args, env, cwd }: Decoded<"mcp.*">,
  path: KeyPath,
  beside: Beside,
  reading: Reading,
): McpTransport | undefined {
  const variables = usableVariables(env, [...path, "env"], reading);
  if (command === undefined) return undefined;
  if (args.length === 0 && /^[^\s/\\]+\s/.test(command))
    reading.problems.warn(
      [...path, "command"],
      'has a space in it, and only the program stands here; write what follows it as args = ["…"]',
    );
  return {
    kind: "command",
    // A bare name is looked for in PATH.
    command: /[/\\]/.test(command) ? pathFrom(beside, command) : command,
    args,
    env: variables,
    cwd: cwd === undefined ? undefined : pathFrom(beside, cwd),
  };
}

function usableVariables(
  variables: Readonly<Record<string, Secret>>,
  path: KeyPath,
  { problems }: Reading,
): Record<string, string> {
  const usable: [string, string][] = [];
  for (const [name, { value, variable }] of Object.entries(variables)) {
    const place = [...path, name];
    if (!/^[A-Za-z_]\w*$/.test(name))
      problems.error(place, "is no name of a variable; use letters, digits and _");
    else if (value === undefined)
      problems.warn(place, `${notSet(variable)}; the program starts without it`);
    else usable.push([name, value]);
  }
  return Object.fromEntries(usable);
}

function addressOf(
  given: Decoded<"mcp.*">,
  path: KeyPath,
  reading: Reading,
): McpTransport | undefined {
  const { problems } = reading;
  const headers = usableHeaders(given.headers, undefined, [...path, "headers"], reading);
  if (given.url === undefined) return undefined;
  const place = [...path, "url"];
  const fault = addressFault(given.url);
  if (fault !== undefined) {
    problems.error(place, fault);
    return undefined;
  }
  const url = new URL(given.url.trim());
  const open = Object.keys(given.headers).length > 0 ? "headers" : url.search && "query";
  if (open && url.protocol === "http:" && !isPrivate(url.hostname))
    problems.warn(place, `sends its ${open} over the network unencrypted; write https://`);
  return { kind: "url", url: url.href, headers };
}

/** The address is not repeated: it may hold a password. */
function addressFault(text: string): string | undefined {
  const url = URL.parse(text.trim());
  if (url === null) return "is no address; write https://HOST/PATH";
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return "is no web address; write https://HOST/PATH, or http:// for a local server";
  if (url.username !== "" || url.password !== "")
    return 'has a user or password in it; take it out and set headers = { authorization = "env:NAME" }';
  return undefined;
}

function secretsOf({ env, headers }: Decoded<"mcp.*">): string[] {
  return [...Object.values(env), ...Object.values(headers)].flatMap(({ value, variable }) =>
    value === undefined || variable === undefined ? [] : [value],
  );
}
