export type McpErrorCode =
  | "mcp_unreachable" // the server cannot be started, or does not answer
  | "mcp_ended" // the connection was lost during a call, which may or may not have run
  | "mcp_rejected" // the server rejected the call: unknown tool or invalid arguments
  | "mcp_tool_failed" // the tool returned an error
  | "mcp_closed"; // the group was closed

/** A failure of an MCP server or tool. The message is shown to the model and logged. */
export class McpError extends Error {
  readonly code: McpErrorCode;

  constructor(code: McpErrorCode, message: string) {
    super(message);
    this.name = "McpError";
    this.code = code;
  }
}
