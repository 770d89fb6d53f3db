import type { McpServer, McpToolGroup } from "./server.ts";

/**
 * The tools of an MCP server. One that cannot be reached is warned of and has no tools for now: it is asked again when
 * its tools are next looked at. Tools change when the server says that they do.
 */
export async function connectMcp(server: McpServer): Promise<McpToolGroup> {
  if ((server.command === undefined) === (server.url === undefined))
    throw new TypeError(`the MCP server "${server.name}" needs either a command or a url`);
  // Protocol and validator take a tenth of a second to load, and most runs have no such server.
  const { McpGroup } = await import("./group.ts");
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
