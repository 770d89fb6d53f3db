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
import { problemsByJsonSchema, tooComplex } from "../schemas/json-schema.ts";
import type { McpServer } from "./server.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { McpError } from "./error.ts";
import { guardMessages } from "./guard-messages.ts";
import { maxListPages, maxTools, messageNotJson, shortened } from "./limits.ts";
import { stdioTransport, type StdioTransport } from "./stdio-transport.ts";

export interface SessionListener {
  onTools(tools: readonly ListedTool[]): void;
  onWarning(message: string): void;
}

export interface CallOptions {
  signal: AbortSignal;
  onprogress: ProgressCallback;
  /** A line of the server's log while this is its only call: the protocol does not say which call a line belongs to. */
  onlog: (line: string) => void;
  /** Whether it does no harm if the call is done twice. */
  again: boolean;
}

interface Connection {
  client: Client;
  transport: Transport & Partial<StdioTransport>;
}

const startMs = 30_000;
/** Before each try of a call that finds no server. */
const waitsMs = [0, 300, 1000];
/** How often a call is made again that cannot have been done, or may be done twice. */
const mostRepeats = 2;
/** The library has a limit of its own; whoever runs the tool keeps the time. */
const longestMs = 2 ** 31 - 1;
/** What the end of a session may take. */
const goodbyeMs = 500;
const quotedLength = 1000;
/** Of what a server says about a failure. */
const maxReason = 4000;
/** How often a server that says that its tools have changed is asked for them. */
const listAgainMs = 1000;

/** A server and the connection to it, which is made again when it has been lost. */
export class McpSession {
  readonly #server: McpServer;
  readonly #redact: Redact;
  readonly #listener: SessionListener;
  #connecting: Promise<Connection> | undefined;
  /** One that is being made. */
  #unmade: Connection | undefined;
  #connection: Connection | undefined;
  #isClosed = false;
  /** Of the calls under way. */
  readonly #logListeners = new Set<(line: string) => void>();
  /** Every server of today takes the handshake of 2025; one that answers and refuses it may be of the next kind. */
  #handshake: "legacy" | "auto" = "legacy";
  instructions: string | undefined;

  constructor(server: McpServer, redact: Redact, listener: SessionListener) {
    this.#server = server;
    this.#redact = redact;
    this.#listener = listener;
  }

  async start(): Promise<void> {
    await this.#connected();
  }

  async call(
    tool: ListedTool,
    input: JsonObject,
    { onlog, ...options }: CallOptions,
  ): Promise<CallToolResult> {
    this.#logListeners.add(onlog);
    try {
      return await this.#call(tool, input, options);
    } finally {
      this.#logListeners.delete(onlog);
    }
  }

