import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ClientConfig, ServerConfig } from "../config/config.ts";
import { logRequest, type Log } from "../log.ts";
import { newId } from "../new-id.ts";
import { checkOrigin, corsHeaders, isOwnPage } from "../security/guard.ts";
import { sessionsIn, sessionValue } from "../security/session.ts";
import { bearerOf, missingToken, Tokens } from "../security/tokens.ts";
import { BodyMemory } from "./body-memory.ts";
import { sendJson, type BodyLimits, type Call } from "./call.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import { isOutOfFiles, Problem, problemReply } from "../problem.ts";
import { checkAnnouncedLength } from "./request-body.ts";
import { RequestQueue } from "./request-queue.ts";
import { chatRouteNames, routeOf, type RouteName } from "./routes.ts";
import { skipBody } from "./skip-body.ts";

export type Handler = (call: Call) => Promise<void> | void;

/** Tasks and chats are served only where they can be kept. */
export type Handlers = Record<Exclude<RouteName, TaskRoute>, Handler> & TaskHandlers;

export type TaskHandlers = Partial<Record<TaskRoute, Handler>>;

export const taskRoutes = [
  "start task",
  "tasks",
  "task",
  "task events",
  "cancel task",
  "task input",
  "approvals",
  "decide approval",
  "events",
  "ui messages",
  "resume ui messages",
  "blob",
  ...chatRouteNames,
] as const satisfies readonly RouteName[];

type TaskRoute = (typeof taskRoutes)[number];

export interface HttpServer {
  server: Server;
  /** From now on requests are refused; resolves when those that run have ended. */
  drain(): Promise<void>;
  /** Ends those that run. */
  abort(): void;
  readonly draining: boolean;
}

const maxHeaderBytes = 32 * 1024;
/** All bodies in progress may take as much as this many of the largest, or as this many bytes. */
const bodiesInMemory = 4;
const leastBodyMemory = 64 * 1024 * 1024;
/** In which a request has to come: its head, and all of it. */
export interface Patience {
  headMs: number;
  wholeMs: number;
}

const usualPatience: Patience = { headMs: 15_000, wholeMs: 300_000 };

/** Takes requests, checks who may ask, finds the handler, and tells every failure in one shape. */
export function httpServer(
  config: ServerConfig,
  handlers: Handlers,
  log: Log,
  patience = usualPatience,
): HttpServer {
  const tokens = new Tokens(config.clients);
  const sessions = new Tokens(config.clients, sessionValue);
  const running = new Set<AbortController>();
  const queue = new RequestQueue();
  const bodyLimits: BodyLimits = {
    maxBytes: config.maxBodyBytes,
    maxJsonValues: config.maxJsonValues,
    memory: new BodyMemory(Math.max(leastBodyMemory, bodiesInMemory * config.maxBodyBytes)),
  };
  let draining = false;
  let whenIdle: (() => void) | undefined;

  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: patience.headMs,
    requestTimeout: patience.wholeMs,
    // Node looks for them every 30 s only.
    connectionsCheckingInterval: patience.headMs / 3,
    // Longer than the pools of clients keep a connection, so that they do not meet a closed one.
    keepAliveTimeout: 75_000,
    // Java's client and curl offer HTTP/2 in the same way: to them the answer is HTTP/1.1, not a refusal.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) =>
      /websocket/i.test(headers.upgrade ?? ""),
  });

  const connections = new ConnectionLimit(server);

  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    const gone = new AbortController();
    running.add(gone);
    // The log has the reason; a client that has gone needs no answer.
    void queue
      .run(request, response, () => handle(request, response, gone))
      .finally(() => {
        running.delete(gone);
        if (running.size === 0) whenIdle?.();
      });
  };
  server.on("request", receive);
  // Without this listener Node asks for every body, also for one that will be refused.
  server.on("checkContinue", receive);
  server.on("upgrade", (_request: IncomingMessage, socket: Duplex) => {
    const problem = new Problem("upgrade_not_supported", "WebSockets are not served; use HTTP");
    refuseSocket(socket, problem, { upgrade: "HTTP/1.1" });
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // In the middle of an answer there is no room for another.
    const begun = queue.isReplying(socket as Socket);
    if (error.code === "ECONNRESET" || !socket.writable || begun) {
      socket.destroy();
      return;
    }
    const code = error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? "request_timeout" : "invalid_request";
    const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : undefined;
    const message =
      status === 431
        ? `the headers of the request are larger than ${maxHeaderBytes / 1024} KB`
        : `the request cannot be read: ${error.code ?? error.message}`;
    refuseSocket(socket, new Problem(code, message, { status }), {});
  });

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    gone: AbortController,
  ): Promise<void> {
    const began = performance.now();
    const id = newId("req");
    const url = addressOf(request.url ?? "/");
    response.on("close", () => gone.abort());
    response.setHeader("x-request-id", id);
    const call = newCall({ id, request, response, url, signal: gone.signal, bodyLimits });
    let quiet = false;
    let failure: string | undefined;
    try {
      checkOrigin(request.headers, config);
      for (const [name, value] of Object.entries(corsHeaders(request.headers, config)))
        response.setHeader(name, value);
      if (request.method === "OPTIONS") return void response.writeHead(204).end();
      const routed = routeOf(request.method ?? "GET", url.pathname);
      if (routed.is === "unknown")
        throw new Problem(
          "not_found",
          `there is no ${request.method} ${url.pathname}${routed.hint}`,
        );
      if (routed.is === "wrong method") {
        response.setHeader("allow", routed.allowed.join(", "));
        throw new Problem(
          "method_not_allowed",
          `${url.pathname} takes ${routed.allowed.join(" or ")}`,
        );
      }
      quiet = routed.open;
      if (!isProbe(routed.name)) connections.check(request.socket, response);
      const client = clientOf(request.headers);
      if (!routed.open && tokens.required && client === undefined)
        throw missingToken(bearerOf(request.headers) !== "");
      if (!routed.open && draining)
        throw new Problem("shutting_down", "the gateway is shutting down", { retryAfter: 5 });
      Object.assign(call, { client, rest: routed.rest });
      const handler = handlers[routed.name];
      if (handler === undefined)
        throw new Problem("not_found", `${url.pathname}: this gateway keeps no tasks`);
      if (expectsContinue(request)) {
        checkAnnouncedLength(request, config.maxBodyBytes);
        response.writeContinue();
      }
      await handler(call);
      if (response.writableEnded) request.resume();
    } catch (error) {
      failure = await answerFailure(error, call, log);
    } finally {
      if (!quiet)
        logRequest(log, {
          id,
          client: call.client?.name,
          method: request.method ?? "",
          path: url.pathname,
          model: call.model,
          status: response.headersSent ? response.statusCode : 499,
          firstMs: call.firstByteAt === undefined ? undefined : call.firstByteAt - began,
          ms: performance.now() - began,
          left: (gone.signal.aborted || response.destroyed) && !response.writableFinished,
          record: call.record,
          failure,
        });
    }
  }

  /** A token counts before the cookie of our page does. */
  function clientOf(headers: IncomingHttpHeaders): ClientConfig | undefined {
    const bearer = bearerOf(headers);
    if (bearer !== "" || !isOwnPage(headers)) return tokens.clientOf(bearer);
    const found = sessionsIn(headers).map((value) => sessions.clientOf(value));
    return found.find((client) => client !== undefined);
  }

  return {
    server,
    get draining() {
      return draining;
    },
    async drain() {
      draining = true;
      server.close();
      server.closeIdleConnections();
      if (running.size > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
      // Clients would keep theirs open for another while.
      server.closeAllConnections();
    },
    abort() {
      for (const one of running) one.abort();
      server.closeAllConnections();
    },
  };
}

