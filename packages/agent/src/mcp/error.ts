export type McpErrorCode =
  | "mcp_unreachable" // it cannot be started, or nobody answers
  | "mcp_ended" // it went away in the middle of a call, which may have been done or not
  | "mcp_refused" // it has no such tool, or the arguments were no good
  | "mcp_tool_failed" // the tool says so itself
  | "mcp_closed"; // the group was closed

/** What is wrong with a server of tools, in words for the model and for the log. */
export class McpError extends Error {
  readonly code: McpErrorCode;

  constructor(code: McpErrorCode, message: string) {
    super(message);
    this.name = "McpError";
    this.code = code;
  }
}
