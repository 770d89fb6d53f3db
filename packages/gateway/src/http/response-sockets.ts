import {
  decodeResponsesRequest,
  findExceededJsonLimit,
  describeJsonLimit,
  defaultJsonLimits,
  type JsonObject,
  type ResponseInputItem,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { AccessKey } from "@deltawire/store";
import { WebSocketServer, type RawData, type WebSocket } from "ws";
import { GatewayError, toErrorReply } from "../gateway-error.ts";
import { ResponseCache } from "../history/response-cache.ts";
import type { ResolvedRequest } from "../history/response-history.ts";
import { logRequest, type Log } from "../log.ts";
import { newId } from "../new-id.ts";
import type { ClientEvent } from "../relay/client-wire.ts";
import type { ReplyReceiver } from "../relay/receiver.ts";
import { meterRelay } from "../relay/meter-relay.ts";
import type { ClientRequest } from "../relay/client-request.ts";
import { SavingReceiver } from "../relay/saving-receiver.ts";
import { isCompactionRequest } from "../responses/compact-history.ts";
import { runWithContext } from "../responses/manage-context.ts";
import { buildNewResponse, completeResponse } from "../responses/new-response.ts";
import { findStoreProblem, toTaskError } from "../tasks/task-errors.ts";
import { RequestSource } from "../upstream/request-source.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import type { ModelRouteServices } from "./model-route-services.ts";
import { getClientScope, readOptionHeader } from "./request-context.ts";
import { streamCompaction } from "./serve-compaction.ts";
import {
  assertFieldCount,
  buildHistoryFields,
  formerReasoningValues,
  isCodexClient,
  withHistory,
} from "./serve-model-requests.ts";
import type { WebSocketConnection } from "./server.ts";

export interface ResponseSocketsOptions {
  services: ModelRouteServices;
  /** Maximum size of a message. */
  maxBytes: number;
  /** Maximum number of values in a message. */
  maxJsonValues: number;
  /** Counts a request of an access key. Rejects with a GatewayError (429) if a limit is reached. */
  admitRequest: (key: AccessKey) => Promise<void>;
  log: Log;
}

const pingIntervalMs = 30_000;
const maxConnectionMs = 60 * 60_000;
/** Responses of one connection that run or wait. */
const maxPendingResponses = 32;
/** Beyond this many unsent bytes, the upstream is read more slowly. */
const maxBufferedBytes = 1024 * 1024;
/** Close code of connections whose access key has become invalid. */
const policyViolation = 1008;
/** How long a client has to close its side. */
const closeTimeoutMs = 5000;
/** The latest responses of a connection with `store: false` that can be continued. */
const maxLocalResponses = 16;

/** Serves the Responses API on WebSockets: each `response.create` is answered with the events of a streamed response. */
export class ResponseSockets {
  readonly #options: ResponseSocketsOptions;
  readonly #server: WebSocketServer;
  readonly #sockets = new Set<ResponseSocket>();
  #isDraining = false;

  constructor(options: ResponseSocketsOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: options.maxBytes,
      perMessageDeflate: false,
    });
  }

  accept(connection: WebSocketConnection): void {
    const { request, socket, head } = connection;
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const responseSocket = new ResponseSocket(webSocket, connection, this.#options);
      this.#sockets.add(responseSocket);
      void responseSocket.closed.then(() => this.#sockets.delete(responseSocket));
      if (this.#isDraining) responseSocket.drain("the gateway is shutting down");
    });
  }

  /** Accepts no more requests. Resolves when the running ones have ended and all connections are closed. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const socket of this.#sockets) socket.drain("the gateway is shutting down");
    await Promise.all([...this.#sockets].map((socket) => socket.closed));
  }
}

/** One connection. Responses with the same `stream_id` run one after the other, others at the same time. */
class ResponseSocket {
  readonly #webSocket: WebSocket;
  readonly #connection: WebSocketConnection;
  readonly #options: ResponseSocketsOptions;
  readonly #owner: string;
  /** The last response of each stream. */
  readonly #streams = new Map<string, Promise<void>>();
  /** Responses that are not stored. */
  readonly #local = new ResponseCache();
  readonly #localIds: string[] = [];
  readonly closed: Promise<void>;
  #pendingCount = 0;
  #isAlive = true;
  /** Why no more requests are accepted. */
  #drainReason: GatewayError | undefined;

  constructor(
    webSocket: WebSocket,
    connection: WebSocketConnection,
    options: ResponseSocketsOptions,
  ) {
    this.#webSocket = webSocket;
    this.#connection = connection;
    this.#options = options;
    this.#owner = getClientScope(connection.sender);
    this.closed = new Promise((resolve) => webSocket.once("close", () => resolve()));
    webSocket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    webSocket.on("pong", () => (this.#isAlive = true));
    // Invalid frames: the connection is closed with a code that says why.
    webSocket.on("error", () => undefined);
    connection.signal.addEventListener("abort", () => this.#abort(), { once: true });
    const timers = [
      setInterval(() => this.#ping(), pingIntervalMs).unref(),
      setTimeout(() => this.#expire(), maxConnectionMs).unref(),
    ];
    webSocket.once("close", () => timers.forEach(clearTimeout));
  }

  /** Accepts no more requests, and closes the connection when the running ones have ended. */
  drain(reason: string): void {
    this.#drainReason ??= new GatewayError("shutting_down", reason, { retryAfter: 5 });
    this.#closeIfIdle();
  }

  #expire(): void {
    this.#drainReason ??= new GatewayError(
      "websocket_connection_limit_reached",
      `the connection has reached the limit of ${maxConnectionMs / 60_000} minutes; open a new one`,
    );
    this.#sendError(this.#drainReason, undefined);
    this.#closeIfIdle();
  }

  /** Closes the connection, with the reason if the access key has become invalid. */
  #abort(): void {
    const reason: unknown = this.#connection.signal.reason;
    if (!(reason instanceof GatewayError)) return this.#webSocket.terminate();
    this.#drainReason = reason;
    this.#sendError(reason, undefined);
    this.#webSocket.close(policyViolation, reason.code);
    setTimeout(() => this.#webSocket.terminate(), closeTimeoutMs).unref();
  }

  #closeIfIdle(): void {
    if (this.#drainReason !== undefined && this.#pendingCount === 0)
      this.#webSocket.close(1001, this.#drainReason.code);
  }

  #ping(): void {
    if (!this.#isAlive) return this.#webSocket.terminate();
    this.#isAlive = false;
    this.#webSocket.ping();
  }

  #receive(data: RawData, isBinary: boolean): void {
    let streamId: string | undefined;
    try {
      const message = this.#parse(data, isBinary);
      const { type, stream_id, generate, ...body } = message;
      streamId = parseStreamId(stream_id);
      if (type !== "response.create")
        throw new GatewayError("invalid_request", 'type: expected "response.create"', {
          param: "type",
        });
      if (this.#drainReason !== undefined) throw this.#drainReason;
      if (this.#pendingCount >= maxPendingResponses)
        throw new GatewayError(
          "rate_limit_exceeded",
          `at most ${maxPendingResponses} responses may run or wait on one connection`,
        );
      this.#enqueue(streamId, body, generate !== false);
    } catch (error) {
      this.#sendError(error, streamId);
    }
  }

  /** Throws a GatewayError if the message is not a JSON object, or too complex. */
  #parse(data: RawData, isBinary: boolean): JsonObject {
    if (isBinary) throw new GatewayError("invalid_request", "messages must be text, not binary");
    const text = (data as Buffer).toString("utf8");
    const limits = { ...defaultJsonLimits, maxValues: this.#options.maxJsonValues };
    const limit = findExceededJsonLimit(text, limits);
    if (limit !== undefined)
      throw new GatewayError("invalid_request", describeJsonLimit(limit, limits));
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch (error) {
      throw new GatewayError("invalid_json", `not valid JSON: ${(error as Error).message}`);
    }
    if (typeof message !== "object" || message === null || Array.isArray(message))
      throw new GatewayError("invalid_request", "a message must be a JSON object");
    return message as JsonObject;
  }

  #enqueue(streamId: string | undefined, body: JsonObject, generates: boolean): void {
    const key = streamId ?? "";
    this.#pendingCount += 1;
    const previous = this.#streams.get(key) ?? Promise.resolve();
    const current = previous
      .then(() => this.#create(streamId, body, generates))
      .finally(() => {
        this.#pendingCount -= 1;
        if (this.#streams.get(key) === current) this.#streams.delete(key);
        this.#closeIfIdle();
      });
    this.#streams.set(key, current);
  }

  /** Sends and logs errors. */
  async #create(streamId: string | undefined, body: JsonObject, generates: boolean): Promise<void> {
    const { request, sender, signal } = this.#connection;
    if (signal.aborted) return;
    const startedAt = performance.now();
    const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
    const { previous_response_id: previousId } = body;
    let failure: string | undefined;
    try {
      await this.#run(streamId, body, { generates, record });
    } catch (thrown) {
      const error = toTaskError(thrown);
      failure = toErrorReply(error).code;
      this.#sendError(error, streamId);
    }
    // A client that continues a failed response must send the history again.
    if ((failure ?? record.failure) !== undefined && typeof previousId === "string")
      this.#local.delete(this.#owner, previousId);
    logRequest(this.#options.log, {
      id: newId("req"),
      client: sender.client?.name,
      method: "WS",
      path: request.url ?? "",
      model: typeof body["model"] === "string" ? body["model"] : undefined,
      status: failure === undefined ? 200 : 400,
      firstByteMs: undefined,
      ms: performance.now() - startedAt,
      clientDisconnected: signal.aborted,
      record,
      failure,
    });
  }

  async #run(
    streamId: string | undefined,
    { background: _background, ...body }: JsonObject,
    { generates, record }: { generates: boolean; record: ExchangeRecord },
  ): Promise<void> {
    const { services, admitRequest } = this.#options;
    const { history, resolveTargets, relay, usageMeter, agents } = services;
    const { sender, signal } = this.#connection;
    const owner = this.#owner;
    const decoded = decodeResponsesRequest(assertFieldCount({ ...body, stream: true }));
    const { model } = decoded;
    if (typeof model !== "string" || model === "")
      throw new GatewayError("invalid_request", "model: expected the name of a model", {
        param: "model",
      });
    if (agents?.has(model) === true)
      throw new GatewayError("invalid_request", "model: agents are only available over HTTP", {
        param: "model",
      });
    const resolved = await history.resolve(decoded, owner, this.#local);
    if (resolved.unresolved !== undefined) throw resolved.unresolved;
    const receiver = new SocketReceiver(this.#webSocket, streamId);
    if (!generates) {
      await resolveTargets(model);
      return this.#warmUp(receiver, decoded, resolved);
    }
    const { accessKey } = sender;
    if (accessKey !== undefined) {
      await admitRequest(accessKey);
      usageMeter?.assertModelAllowed(accessKey, model);
    }
    if (isCompactionRequest(decoded)) {
      const exchange = { model, record, owner, accessKey, signal, receiver };
      const completed = await streamCompaction(services, decoded, resolved, exchange);
      if (completed !== undefined) this.#keep(resolved, completed);
      return;
    }
    const saving = new SavingReceiver({
      receiver,
      fields: buildHistoryFields(resolved),
      save: async (response) => {
        this.#keep(resolved, response);
        if (decoded.store !== false) await history.save(resolved, owner, response);
      },
    });
    const exchange = {
      client: withHistory(this.#createClient(decoded), resolved),
      targets: await resolveTargets(model),
      receiver: saving,
      signal,
      record,
      source: new RequestSource(owner, resolved.request),
    };
    const metering = { key: accessKey, meter: usageMeter, model };
    await runWithContext(meterRelay(relay, metering), exchange, {
      isForwarded: relay.forwardsResponses(exchange.targets),
      summaries: services.summaries,
    });
    await saving.sent;
  }

  #createClient(request: Extract<ClientRequest, { wire: "responses" }>["request"]): ClientRequest {
    const { request: upgrade, sender } = this.#connection;
    return {
      wire: "responses",
      request,
      isCodex: isCodexClient(upgrade.headers),
      reasoning: readOptionHeader(
        { request: upgrade },
        "x-deltawire-reasoning",
        ["summary", "raw"],
        sender.client?.reasoning,
        formerReasoningValues,
      ),
    };
  }

  /** Answers a request with `generate: false`: nothing is asked, but its input can be continued on this connection. */
  #warmUp(receiver: SocketReceiver, request: ResponsesRequest, resolved: ResolvedRequest): void {
    const response = buildNewResponse(request, resolved, { store: false });
    const usage = {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    };
    const completed = completeResponse(response, [], usage);
    this.#keep(resolved, completed);
    const events: JsonObject[] = [
      { type: "response.created", response },
      { type: "response.in_progress", response },
      { type: "response.completed", response: completed },
    ];
    receiver.send(events.map((event, sequence_number) => ({ ...event, sequence_number })));
  }

  /** Lets later requests of this connection continue a response, stored or not. */
  #keep({ items }: ResolvedRequest, { id, status, output }: JsonObject): void {
    if (typeof id !== "string" || status === "failed") return;
    const outputItems = (Array.isArray(output) ? output : []) as unknown as ResponseInputItem[];
    const last = items.at(-1);
    // What a compaction summarizes is not continued.
    const history = last?.type === "compaction_trigger" ? [] : items;
    const turn = { previousResponseId: undefined, items: [...history, ...outputItems], size: 0 };
    this.#local.set(this.#owner, id, turn);
    this.#localIds.push(id);
    const oldest = this.#localIds.length > maxLocalResponses ? this.#localIds.shift() : undefined;
    if (oldest !== undefined) this.#local.delete(this.#owner, oldest);
  }

  #sendError(error: unknown, streamId: string | undefined): void {
    const { status, body } = toErrorReply(error);
    if (status === 500) this.#options.log.error({ err: error }, "internal error");
    const storeProblem = findStoreProblem(error);
    if (storeProblem !== undefined)
      this.#options.log.error({ cause: storeProblem }, "the store is unavailable");
    const stream = streamId === undefined ? {} : { stream_id: streamId };
    this.#webSocket.send(JSON.stringify({ type: "error", status, ...body, ...stream }), ignore);
  }
}

/** Sends each event as a message. */
class SocketReceiver implements ReplyReceiver {
  readonly #webSocket: WebSocket;
  readonly #streamId: string | undefined;
  readonly isStreaming = true;
  hasSent = false;

  constructor(webSocket: WebSocket, streamId: string | undefined) {
    this.#webSocket = webSocket;
    this.#streamId = streamId;
  }

  send(events: readonly ClientEvent[]): boolean {
    for (const event of events) {
      this.hasSent = true;
      const message =
        this.#streamId === undefined ? event : { ...(event as object), stream_id: this.#streamId };
      this.#webSocket.send(JSON.stringify(message), ignore);
    }
    return this.#webSocket.bufferedAmount < maxBufferedBytes;
  }

  end(events: readonly ClientEvent[]): void {
    this.send(events);
  }

  /** The relay sends an event with each keep-alive. */
  keepAlive(): void {}

  reset(): void {}

  whenReady(resume: () => void): void {
    const timer = setInterval(() => {
      if (this.#webSocket.bufferedAmount >= maxBufferedBytes) return;
      clearInterval(timer);
      resume();
    }, 20);
    this.#webSocket.once("close", () => clearInterval(timer));
  }
}

/** The connection is closed; its signal ends the request. */
const ignore = (): void => undefined;

const maxStreamIdLength = 128;

function parseStreamId(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && value !== "" && value.length <= maxStreamIdLength) return value;
  throw new GatewayError(
    "invalid_request",
    `stream_id: expected a string of at most ${maxStreamIdLength} characters`,
    { param: "stream_id" },
  );
}