/** Probes are answered as long as anything is. */
function isProbe(name: RouteName): boolean {
  return name === "health" || name === "ready";
}

/** What stands in a request's first line need not be an address: `//` is none, and must not be our failure. */
function addressOf(target: string): URL {
  if (target.startsWith("/")) return new URL(`http://gateway${target}`);
  return URL.parse(target) ?? new URL(`http://gateway/${target}`);
}

function newCall(
  given: Pick<Call, "id" | "request" | "response" | "url" | "signal" | "bodyLimits">,
): Call {
  const nothing = {
    client: undefined,
    model: undefined,
    record: undefined,
    firstByteAt: undefined,
  };
  return { ...given, rest: "", ...nothing };
}

function expectsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === "100-continue";
}

/** Sends the failure to the client if it is still connected. Returns the failure's code. */
async function answerFailure(
  error: unknown,
  { request, response, signal, id }: Call,
  log: Log,
): Promise<string> {
  const { status, headers, body, code } = problemReply(error);
  if (status === 500 || isOutOfFiles(error)) log.error({ id, err: error }, "the gateway failed");
  if (signal.aborted || response.writableEnded) return code;
  // In the middle of a reply nothing else can be said; the client sees that it is not whole.
  if (response.headersSent) response.destroy();
  else if (isBodyUnread(request) || (headers["connection"] === "close" && !request.complete))
    await refuseBody(request, response, status, body, headers);
  else sendJson(response, status, body, headers);
  return code;
}

/** A body that nobody has begun to read is skipped by Node. */
function isBodyUnread(request: IncomingMessage): boolean {
  if (expectsContinue(request)) return !request.complete;
  return request.readableDidRead && !request.complete;
}

/**
 * The reply goes out while the client is still sending. Closing at once would reset the connection, and many clients
 * would report that instead of the reply; so what they send is skipped for a while first.
 */
async function refuseBody(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string>,
): Promise<void> {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    ...headers,
    connection: "close",
  });
  response.write(text);
  await skipBody(request);
  response.end();
}

function refuseSocket(socket: Duplex, problem: Problem, more: Record<string, string>): void {
  const { status, headers, body } = problemReply(problem);
  const text = JSON.stringify(body);
  const lines = Object.entries({
    ...headers,
    ...more,
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n${lines.join("\r\n")}\r\n\r\n${text}`);
}

function reasonOf(status: number): string {
  if (status === 426) return "Upgrade Required";
  return status === 408 ? "Request Timeout" : "Bad Request";
}
