import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { StoreError } from "@deltawire/store";
import type { ServerConfig } from "../config/config.ts";
import { isLoopback } from "../config/host-addresses.ts";
import { logRequest, type Log } from "../log.ts";
import { newId } from "../new-id.ts";
import type { AccessKeys } from "../security/access-keys.ts";
import { Authenticator, createEndedKeyError, type Identity } from "../security/authenticator.ts";
import { assertAllowedOrigin, buildCorsHeaders } from "../security/origin-check.ts";
import type { UsageMeter } from "../security/usage-meter.ts";
import { BodyMemory } from "./body-memory.ts";
import { sendJson, type BodyLimits, type RequestContext } from "./request-context.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import { endReply } from "./end-reply.ts";
import {
  isTooManyOpenFiles,
  GatewayError,
  toErrorReply,
  toMessagesErrorReply,
} from "../gateway-error.ts";
import { assertContentLength } from "./request-body.ts";
import { RequestQueue } from "./request-queue.ts";
import { assertScope, isLimitedRoute } from "./route-scopes.ts";
import { chatRouteNames, matchRoute, type RouteMatch, type RouteName } from "./routes.ts";
import { discardBody } from "./discard-body.ts";
import { findStoreProblem, toTaskError } from "../tasks/task-errors.ts";

export type RouteHandler = (context: RequestContext) => Promise<void> | void;

/** Handlers of task and chat routes are optional. */
type RouteHandlers = Record<Exclude<RouteName, TaskRouteName>, RouteHandler> & TaskRouteHandlers;

export type TaskRouteHandlers = Partial<Record<TaskRouteName, RouteHandler>>;

