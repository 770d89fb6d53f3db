import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  asString,
  decodeChatRequest,
  isObject,
  parseJson,
  WireError,
  type ChatRequest,
  type JsonValue,
} from "@deltawire/wire";
import { parseConversation } from "./conversation.ts";
import * as mediaRoutes from "./media-routes.ts";
import { MultipartParser } from "./multipart-parser.ts";
import * as modelRoutes from "./model-routes.ts";
import { waitForDisconnect, playSteps, type Pacing } from "./play-steps.ts";
import { demoModels, findDemoModel, type DemoModel } from "./quirks.ts";
import { createRejection, type DemoRejection } from "./rejections.ts";
import { buildDemoReply } from "./build-reply.ts";

export interface DemoServerOptions {
  /** Delay between chunks in milliseconds; default 0. */
  paceMs?: number;
  /** Default: a free port. */
  port?: number;
  /** Silence of the model `silent` in milliseconds; default 60,000. */
  silenceMs?: number;
}

interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  /** The JSON body. Undefined for uploads and invalid JSON. */
  body: JsonValue | undefined;
  /** `disconnected`: the client disconnected before the end of the reply. */
  state: "open" | "ended" | "disconnected";
}

export interface DemoServer {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  /** The last requests, oldest first. */
  requests: readonly RecordedRequest[];
  close(): Promise<void>;
}

/** Starts the demo upstream on 127.0.0.1: a Chat server with one model per quirk. */
export async function startDemoServer(options: DemoServerOptions = {}): Promise<DemoServer> {
  const { paceMs = 0, silenceMs = 60_000 } = options;
  const closeController = new AbortController();
  const state: ServerState = {
    pacing: { paceMs, silenceMs },
    requests: [],
    requestCounts: new Map(),
    closing: closeController.signal,
  };
  const server = createServer((request, response) => void serve(request, response, state));
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: state.requests,
    async close() {
      closeController.abort();
      const closePromise = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closePromise;
    },
  };
}

interface ServerState {
  pacing: Pacing;
  requests: RecordedRequest[];
  /** Requests per conversation, for models that reject the first ones. */
  requestCounts: Map<string, number>;
  closing: AbortSignal;
}

const maxRequests = 50;
const maxConversations = 1000;
const maxBodyBytes = 32 * 1024 * 1024;
/** Maximum size of a body in `requests`. */
const maxRecordedBytes = 1024 * 1024;

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  state: ServerState,
): Promise<void> {
  const { method = "GET", url = "", headers } = request;
  const [path = ""] = url.split("?", 1);
  const record: RecordedRequest = { method, path, headers, body: undefined, state: "open" };
  state.requests.push(record);
  if (state.requests.length > maxRequests) state.requests.shift();
  const disconnectController = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished && record.state === "open") record.state = "disconnected";
    disconnectController.abort();
  });
  response.on("error", () => disconnectController.abort());
  const signal = AbortSignal.any([disconnectController.signal, state.closing]);
  try {
    await route(request, response, record, state, signal);
  } catch (error) {
    if (signal.aborted || response.headersSent) response.destroy();
    else sendRejection(response, toRejection(error));
  }
  if (!signal.aborted) record.state = "ended";
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  record: RecordedRequest,
  state: ServerState,
  signal: AbortSignal,
): Promise<void> {
  const { method, path } = record;
  const created = Math.floor(Date.now() / 1000);

  switch (`${method} ${path}`) {
    case "GET /v1/models":
      return sendReply(response, modelRoutes.listDemoModels(created));
    case "POST /v1/chat/completions":
    case "POST /elsewhere/chat/completions": {
      const chat = decodeChatRequest(await readJson(request, record));
      const demoModel = getDemoModel(chat.model);
      const rejection = path.startsWith("/v1/")
        ? findRejection(demoModel, chat, state.requestCounts)
        : undefined;
      if (rejection !== undefined) return sendRejection(response, rejection);
      if (demoModel.neverResponds) return waitForDisconnect(signal);
      const id = `chatcmpl-${randomUUID()}`;
      const reply = buildDemoReply(chat, demoModel, { id, created, model: chat.model, newId });
      response.writeHead(200, { "content-type": reply.contentType, "cache-control": "no-cache" });
      return playSteps(reply.steps, response, state.pacing, signal);
    }
    case "POST /v1/embeddings":
      return sendReply(
        response,
        modelRoutes.createEmbeddings(await readModelJson(request, record)),
      );
    case "POST /v1/audio/speech":
      return sendMediaReply(
        response,
        mediaRoutes.createSpeech(await readModelJson(request, record)),
        state,
        signal,
      );
    case "POST /v1/images/generations":
      return sendMediaReply(
        response,
        mediaRoutes.generateImages(await readModelJson(request, record), created),
        state,
        signal,
      );
    case "POST /v1/images/edits":
      return sendMediaReply(
        response,
        mediaRoutes.editImages(await readUpload(request), created),
        state,
        signal,
      );
    case "POST /v1/audio/transcriptions":
    case "POST /v1/audio/translations":
      return sendMediaReply(
        response,
        mediaRoutes.createTranscript(await readUpload(request)),
        state,
        signal,
      );
    default:
      return sendRejection(
        response,
        createRejection(404, `Unknown request URL: ${method} ${path}.`),
      );
  }
}