  async #call(
    tool: ListedTool,
    input: JsonObject,
    { signal, onprogress, again }: Omit<CallOptions, "onlog">,
  ): Promise<CallToolResult> {
    for (let tried = 0; ; tried += 1) {
      const connection = await this.#reach(signal);
      try {
        return await connection.client.callTool(
          { name: tool.name, arguments: input },
          { signal, onprogress, timeout: longestMs, toolDefinition: tool },
        );
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof ProtocolError)
          throw new McpError("mcp_refused", shortened(this.#redact(error.message), maxReason));
        const { ended } = connection.transport;
        const unsent = neverArrived(error);
        // Other calls may be under way: one that fails alone does not end them.
        if (ended !== undefined || unsent || isGone(error)) await this.#drop(connection);
        if (tried < mostRepeats && (unsent || (again && isNetworks(error)))) continue;
        throw new McpError(
          "mcp_ended",
          `${this.#named} failed during the call, which may have been done or not: ${this.#why(error, connection)}`,
        );
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connections = [this.#connection, this.#unmade].filter((one) => one !== undefined);
    await Promise.all(connections.map((one) => this.#drop(one)));
  }

  get #named(): string {
    return `the MCP server "${this.#server.name}"`;
  }

  /** The connection, made anew if it is lost: a few times, for a server that is just starting. */
  async #reach(signal: AbortSignal): Promise<Connection> {
    let last: unknown;
    for (const wait of waitsMs) {
      if (wait > 0) await sleep(wait, undefined, { signal });
      try {
        return await unlessAborted(this.#connected(), signal);
      } catch (error) {
        if (signal.aborted || this.#isClosed) throw error;
        last = error;
      }
    }
    throw last;
  }

  #connected(): Promise<Connection> {
    if (this.#isClosed)
      return Promise.reject(new McpError("mcp_closed", `${this.#named} has been closed`));
    const there = this.#connection;
    if (there !== undefined && there.transport.ended === undefined) return Promise.resolve(there);
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #connect(): Promise<Connection> {
    try {
      return await this.#connectBy(this.#handshake);
    } catch (error) {
      if (!(error instanceof Refused) || this.#handshake === "auto" || this.#isClosed) throw error;
      const connection = await this.#connectBy("auto");
      this.#handshake = "auto";
      return connection;
    }
  }

  async #connectBy(mode: "legacy" | "auto"): Promise<Connection> {
    const { startTimeoutMs: timeout = startMs, name } = this.#server;
    const transport = this.#transport();
    const client = new Client(
      { name: "deltawire", version: "1" },
      {
        versionNegotiation: { mode },
        jsonSchemaValidator: resultValidator,
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 50, onChanged: () => listAgain() },
        },
      },
    );
    client.setNotificationHandler("notifications/message", ({ params: { level, data } }) => {
      const [only, ...others] = this.#logListeners;
      if (level !== "debug" && others.length === 0) only?.(logLine(data));
    });
    const connection: Connection = { client, transport };
    const listAgain = oneAtATime(listAgainMs, async () => {
      try {
        const tools = await this.#list(client, timeout);
        if (this.#connection === connection) this.#listener.onTools(tools);
      } catch (error) {
        if (this.#connection === connection)
          this.#listener.onWarning(
            `the tools of "${name}" have changed and cannot be read: ${this.#why(error, connection)}`,
          );
      }
    });
    Object.assign(client, {
      onclose: () => {
        if (this.#connection === connection) this.#connection = undefined;
      },
    });
    this.#unmade = connection;
    try {
      await client.connect(transport, { timeout });
      guardMessages(transport);
      const tools = await this.#list(client, timeout);
      this.instructions = client.getInstructions();
      this.#listener.onTools(tools);
    } catch (error) {
      const message = `${this.#named} cannot be reached: ${this.#why(error, connection)}`;
      const refuses = error instanceof ProtocolError || error instanceof SdkHttpError;
      await this.#drop(connection);
      throw refuses ? new Refused(message) : new McpError("mcp_unreachable", message);
    } finally {
      this.#unmade = undefined;
    }
    if (transport.ended !== undefined)
      throw new McpError("mcp_unreachable", `${this.#named} has ended: ${transport.ended}`);
    this.#connection = connection;
    return connection;
  }

  /** All tools, up to a number. A list that does not end is cut. */
  async #list(client: Client, timeout: number): Promise<ListedTool[]> {
    if (client.getServerCapabilities()?.tools === undefined) return [];
    const deadline = performance.now() + timeout;
    const tools: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxListPages && tools.length <= maxTools; page += 1) {
      const left = Math.max(1, deadline - performance.now());
      const params = cursor === undefined ? {} : { cursor };
      const listed = await client.request({ method: "tools/list", params }, { timeout: left });
      tools.push(...listed.tools);
      cursor = listed.nextCursor;
      if (cursor === undefined) return this.#cut(tools);
    }
    if (tools.length <= maxTools)
      this.#listener.onWarning(
        `${this.#named} lists its tools on more than ${maxListPages} pages; the rest is left out`,
      );
    return this.#cut(tools);
  }

  #cut(tools: ListedTool[]): ListedTool[] {
    if (tools.length <= maxTools) return tools;
    this.#listener.onWarning(
      `${this.#named} has more than ${maxTools} tools; the rest is left out`,
    );
    return tools.slice(0, maxTools);
  }

  #transport(): Transport & Partial<StdioTransport> {
    const { command, args = [], env = {}, cwd, url = "", headers = {} } = this.#server;
    if (command !== undefined) return stdioTransport({ command, args, env, cwd });
    return new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { ...headers } },
      // Headers hold keys, and `fetch` itself would take all but a few of them to wherever a redirect leads.
      redirectPolicy: "same-origin",
      fetch: boundedFetch,
    });
  }

  async #drop({ client, transport }: Connection): Promise<void> {
    if (this.#connection?.client === client) this.#connection = undefined;
    const farewell =
      transport instanceof StreamableHTTPClientTransport && this.#isClosed
        ? Promise.race([transport.terminateSession(), sleep(goodbyeMs)])
        : undefined;
    await farewell?.catch(() => undefined);
    await client.close().catch(() => undefined);
    // A client that never got as far as a connection does not close it.
    await transport.close().catch(() => undefined);
  }

  /** What is known of a failure, in a line or a few. */
  #why(error: unknown, { transport }: Connection): string {
    // The parser's own message quotes a part of the reply, perhaps a part of a key.
    const { message } =
      error instanceof SyntaxError ? { message: messageNotJson } : (error as Error);
    const code = codeOf(error);
    const how = transport.ended ?? (code === undefined ? message : `${message} (${code})`);
    // Redacted before it is cut: a cut within a secret would leave the rest of it.
    const said = this.#redact(transport.said ?? "").trim();
    const quoted = said === "" ? "" : `; it said: ${said.slice(-quotedLength)}`;
    return shortened(this.#redact(how), maxReason) + quoted;
  }
}