export const taskRouteNames = [
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

export type TaskRouteName = (typeof taskRouteNames)[number];

export interface HttpServer {
  server: Server;
  /** Rejects new requests. Resolves when the running ones have ended. */
  drain(): Promise<void>;
  /** Aborts the running requests and closes all connections. */
  abortRequests(): void;
  readonly isDraining: boolean;
}

const maxHeaderBytes = 32 * 1024;
/** Bodies in progress may use as much memory as this many bodies of maximum size, but at least `minBodyMemoryBytes`. */
const maxBodiesInMemory = 4;
const minBodyMemoryBytes = 64 * 1024 * 1024;
/** Time limits for receiving the headers and the complete request. */
export interface RequestTimeouts {
  headersMs: number;
  requestMs: number;
}

const defaultRequestTimeouts: RequestTimeouts = { headersMs: 15_000, requestMs: 300_000 };

export interface HttpServerOptions {
  config: ServerConfig;
  handlers: RouteHandlers;
  log: Log;
  /** Default: tokens of the configuration only. */
  authenticator?: Authenticator;
  /** Undefined: there are no access keys. */
  access?: { keys: AccessKeys; meter: UsageMeter };
  timeouts?: RequestTimeouts | undefined;
  /** Serves a WebSocket at `/v1/responses`. Undefined: WebSockets are rejected. */
  acceptWebSocket?: (connection: WebSocketConnection) => void;
  /** Resolves when all WebSockets are closed. */
  drainWebSockets?: () => Promise<void>;
}

/** A client that may open a WebSocket. */
export interface WebSocketConnection {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly sender: Identity;
  /** Aborted when the connection is closed, the access key becomes invalid (with a GatewayError), or the gateway stops. */
  readonly signal: AbortSignal;
}

const webSocketPath = "/v1/responses";

/** Creates the server: authenticates requests, calls the handler of their route, and reports all errors in one format. */
export function createHttpServer({
  config,
  handlers,
  log,
  authenticator = new Authenticator(config),
  access,
  timeouts = defaultRequestTimeouts,
  acceptWebSocket,
  drainWebSockets,
}: HttpServerOptions): HttpServer {
  const activeRequests = new Set<AbortController>();
  const openSockets = new Map<WebSocketConnection, AbortController>();
  const queue = new RequestQueue();
  const bodyLimits: BodyLimits = {
    maxBytes: config.maxBodyBytes,
    maxJsonValues: config.maxJsonValues,
    memory: new BodyMemory(Math.max(minBodyMemoryBytes, maxBodiesInMemory * config.maxBodyBytes)),
  };
  let isDraining = false;
  let onIdle: (() => void) | undefined;

  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    // Node's default is every 30 s.
    connectionsCheckingInterval: timeouts.headersMs / 3,
    // Longer than clients keep idle connections in their pools, so that they do not reuse a closed one.
    keepAliveTimeout: 75_000,
    // Java's client and curl offer HTTP/2 with the Upgrade header too: they get an HTTP/1.1 reply instead of an error.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) =>
      /websocket/i.test(headers.upgrade ?? ""),
  });

  const connectionLimit = new ConnectionLimit(server);

  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    const abortController = new AbortController();
    activeRequests.add(abortController);
    // `handle` sends and logs errors.
    void queue
      .run(request, response, () => handle(request, response, abortController))
      .finally(() => {
        activeRequests.delete(abortController);
        if (activeRequests.size === 0) onIdle?.();
      });
  };
  server.on("request", receive);
  // Without this listener, Node itself answers every `Expect: 100-continue`, even if the body will be rejected.
  server.on("checkContinue", receive);
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    void upgrade(request, socket, head).catch((error: unknown) => {
      const { status } = toErrorReply(error);
      if (status === 500) log.error({ err: error }, "internal error");
      const storeProblem = findStoreProblem(error);
      if (storeProblem !== undefined)
        log.error({ cause: storeProblem }, "the store is unavailable");
      const problem =
        error instanceof GatewayError ? error : new GatewayError("internal_error", "");
      rejectSocket(socket, problem, status === 426 ? { upgrade: "HTTP/1.1" } : {});
    });
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // An error cannot be sent once a reply has started.
    const hasReplyStarted = queue.isReplying(socket as Socket);
    if (error.code === "ECONNRESET" || !socket.writable || hasReplyStarted) {
      socket.destroy();
      return;
    }
    const code = error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? "request_timeout" : "invalid_request";
    const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : undefined;
    const message =
      status === 431
        ? `the headers of the request are larger than ${maxHeaderBytes / 1024} KB`
        : `could not read the request: ${error.code ?? error.message}`;
    rejectSocket(socket, new GatewayError(code, message, { status }), {});
  });

  /** Throws a GatewayError if the client may not open a WebSocket. */
  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    assertAllowedOrigin(request.headers, config);
    const { pathname } = parseRequestUrl(request.url ?? "/");
    if (acceptWebSocket === undefined || pathname.replace(/\/$/, "") !== webSocketPath)
      throw new GatewayError(
        "upgrade_not_supported",
        `WebSockets are only supported at ${webSocketPath}; use HTTP`,
      );
    const sender = await authenticator.identify(request.headers);
    if (sender instanceof GatewayError) throw sender;
    if (isDraining)
      throw new GatewayError("shutting_down", "the gateway is shutting down", { retryAfter: 5 });
    const { accessKey, keyHash } = sender;
    if (accessKey !== undefined) assertScope(accessKey, "responses");
    const controller = new AbortController();
    const unwatchKey =
      accessKey === undefined || keyHash === undefined
        ? undefined
        : watchKey(keyHash, (problem) => controller.abort(problem));
    const connection: WebSocketConnection = {
      id: newId("ws"),
      request,
      socket,
      head,
      sender,
      signal: controller.signal,
    };
    openSockets.set(connection, controller);
    socket.once("close", () => {
      unwatchKey?.();
      openSockets.delete(connection);
      controller.abort();
    });
    acceptWebSocket(connection);
  }

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    abortController: AbortController,
  ): Promise<void> {
    const startedAt = performance.now();
    const id = newId("req");
    const url = parseRequestUrl(request.url ?? "/");
    response.on("close", () => abortController.abort());
    response.setHeader("x-request-id", id);
    if (isMessagesApi(url.pathname)) response.setHeader("request-id", id);
    const context = createRequestContext({
      id,
      request,
      response,
      url,
      signal: abortController.signal,
      bodyLimits,
    });
    let isLogged = true;
    let failure: string | undefined;
    let unwatchKey: (() => void) | undefined;
    let keyProblem: GatewayError | undefined;
    let routeName: RouteName | undefined;
    try {
      assertAllowedOrigin(request.headers, config);
      for (const [name, value] of Object.entries(buildCorsHeaders(request.headers, config)))
        response.setHeader(name, value);
      if (request.method === "OPTIONS") return void response.writeHead(204).end();
      const match = matchRoute(request.method ?? "GET", url.pathname);
      if (match.type === "unknown")
        throw new GatewayError(
          "not_found",
          `${request.method} ${url.pathname} is not supported${match.hint}`,
        );
      if (match.type === "wrong_method") {
        response.setHeader("allow", match.allowed.join(", "));
        throw new GatewayError(
          "method_not_allowed",
          `${request.method} ${url.pathname} is not supported; use ${match.allowed.join(" or ")}`,
        );
      }
      isLogged = !match.isPublic;
      routeName = match.name;
      if (!isProbe(match.name)) connectionLimit.assertWithinLimit(request.socket, response);
      const { pathParam, secondPathParam } = match;
      Object.assign(context, { pathParam, secondPathParam });
      unwatchKey = await authorize(context, match, (problem) => {
        failure = problem.code;
        keyProblem = problem;
        // Other replies end when the handler does.
        if (response.headersSent || !request.complete) endReply(response, match.name, problem);
        abortController.abort(problem);
      });
      if (!match.isPublic && isDraining)
        throw new GatewayError("shutting_down", "the gateway is shutting down", { retryAfter: 5 });
      const handler = handlers[match.name];
      if (handler === undefined)
        throw new GatewayError(
          "not_found",
          `${url.pathname}: tasks and chats are not available on this gateway`,
        );
      if (context.accessKey !== undefined && isLimitedRoute(match.name))
        await access?.meter.admitRequest(context.accessKey);
      if (expectsContinue(request)) {
        assertContentLength(request, config.maxBodyBytes);
        response.writeContinue();
      }
      await handler(context);
      if (response.writableEnded) request.resume();
    } catch (error) {
      const isLocal = context.client === undefined && isLoopback(config.host);
      const code = await sendError(error, context, { log, showsAddresses: isLocal });
      failure ??= code;
    } finally {
      unwatchKey?.();
      if (keyProblem !== undefined && routeName !== undefined)
        endReply(response, routeName, keyProblem);
      if (isLogged)
        logRequest(log, {
          id,
          client: context.client?.name,
          method: request.method ?? "",
          path: url.pathname,
          model: context.model,
          status: response.headersSent ? response.statusCode : 499,
          firstByteMs:
            context.firstByteAt === undefined ? undefined : context.firstByteAt - startedAt,
          ms: performance.now() - startedAt,
          clientDisconnected:
            (abortController.signal.aborted || response.destroyed) && !response.writableFinished,
          record: context.record,
          failure,
        });
    }
  }

  /**
   * Adds the sender to the context. Throws a GatewayError if it may not use the route. Calls `onKeyInvalid` with the reason if the
   * access key is revoked or expires before the returned function is called.
   */
  async function authorize(
    context: RequestContext,
    { name, isPublic }: Extract<RouteMatch, { type: "route" }>,
    onKeyInvalid: (problem: GatewayError) => void,
  ): Promise<(() => void) | undefined> {
    if (isPublic && name !== "session") return undefined;
    const sender = await authenticator.identify(context.request.headers);
    if (sender instanceof GatewayError) {
      if (isPublic) return undefined;
      throw sender;
    }
    const { client, owner, accessKey, keyHash } = sender;
    Object.assign(context, { client, owner, accessKey });
    if (accessKey === undefined || keyHash === undefined) return undefined;
    assertScope(accessKey, name);
    return watchKey(keyHash, onKeyInvalid);
  }

  function watchKey(
    keyHash: string,
    onInvalid: (problem: GatewayError) => void,
  ): (() => void) | undefined {
    return access?.keys.watch(keyHash, (key) =>
      onInvalid(createEndedKeyError(key, access.keys.getTime())),
    );
  }

  return {
    server,
    get isDraining() {
      return isDraining;
    },
    async drain() {
      isDraining = true;
      server.close();
      server.closeIdleConnections();
      await drainWebSockets?.();
      if (activeRequests.size > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      // Clients may keep idle connections open.
      server.closeAllConnections();
    },
    abortRequests() {
      for (const controller of [...activeRequests, ...openSockets.values()]) controller.abort();
      server.closeAllConnections();
    },
  };
}

