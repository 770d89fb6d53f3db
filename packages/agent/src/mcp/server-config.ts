import type { ResultPolicy, CallPolicy, ToolGroup } from "../tool.ts";

/** An MCP server: a program, with `command`, or a streamable HTTP server, with `url`. */
export interface McpServerConfig {
  /** Prefix of the names of its tools. */
  name: string;
  command?: string;
  args?: readonly string[];
  /** Environment variables of the program, in addition to PATH, HOME and the like. Other variables are not inherited. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** Address of a streamable HTTP server. */
  url?: string;
  headers?: Readonly<Record<string, string>>;
  /** Timeout of a call, in milliseconds; default 60,000. */
  timeoutMs?: number;
  /** Timeout of connecting and listing the tools, in milliseconds; default 30,000. */
  startTimeoutMs?: number;
  /** Approval policy for all tools. Default: `ask_once`, but `auto` for tools annotated as read-only or not destructive. */
  approval?: CallPolicy | { call?: CallPolicy; result?: ResultPolicy };
  /** False: the tools receive placeholders instead of the private values of a chat, like the model. */
  unmask?: false;
  /** Names of the tools to use, without the prefix. Default: all. */
  tools?: readonly string[];
  /** Further values to redact in all messages, in addition to secrets in `env`, `headers` and `url`. */
  secrets?: readonly string[];
  onWarning?: (message: string) => void;
  /** Closes the group if aborted before the server has started. */
  signal?: AbortSignal;
}

export interface McpToolGroup extends ToolGroup {
  /** How long the server has been unreachable, in milliseconds; undefined if it is reachable. */
  readonly unreachableForMs: number | undefined;
  close(): Promise<void>;
}
