import type { ResultPolicy, CallPolicy, ToolGroup } from "../tool.ts";

/** A server of tools: a program, with `command`, or an address, with `url`. */
export interface McpServer {
  /** Stands before the names of its tools. */
  name: string;
  command?: string;
  args?: readonly string[];
  /** What the program gets beside the usual variables; nothing else of our own environment does. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** Of streamable HTTP. */
  url?: string;
  headers?: Readonly<Record<string, string>>;
  /** Of a call; a minute unless it says otherwise. */
  timeoutMs?: number;
  /** Of a start; half a minute unless it says otherwise. */
  startTimeoutMs?: number;
  /** For all of its tools; without it those that say that they only read or add are not asked about. */
  approval?: CallPolicy | { call?: CallPolicy; result?: ResultPolicy };
  /** False: private values of a chat stay hidden from its tools, as they are from the model. */
  unmask?: false;
  /** Only these, by the server's own names; all unless it says otherwise. */
  tools?: readonly string[];
  /** What must not be in any message, beside what `env` and `headers` tell by their names. */
  secrets?: readonly string[];
  onWarning?: (message: string) => void;
  /** Nobody waits for its start any more: it is closed. */
  signal?: AbortSignal;
}

export interface McpToolGroup extends ToolGroup {
  /** How long it has had no tools because its server cannot be reached; undefined: it was reached. */
  readonly missingForMs: number | undefined;
  close(): Promise<void>;
}
