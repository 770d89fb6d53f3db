import type { McpConfig } from "../config/config.ts";
import type { Environment } from "../config/secret.ts";
import { findProgram } from "../find-program.ts";

export interface McpStatus {
  readonly name: string;
  /** Why it cannot be started, as far as that is known before it is. */
  readonly problem?: string;
}

/** Whether the programs of MCP servers are there. No server is started for it. */
export function mcpStatus(servers: Iterable<McpConfig>, env: Environment): McpStatus[] {
  return [...servers].map(({ name, transport }) => {
    if (transport.kind !== "command") return { name };
    const { command, cwd } = transport;
    const found = findProgram(command, {
      env: { ...env, ...transport.env },
      platform: process.platform,
      cwd,
    });
    if (found !== undefined) return { name };
    const where = /[\\/]/.test(command) ? "" : " on the PATH";
    const problem = `MCP server "${name}": there is no program ${JSON.stringify(command)}${where}; install it, or correct command in [mcp.${name}]. Its tools are missing until then`;
    return { name, problem };
  });
}