/** Maximum number of models in the error message for an unknown model. */
const maxListedModels = 10;

function getDemoModel(model: string): DemoModel {
  const demoModel = findDemoModel(model);
  if (demoModel !== undefined) return demoModel;
  const names = [...demoModels.keys()].slice(0, maxListedModels).join(", ");
  const remaining = demoModels.size - maxListedModels;
  const message = `The model '${model.slice(0, 100)}' does not exist. The demo has: ${names}, and ${remaining} more; GET /v1/models lists all.`;
  throw new RejectionError(
    createRejection(404, message, { code: "model_not_found", param: "model" }),
  );
}

/** Returns the rejection of a request, if any, and counts the request: some models reject the first ones of a conversation. */
function findRejection(
  demoModel: DemoModel,
  chat: ChatRequest,
  requestCounts: Map<string, number>,
): DemoRejection | undefined {
  if (demoModel.reject === undefined) return undefined;
  const { earlierPrompts, prompt } = parseConversation(chat);
  const key = `${chat.model} ${chat.prompt_cache_key ?? (earlierPrompts[0] ?? prompt).slice(0, 200)}`;
  const earlierRequests = requestCounts.get(key) ?? 0;
  requestCounts.set(key, earlierRequests + 1);
  if (requestCounts.size > maxConversations)
    requestCounts.delete(requestCounts.keys().next().value ?? "");
  return demoModel.reject(chat, earlierRequests);
}

// Bodies

async function readJson(request: IncomingMessage, record: RecordedRequest): Promise<JsonValue> {
  const chunks: Buffer[] = [];
  let size = Number(request.headers["content-length"] ?? 0) > maxBodyBytes ? Infinity : 0;
  if (size === 0)
    for await (const chunk of iterateBody(request)) {
      size += chunk.length;
      if (size > maxBodyBytes) break;
      chunks.push(chunk);
    }
  if (size > maxBodyBytes)
    throw new RejectionError(
      createRejection(413, `The body is larger than ${maxBodyBytes} bytes.`, {
        headers: { connection: "close" },
      }),
    );
  const body = parseJson(Buffer.concat(chunks).toString());
  if (body === undefined)
    throw new RejectionError(
      createRejection(400, "We could not parse the JSON body of your request."),
    );
  if (size <= maxRecordedBytes) record.body = body;
  return body;
}

/** Does not destroy the socket if reading stops early, so that an error can be sent. */
function iterateBody(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false });
}

async function readModelJson(request: IncomingMessage, record: RecordedRequest) {
  const body = await readJson(request, record);
  if (!isObject(body))
    throw new RejectionError(createRejection(400, "The body must be a JSON object."));
  getDemoModel(asString(body["model"]));
  return body;
}

async function readUpload(request: IncomingMessage): Promise<MultipartParser> {
  const type = request.headers["content-type"] ?? "";
  const boundary = /^multipart\/form-data;.*\bboundary="?([^";]+)/i.exec(type)?.[1];
  if (boundary === undefined)
    throw new RejectionError(
      createRejection(400, "The body must be multipart/form-data with a boundary."),
    );
  const upload = new MultipartParser(boundary);
  for await (const chunk of iterateBody(request)) upload.push(chunk);
  getDemoModel(upload.fields.get("model") ?? "");
  return upload;
}

// Replies

class RejectionError extends Error {
  readonly rejection: DemoRejection;

  constructor(rejection: DemoRejection) {
    super("rejected");
    this.rejection = rejection;
  }
}

function toRejection(error: unknown): DemoRejection {
  if (error instanceof RejectionError) return error.rejection;
  if (error instanceof WireError)
    return createRejection(
      400,
      error.message,
      error.param === undefined ? {} : { param: error.param },
    );
  return createRejection(500, `The demo failed: ${String(error)}`, { type: "server_error" });
}

function sendRejection(response: ServerResponse, { status, headers, body }: DemoRejection): void {
  response.writeHead(status, { ...headers, "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function sendMediaReply(
  response: ServerResponse,
  mediaReply: mediaRoutes.DemoMediaReply,
  { pacing }: ServerState,
  signal: AbortSignal,
): Promise<void> {
  switch (mediaReply.kind) {
    case "complete":
      return sendReply(response, mediaReply);
    case "rejected":
      return sendRejection(response, mediaReply.rejection);
    case "stream":
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      // Send the headers immediately: an image takes a while.
      response.flushHeaders();
      return playSteps(mediaReply.steps, response, pacing, signal);
    default:
      return mediaReply satisfies never;
  }
}

function sendReply(
  response: ServerResponse,
  { contentType, body }: modelRoutes.BufferedReply,
): void {
  response.writeHead(200, {
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