/** True for the routes of Anthropic's API, which have their own form of errors. */
function isMessagesApi(pathname: string): boolean {
  return pathname === "/v1/messages" || pathname.startsWith("/v1/messages/");
}

/** Probes are served even above the connection limit. */
function isProbe(name: RouteName): boolean {
  return name === "health" || name === "ready";
}

/** Accepts any request target. Clients also send invalid URLs such as `//`, which must not cause an internal error. */
function parseRequestUrl(target: string): URL {
  if (target.startsWith("/")) return new URL(`http://gateway${target}`);
  return URL.parse(target) ?? new URL(`http://gateway/${target}`);
}

function createRequestContext(
  fields: Pick<RequestContext, "id" | "request" | "response" | "url" | "signal" | "bodyLimits">,
): RequestContext {
  const defaults = {
    client: undefined,
    owner: "",
    accessKey: undefined,
    model: undefined,
    record: undefined,
    firstByteAt: undefined,
  };
  return { ...fields, pathParam: "", secondPathParam: "", ...defaults };
}

function expectsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === "100-continue";
}

/** Sends the error to the client if it is still connected. Returns the error's code. */
async function sendError(
  thrown: unknown,
  { request, response, signal, id, url }: RequestContext,
  { log, showsAddresses }: { log: Log; showsAddresses: boolean },
): Promise<string> {
  const error = thrown instanceof StoreError ? toTaskError(thrown) : thrown;
  const { status, headers, body, code } = isMessagesApi(url.pathname)
    ? toMessagesErrorReply(error, { showsAddresses, requestId: id })
    : toErrorReply(error, { showsAddresses });
  const storeProblem = findStoreProblem(error);
  const isShown =
    showsAddresses && error instanceof GatewayError && error.publicError !== undefined;
  if (storeProblem !== undefined && !isShown)
    log.error({ id, cause: storeProblem }, "the store is unavailable");
  if (status === 500 || isTooManyOpenFiles(error)) log.error({ id, err: error }, "internal error");
  if (signal.aborted || response.writableEnded) return code;
  // An error cannot be sent once the reply has started; closing the connection shows that it is incomplete.
  if (response.headersSent) response.destroy();
  else if (isBodyUnread(request) || (headers["connection"] === "close" && !request.complete))
    await rejectBody(request, response, status, body, headers);
  else sendJson(response, status, body, headers);
  return code;
}

/** True if part of the body is still unread. Node discards the body by itself if none of it was read. */
function isBodyUnread(request: IncomingMessage): boolean {
  if (expectsContinue(request)) return !request.complete;
  return request.readableDidRead && !request.complete;
}

/**
 * Sends an error while the client is still sending. Closing immediately would reset the connection, and many clients would
 * report that instead of the error, so the rest of the body is read and discarded for a while first.
 */
async function rejectBody(
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
  await discardBody(request);
  response.end();
}

function rejectSocket(
  socket: Duplex,
  problem: GatewayError,
  extraHeaders: Record<string, string>,
): void {
  const { status, headers, body } = toErrorReply(problem);
  const text = JSON.stringify(body);
  const lines = Object.entries({
    ...headers,
    ...extraHeaders,
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n${text}`,
  );
}