/** The checker of our own has a limit of its steps. A result that cannot be checked is taken as it is. */
const resultValidator = {
  getValidator<T>(schema: unknown): JsonSchemaValidator<T> {
    return (input) => {
      const problems = problemsByJsonSchema(schema as JsonObject, input);
      return problems.length === 0 || problems[0] === tooComplex
        ? { valid: true, data: input as T, errorMessage: undefined }
        : { valid: false, data: undefined, errorMessage: problems.join("; ") };
    };
  },
};

function logLine(data: unknown): string {
  if (typeof data === "string") return data;
  const message = (data as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : (JSON.stringify(data) ?? "");
}

/** Work that runs once at a time and not more often than in every interval; what is asked for meanwhile is done once. */
function oneAtATime(intervalMs: number, work: () => Promise<void>): () => void {
  let isBusy = false;
  let isWanted = false;
  const run = async (): Promise<void> => {
    isBusy = true;
    do {
      isWanted = false;
      await work();
      await sleep(intervalMs, undefined, { ref: false });
    } while (isWanted);
    isBusy = false;
  };
  return () => {
    isWanted = true;
    if (!isBusy) void run();
  };
}

class Refused extends McpError {
  constructor(message: string) {
    super("mcp_unreachable", message);
  }
}

/** A session that the server has forgotten, or a server that no longer reads: nothing can have been done. */
function neverArrived(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 404;
  if ((error as { code?: string }).code === "EPIPE") return true;
  return codeOf(error) === "ECONNREFUSED";
}

/** A connection that broke, most often one that was kept and that the server had closed. */
function isNetworks(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ECONNRESET" || code === "UND_ERR_SOCKET";
}

/** Of the cause that `fetch` gives. */
function codeOf(error: unknown): string | undefined {
  return (error as { cause?: { code?: string } }).cause?.code;
}

function isGone(error: unknown): boolean {
  if (!(error instanceof SdkError)) return false;
  return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected;
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let leave: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (leave !== undefined) signal.removeEventListener("abort", leave);
  }
}
