import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  asText,
  decodeChatRequest,
  isObject,
  parseJson,
  WireError,
  type ChatRequest,
  type JsonValue,
} from "@deltawire/wire";
import { readConversation } from "./conversation.ts";
import * as media from "./media-routes.ts";
import { Multipart } from "./multipart.ts";
import * as other from "./other-routes.ts";
import { left, play, type Pace } from "./play.ts";
import { quirks, type Quirk } from "./quirks.ts";
import { refusal, type Refusal } from "./refusals.ts";
import { replyTo } from "./reply.ts";

export interface DemoOptions {
  /** How long to wait between two chunks; 0 unless told. */
  paceMs?: number;
  /** A free one unless told. */
  port?: number;
  /** How long the model `silent` says nothing; a minute unless told. */
  silenceMs?: number;
}

interface DemoRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  /** The JSON that was sent; undefined for uploads and for what is no JSON. */
  body: JsonValue | undefined;
  /** `left`: the client was gone before the demo had said everything. */
  state: "open" | "ended" | "left";
}

export interface Demo {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  /** The last requests, the newest at the end. */
  requests: readonly DemoRequest[];
  close(): Promise<void>;
}

/** Starts the demo upstream on loopback: a Chat server whose model names are quirks. */
export async function startDemo(options: DemoOptions = {}): Promise<Demo> {
  const { paceMs = 0, silenceMs = 60_000 } = options;
  const closing = new AbortController();
  const state: State = {
    pace: { paceMs, silenceMs },
    requests: [],
    asked: new Map(),
    closing: closing.signal,
  };
  const server = createServer((request, response) => void serve(request, response, state));
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: state.requests,
    async close() {
      closing.abort();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface State {
  pace: Pace;
  requests: DemoRequest[];
  /** How often each conversation has asked a model that refuses at first. */
  asked: Map<string, number>;
  closing: AbortSignal;
}

const mostRequests = 50;
const mostConversations = 1000;
const largestBody = 32 * 1024 * 1024;
/** What is kept of requests; a larger body is forgotten at once. */
const largestKept = 1024 * 1024;

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  state: State,
): Promise<void> {
  const { method = "GET", url = "", headers } = request;
  const [path = ""] = url.split("?", 1);
  const seen: DemoRequest = { method, path, headers, body: undefined, state: "open" };
  state.requests.push(seen);
  if (state.requests.length > mostRequests) state.requests.shift();
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished && seen.state === "open") seen.state = "left";
    gone.abort();
  });
  response.on("error", () => gone.abort());
  const signal = AbortSignal.any([gone.signal, state.closing]);
  try {
    await route(request, response, seen, state, signal);
  } catch (error) {
    if (signal.aborted || response.headersSent) response.destroy();
    else refuse(response, refusalOf(error));
  }
  if (!signal.aborted) seen.state = "ended";
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  seen: DemoRequest,
  state: State,
  signal: AbortSignal,
): Promise<void> {
  const { method, path } = seen;
  const created = Math.floor(Date.now() / 1000);

  switch (`${method} ${path}`) {
    case "GET /v1/models":
      return send(response, other.modelList(created));
    case "POST /v1/chat/completions":
    case "POST /elsewhere/chat/completions": {
      const chat = decodeChatRequest(await readJson(request, seen));
      const quirk = quirkNamed(chat.model);
      const refused = path.startsWith("/v1/") ? refusedBy(quirk, chat, state.asked) : undefined;
      if (refused !== undefined) return refuse(response, refused);
      if (quirk.neverAnswers) return left(signal);
      const id = `chatcmpl-${randomUUID()}`;
      const reply = replyTo(chat, quirk, { id, created, model: chat.model, newId });
      response.writeHead(200, { "content-type": reply.contentType, "cache-control": "no-cache" });
      return play(reply.steps, response, state.pace, signal);
    }
    case "POST /v1/embeddings":
      return send(response, other.embeddings(await readModelJson(request, seen)));
    case "POST /v1/audio/speech":
      return answer(response, media.speech(await readModelJson(request, seen)), state, signal);
    case "POST /v1/images/generations":
      return answer(
        response,
        media.images(await readModelJson(request, seen), created),
        state,
        signal,
      );
    case "POST /v1/images/edits":
      return answer(
        response,
        media.editedImages(await readUpload(request), created),
        state,
        signal,
      );
    case "POST /v1/audio/transcriptions":
    case "POST /v1/audio/translations":
      return answer(response, media.transcript(await readUpload(request)), state, signal);
    default:
      return refuse(response, refusal(404, `Unknown request URL: ${method} ${path}.`));
  }
}

