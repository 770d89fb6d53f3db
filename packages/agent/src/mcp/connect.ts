import type { McpServerConfig, McpToolGroup } from "./server-config.ts";

/**
 * Connects to an MCP server and returns its tools as a group. If the server cannot be reached, the group warns and has no
 * tools; reading `tools` connects again, at most every 10 seconds. The tools are updated when the server announces a change.
 */
export async function connectMcp(server: McpServerConfig): Promise<McpToolGroup> {
  if ((server.command === undefined) === (server.url === undefined))
    throw new TypeError(`MCP server "${server.name}" must have exactly one of command and url`);
  // Imported on demand: protocol and validator take 100 ms to load, and most runs have no MCP server.
  const { McpGroup } = await import("./mcp-group.ts");
  const group = new McpGroup(server);
  const { signal } = server;
  const close = (): void => void group.close();
  signal?.addEventListener("abort", close, { once: true });
  try {
    if (signal?.aborted === true) await group.close();
    await group.start();
  } finally {
    signal?.removeEventListener("abort", close);
  }
  return group;
}
