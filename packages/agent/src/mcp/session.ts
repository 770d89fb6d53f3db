import { setTimeout as sleep } from "node:timers/promises";
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type JsonSchemaValidator,
  type ProgressCallback,
  type Tool as ListedTool,
  type Transport,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "@deltawire/wire";
import type { Redact } from "../redaction/redactor.ts";
import { validateJsonSchema, schemaTooComplex } from "../schemas/validate-json-schema.ts";
import type { McpServerConfig } from "./server-config.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { McpError } from "./error.ts";
import { guardMessages } from "./guard-messages.ts";
import { maxListPages, maxTools, messageNotJson, truncateWithCount } from "./limits.ts";
import { createStdioTransport, type StdioTransport } from "./stdio-transport.ts";

export interface McpSessionListener {
  onTools(tools: readonly ListedTool[]): void;
  onWarning(message: string): void;
}

export interface McpCallOptions {
  signal: AbortSignal;
  onprogress: ProgressCallback;
  /** Receives log lines of the server while this is its only call: the protocol does not say which call a line belongs to. */
  onlog: (line: string) => void;
  /** True if running the call twice does no harm. */
  isRepeatable: boolean;
}

interface McpConnection {
  client: Client;
  transport: Transport & Partial<StdioTransport>;
}

const defaultStartTimeoutMs = 30_000;
/** Delays before the attempts to connect for a call. */
const connectDelaysMs = [0, 300, 1000];
/** Maximum retries of a call that cannot have run, or that may run twice. */
const maxRetries = 2;
/** Disables the library's own timeout: the runtime enforces the timeout of a tool. */
const maxTimeoutMs = 2 ** 31 - 1;
/** Time limit for terminating a session. */
const terminateTimeoutMs = 500;
const maxQuotedStderr = 1000;
/** Maximum length of an error message from a server. */
const maxReasonLength = 4000;
/** Minimum interval between two listings of tools after the server announced changes. */
const relistIntervalMs = 1000;

/** The connection to an MCP server. Reconnects for the next call after the connection was lost. */
export class McpSession {
  readonly #server: McpServerConfig;
  readonly #redact: Redact;
  readonly #listener: McpSessionListener;
  #connecting: Promise<McpConnection> | undefined;
  /** The connection that is being established. */
  #pendingConnection: McpConnection | undefined;
  #connection: McpConnection | undefined;
  #isClosed = false;
  /** Log listeners of the running calls. */
  readonly #logListeners = new Set<(line: string) => void>();
  /** Current servers accept the handshake of 2025. A server that rejects it may need a newer protocol version. */
  #handshake: "legacy" | "auto" = "legacy";
  instructions: string | undefined;

  constructor(server: McpServerConfig, redact: Redact, listener: McpSessionListener) {
    this.#server = server;
    this.#redact = redact;
    this.#listener = listener;
  }

  async start(): Promise<void> {
    await this.#getConnection();
  }

  async call(
    tool: ListedTool,
    input: JsonObject,
    { onlog, ...options }: McpCallOptions,
  ): Promise<CallToolResult> {
    this.#logListeners.add(onlog);
    try {
      return await this.#callWithRetry(tool, input, options);
    } finally {
      this.#logListeners.delete(onlog);
    }
  }

