import { isPrivateHost } from "./host-addresses.ts";
import { resolveConfigPath, type ConfigFileContext } from "./referenced-files.ts";
import type { McpConfig, McpTransport } from "./config.ts";
import { decodeSection, expectTable } from "./decode-section.ts";
import { isTomlTable, type DecodeContext, type TomlTable } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import type { Secret } from "./secret.ts";
import type { DecodedSection } from "./setting-definitions.ts";
import { builtInToolGroups, pickPolicies } from "./tools.ts";
import { formatVariableNotSet, resolveHeaders } from "./upstreams.ts";

/** MCP servers by name. A server with errors, which are already reported, is undefined. */
export type DecodedMcpServers = ReadonlyMap<string, McpConfig | undefined>;

/** Decodes `[mcp.*]`: MCP servers. */
export function decodeMcpServers(
  table: unknown,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): DecodedMcpServers {
  const tables = expectTable(table, ["mcp"], context.problems);
  return new Map(
    Object.entries(tables).map(([name, values]) => [
      name,
      decodeMcpServer(name, values, fileContext, context),
    ]),
  );
}

function decodeMcpServer(
  name: string,
  table: unknown,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): McpConfig | undefined {
  const path = ["mcp", name];
  checkServerName(name, path, context);
  const values = decodeSection("mcp.*", table, path, context);
  if (values.tools?.length === 0)
    context.problems.error(
      [...path, "tools"],
      "must not be empty; name a tool, or remove the setting to use all tools",
    );
  const transport = isTomlTable(table)
    ? decodeTransport(values, table, path, fileContext, context)
    : undefined;
  if (transport === undefined) return undefined;
  return {
    name,
    transport,
    timeoutMs: values.timeout_seconds * 1000,
    tools: values.tools && [...new Set(values.tools)],
    ...pickPolicies(values),
    secrets: collectSecrets(values),
  };
}

/** The name becomes a prefix of tool names, which providers limit to 64 of these characters. */
function checkServerName(name: string, path: KeyPath, { problems }: DecodeContext): void {
  if (!/^[A-Za-z][\w-]{0,31}$/.test(name))
    problems.error(
      path,
      "invalid MCP server name; start with a letter and use only letters, digits, - and _, at most 32 characters",
    );
  else if (builtInToolGroups.some((group) => group === name))
    problems.error(path, "is the name of a built-in tool group; choose another name");
}

function decodeTransport(
  values: DecodedSection<"mcp.*">,
  table: TomlTable,
  path: KeyPath,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): McpTransport | undefined {
  const { problems } = context;
  const hasCommand = table["command"] !== undefined;
  if (hasCommand === (table["url"] !== undefined)) {
    problems.error(
      hasCommand ? [...path, "url"] : path,
      hasCommand
        ? "cannot be combined with command; remove one of them"
        : 'missing command or url; write command = "…" for a program, or url = "https://…"',
    );
    return undefined;
  }
  const incompatibleSettings = hasCommand ? ["headers"] : ["args", "env", "cwd"];
  for (const setting of incompatibleSettings)
    if (table[setting] !== undefined)
      problems.error(
        [...path, setting],
        `cannot be combined with ${hasCommand ? "command" : "url"}; remove it`,
      );
  return hasCommand
    ? decodeCommandTransport(values, path, fileContext, context)
    : decodeUrlTransport(values, path, context);
}

function decodeCommandTransport(
  { command, args, env, cwd }: DecodedSection<"mcp.*">,
  path: KeyPath,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): McpTransport | undefined {
  const variables = resolveVariables(env, [...path, "env"], context);
  if (command === undefined) return undefined;
  if (args.length === 0 && /^[^\s/\\]+\s/.test(command))
    context.problems.warn(
      [...path, "command"],
      'must be only the program; move its arguments to args = ["…"]',
    );
  return {
    kind: "command",
    // A name without slashes is looked up on the PATH when the program is started.
    command: /[/\\]/.test(command) ? resolveConfigPath(fileContext, command) : command,
    args,
    env: variables,
    cwd: cwd === undefined ? undefined : resolveConfigPath(fileContext, cwd),
  };
}

function resolveVariables(
  variables: Readonly<Record<string, Secret>>,
  path: KeyPath,
  { problems }: DecodeContext,
): Record<string, string> {
  const usable: [string, string][] = [];
  for (const [name, { value, variable }] of Object.entries(variables)) {
    const location = [...path, name];
    if (!/^[A-Za-z_]\w*$/.test(name))
      problems.error(location, "invalid variable name; use letters, digits and _");
    else if (value === undefined)
      problems.warn(location, `${formatVariableNotSet(variable)}; the program starts without it`);
    else usable.push([name, value]);
  }
  return Object.fromEntries(usable);
}

function decodeUrlTransport(
  values: DecodedSection<"mcp.*">,
  path: KeyPath,
  context: DecodeContext,
): McpTransport | undefined {
  const { problems } = context;
  const headers = resolveHeaders(values.headers, undefined, [...path, "headers"], context);
  if (values.url === undefined) return undefined;
  const location = [...path, "url"];
  const error = findUrlError(values.url);
  if (error !== undefined) {
    problems.error(location, error);
    return undefined;
  }
  const url = new URL(values.url.trim());
  const exposedPart = Object.keys(values.headers).length > 0 ? "headers" : url.search && "query";
  if (exposedPart && url.protocol === "http:" && !isPrivateHost(url.hostname))
    problems.warn(location, `sends its ${exposedPart} unencrypted over the network; use https://`);
  return { kind: "url", url: url.href, headers };
}

/** Never quotes the URL, which may contain a password. */
function findUrlError(text: string): string | undefined {
  const url = URL.parse(text.trim());
  if (url === null) return "must be a URL such as https://HOST/PATH";
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return "must start with https://, or with http:// for a local server";
  if (url.username !== "" || url.password !== "")
    return 'must not contain a user name or password; set headers = { authorization = "env:NAME" } instead';
  return undefined;
}

function collectSecrets({ env, headers }: DecodedSection<"mcp.*">): string[] {
  return [...Object.values(env), ...Object.values(headers)].flatMap(({ value, variable }) =>
    value === undefined || variable === undefined ? [] : [value],
  );
}
