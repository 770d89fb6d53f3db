import type { McpConfig } from "../config/config.ts";
import type { EnvironmentVariables } from "../config/secret.ts";
import { findProgram } from "../find-program.ts";

export interface McpStatus {
  readonly name: string;
  /** Why the server cannot be started. Undefined if no problem is known. */
  readonly problem?: string;
}

/** Checks whether the programs of MCP servers exist. Does not start them. */
export function checkMcpServers(
  servers: Iterable<McpConfig>,
  env: EnvironmentVariables,
): McpStatus[] {
  return [...servers].map(({ name, transport }) => {
    if (transport.kind !== "command") return { name };
    const { command, cwd } = transport;
    const program = findProgram(command, {
      env: { ...env, ...transport.env },
      platform: process.platform,
      cwd,
    });
    if (program !== undefined) return { name };
    const location = /[\\/]/.test(command) ? "" : " on the PATH";
    const problem = `MCP server "${name}": program ${JSON.stringify(command)} not found${location}; install it, or correct command in [mcp.${name}]. Its tools are unavailable until then`;
    return { name, problem };
  });
}