  async #callWithRetry(
    tool: ListedTool,
    input: JsonObject,
    { signal, onprogress, isRepeatable }: Omit<McpCallOptions, "onlog">,
  ): Promise<CallToolResult> {
    for (let attempt = 0; ; attempt += 1) {
      const connection = await this.#connectWithRetry(signal);
      try {
        return await connection.client.callTool(
          { name: tool.name, arguments: input },
          { signal, onprogress, timeout: maxTimeoutMs, toolDefinition: tool },
        );
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof ProtocolError)
          throw new McpError(
            "mcp_rejected",
            truncateWithCount(this.#redact(error.message), maxReasonLength),
          );
        const { exitReason } = connection.transport;
        const wasUndelivered = isUndelivered(error);
        // Other calls may be running: a failure of one call does not disconnect them.
        if (exitReason !== undefined || wasUndelivered || isConnectionClosed(error))
          await this.#disconnect(connection);
        if (attempt < maxRetries && (wasUndelivered || (isRepeatable && isConnectionReset(error))))
          continue;
        throw new McpError(
          "mcp_ended",
          `${this.#label} failed during the call, which may or may not have run: ${this.#describeFailure(error, connection)}`,
        );
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connections = [this.#connection, this.#pendingConnection].filter(
      (connection) => connection !== undefined,
    );
    await Promise.all(connections.map((connection) => this.#disconnect(connection)));
  }

  get #label(): string {
    return `MCP server "${this.#server.name}"`;
  }

  /** Returns the connection, reconnecting if necessary. Tries a few times, for a server that is just starting. */
  async #connectWithRetry(signal: AbortSignal): Promise<McpConnection> {
    let lastError: unknown;
    for (const delayMs of connectDelaysMs) {
      if (delayMs > 0) await sleep(delayMs, undefined, { signal });
      try {
        return await rejectOnAbort(this.#getConnection(), signal);
      } catch (error) {
        if (signal.aborted || this.#isClosed) throw error;
        lastError = error;
      }
    }
    throw lastError;
  }

  #getConnection(): Promise<McpConnection> {
    if (this.#isClosed)
      return Promise.reject(new McpError("mcp_closed", `${this.#label} is closed`));
    const current = this.#connection;
    if (current !== undefined && current.transport.exitReason === undefined)
      return Promise.resolve(current);
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #connect(): Promise<McpConnection> {
    try {
      return await this.#connectWithMode(this.#handshake);
    } catch (error) {
      if (
        !(error instanceof HandshakeRejectedError) ||
        this.#handshake === "auto" ||
        this.#isClosed
      )
        throw error;
      const connection = await this.#connectWithMode("auto");
      this.#handshake = "auto";
      return connection;
    }
  }

  async #connectWithMode(mode: "legacy" | "auto"): Promise<McpConnection> {
    const { startTimeoutMs: timeout = defaultStartTimeoutMs, name } = this.#server;
    const transport = this.#createTransport();
    const client = new Client(
      { name: "deltawire", version: "1" },
      {
        versionNegotiation: { mode },
        jsonSchemaValidator: resultValidator,
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 50, onChanged: () => refreshTools() },
        },
      },
    );
    client.setNotificationHandler("notifications/message", ({ params: { level, data } }) => {
      const [listener, ...others] = this.#logListeners;
      if (level !== "debug" && others.length === 0) listener?.(formatLogData(data));
    });
    const connection: McpConnection = { client, transport };
    const refreshTools = throttleAsync(relistIntervalMs, async () => {
      try {
        const tools = await this.#listTools(client, timeout);
        if (this.#connection === connection) this.#listener.onTools(tools);
      } catch (error) {
        if (this.#connection === connection)
          this.#listener.onWarning(
            `could not read the changed tools of MCP server "${name}": ${this.#describeFailure(error, connection)}`,
          );
      }
    });
    Object.assign(client, {
      onclose: () => {
        if (this.#connection === connection) this.#connection = undefined;
      },
    });
    this.#pendingConnection = connection;
    try {
      await client.connect(transport, { timeout });
      guardMessages(transport);
      const tools = await this.#listTools(client, timeout);
      this.instructions = client.getInstructions();
      this.#listener.onTools(tools);
    } catch (error) {
      const message = `${this.#label} cannot be reached: ${this.#describeFailure(error, connection)}`;
      const isRejection = error instanceof ProtocolError || error instanceof SdkHttpError;
      await this.#disconnect(connection);
      throw isRejection
        ? new HandshakeRejectedError(message)
        : new McpError("mcp_unreachable", message);
    } finally {
      this.#pendingConnection = undefined;
    }
    if (transport.exitReason !== undefined)
      throw new McpError("mcp_unreachable", `${this.#label} has ended: ${transport.exitReason}`);
    this.#connection = connection;
    return connection;
  }

  /** Returns all tools, up to `maxTools` on `maxListPages` pages. */
  async #listTools(client: Client, timeout: number): Promise<ListedTool[]> {
    if (client.getServerCapabilities()?.tools === undefined) return [];
    const deadline = performance.now() + timeout;
    const tools: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxListPages && tools.length <= maxTools; page += 1) {
      const remainingMs = Math.max(1, deadline - performance.now());
      const params = cursor === undefined ? {} : { cursor };
      const listResult = await client.request(
        { method: "tools/list", params },
        { timeout: remainingMs },
      );
      tools.push(...listResult.tools);
      cursor = listResult.nextCursor;
      if (cursor === undefined) return this.#limitTools(tools);
    }
    if (tools.length <= maxTools)
      this.#listener.onWarning(
        `${this.#label} lists its tools on more than ${maxListPages} pages; the other pages are ignored`,
      );
    return this.#limitTools(tools);
  }

  #limitTools(tools: ListedTool[]): ListedTool[] {
    if (tools.length <= maxTools) return tools;
    this.#listener.onWarning(
      `${this.#label} has more than ${maxTools} tools; the others are ignored`,
    );
    return tools.slice(0, maxTools);
  }

  #createTransport(): Transport & Partial<StdioTransport> {
    const { command, args = [], env = {}, cwd, url = "", headers = {} } = this.#server;
    if (command !== undefined) return createStdioTransport({ command, args, env, cwd });
    return new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { ...headers } },
      // Headers may contain keys, and `fetch` would forward most of them to the target of any redirect.
      redirectPolicy: "same-origin",
      fetch: boundedFetch,
    });
  }

  async #disconnect({ client, transport }: McpConnection): Promise<void> {
    if (this.#connection?.client === client) this.#connection = undefined;
    const termination =
      transport instanceof StreamableHTTPClientTransport && this.#isClosed
        ? Promise.race([transport.terminateSession(), sleep(terminateTimeoutMs)])
        : undefined;
    await termination?.catch(() => undefined);
    await client.close().catch(() => undefined);
    // A client that has not connected does not close its transport.
    await transport.close().catch(() => undefined);
  }

  /** Describes a failure, with the exit reason and the last stderr output of the program. */
  #describeFailure(error: unknown, { transport }: McpConnection): string {
    // The parser's own message quotes the reply, which may contain part of a key.
    const { message } =
      error instanceof SyntaxError ? { message: messageNotJson } : (error as Error);
    const code = getCauseCode(error);
    const reason = transport.exitReason ?? (code === undefined ? message : `${message} (${code})`);
    // Redacted before it is truncated, because a truncated secret would not be recognized.
    const stderrTail = this.#redact(transport.stderrTail ?? "").trim();
    const stderrText = stderrTail === "" ? "" : `; stderr: ${stderrTail.slice(-maxQuotedStderr)}`;
    return truncateWithCount(this.#redact(reason), maxReasonLength) + stderrText;
  }
}