/** Of its models, this many are named where another one was asked for. */
const mostNames = 10;

function quirkNamed(model: string): Quirk {
  const quirk = quirks.get(model);
  if (quirk !== undefined) return quirk;
  const names = [...quirks.keys()].slice(0, mostNames).join(", ");
  const more = quirks.size - mostNames;
  const message = `The model '${model.slice(0, 100)}' does not exist. The demo has: ${names}, and ${more} more: npm start -- models`;
  throw new Refused(refusal(404, message, { code: "model_not_found", param: "model" }));
}

/** Counts a conversation's requests, for models that refuse the first of them. */
function refusedBy(
  quirk: Quirk,
  chat: ChatRequest,
  asked: Map<string, number>,
): Refusal | undefined {
  if (quirk.refuses === undefined) return undefined;
  const { earlier, words } = readConversation(chat);
  const key = `${chat.model} ${chat.prompt_cache_key ?? (earlier[0] ?? words).slice(0, 200)}`;
  const before = asked.get(key) ?? 0;
  asked.set(key, before + 1);
  if (asked.size > mostConversations) asked.delete(asked.keys().next().value ?? "");
  return quirk.refuses(chat, before);
}

// Bodies

async function readJson(request: IncomingMessage, seen: DemoRequest): Promise<JsonValue> {
  const parts: Buffer[] = [];
  let size = Number(request.headers["content-length"] ?? 0) > largestBody ? Infinity : 0;
  if (size === 0)
    for await (const part of wholeBodyOf(request)) {
      size += part.length;
      if (size > largestBody) break;
      parts.push(part);
    }
  if (size > largestBody)
    throw new Refused(
      refusal(413, `The body is larger than ${largestBody} bytes.`, {
        headers: { connection: "close" },
      }),
    );
  const body = parseJson(Buffer.concat(parts).toString());
  if (body === undefined)
    throw new Refused(refusal(400, "We could not parse the JSON body of your request."));
  if (size <= largestKept) seen.body = body;
  return body;
}

/** Whoever stops reading can still answer: by default that would destroy the socket. */
function wholeBodyOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false });
}

async function readModelJson(request: IncomingMessage, seen: DemoRequest) {
  const body = await readJson(request, seen);
  if (!isObject(body)) throw new Refused(refusal(400, "The body must be a JSON object."));
  quirkNamed(asText(body["model"]));
  return body;
}

async function readUpload(request: IncomingMessage): Promise<Multipart> {
  const type = request.headers["content-type"] ?? "";
  const boundary = /^multipart\/form-data;.*\bboundary="?([^";]+)/i.exec(type)?.[1];
  if (boundary === undefined)
    throw new Refused(refusal(400, "The body must be multipart/form-data with a boundary."));
  const upload = new Multipart(boundary);
  for await (const part of wholeBodyOf(request)) upload.push(part);
  quirkNamed(upload.fields.get("model") ?? "");
  return upload;
}

// Answers

class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refused: Refusal) {
    super("refused");
    this.refusal = refused;
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof WireError)
    return refusal(400, error.message, error.param === undefined ? {} : { param: error.param });
  return refusal(500, `The demo has failed: ${String(error)}`, { type: "server_error" });
}

function refuse(response: ServerResponse, { status, headers, body }: Refusal): void {
  response.writeHead(status, { ...headers, "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function answer(
  response: ServerResponse,
  answered: media.MediaAnswer,
  { pace }: State,
  signal: AbortSignal,
): Promise<void> {
  switch (answered.is) {
    case "whole":
      return send(response, answered);
    case "refused":
      return refuse(response, answered.refusal);
    case "stream":
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      // Whoever waits for a picture knows at once that it is being made.
      response.flushHeaders();
      return play(answered.steps, response, pace, signal);
    default:
      return answered satisfies never;
  }
}

function send(response: ServerResponse, { contentType, body }: other.Answered): void {
  response.writeHead(200, {
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