/** Replaces the library's validator: this one limits its steps. A result that is too complex to be checked is accepted. */
const resultValidator = {
  getValidator<T>(schema: unknown): JsonSchemaValidator<T> {
    return (input) => {
      const problems = validateJsonSchema(schema as JsonObject, input);
      return problems.length === 0 || problems[0] === schemaTooComplex
        ? { valid: true, data: input as T, errorMessage: undefined }
        : { valid: false, data: undefined, errorMessage: problems.join("; ") };
    };
  },
};

function formatLogData(data: unknown): string {
  if (typeof data === "string") return data;
  const message = (data as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : (JSON.stringify(data) ?? "");
}

/** Runs `work` at most once per interval and never concurrently. Requests during a run cause one more run. */
function throttleAsync(intervalMs: number, work: () => Promise<void>): () => void {
  let isBusy = false;
  let isRequested = false;
  const run = async (): Promise<void> => {
    isBusy = true;
    do {
      isRequested = false;
      await work();
      await sleep(intervalMs, undefined, { ref: false });
    } while (isRequested);
    isBusy = false;
  };
  return () => {
    isRequested = true;
    if (!isBusy) void run();
  };
}

class HandshakeRejectedError extends McpError {
  constructor(message: string) {
    super("mcp_unreachable", message);
  }
}

/** True if the call cannot have run: the server no longer knows the session, or does not accept connections. */
function isUndelivered(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 404;
  if ((error as { code?: string }).code === "EPIPE") return true;
  return getCauseCode(error) === "ECONNREFUSED";
}

/** True if the connection was reset, most often a keep-alive connection that the server had closed. */
function isConnectionReset(error: unknown): boolean {
  const code = getCauseCode(error);
  return code === "ECONNRESET" || code === "UND_ERR_SOCKET";
}

/** Returns the code of the error's `cause`, which `fetch` sets. */
function getCauseCode(error: unknown): string | undefined {
  return (error as { cause?: { code?: string } }).cause?.code;
}

function isConnectionClosed(error: unknown): boolean {
  if (!(error instanceof SdkError)) return false;
  return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected;
}

async function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}
