import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  ChatBody,
  ChatOverMessages,
  collectChat,
  collectMessage,
  collectResponse,
  decodeChatRequest,
  decodeMessagesRequest,
  decodeResponsesRequest,
  encodeChatEvent,
  encodeMessageEvent,
  encodeResponseEvent,
  estimateMessagesTokens,
  genericProfile,
  messageErrorStatuses,
  MessagesBody,
  MessagesOverChat,
  MessagesOverMessages,
  MessagesOverResponses,
  parseUpstreamFailure,
  repairMessagesRequest,
  ResponsesBody,
  ResponsesOverMessages,
  Repairs,
  toChatError,
  toMessageError,
  translateChatToMessages,
  translateMessagesToChat,
  translateMessagesToResponses,
  translateResponsesToMessages,
  unwrapErrorBody,
  UpstreamReply,
  withProfileFlags,
  WireError,
  type ChatStreamEvent,
  type ClientTranslator,
  type MessageEvent,
  type MessagesFlags,
  type ResponseEvent,
  type UpstreamFailure,
  type UpstreamMessageEvent,
  type UpstreamProfile,
} from "@deltawire/wire";
import { sealForChecks, splitIntoBytes, unsealForChecks } from "./play.ts";

/*
 * The smallest HTTP server that serves the translators, for catalogues whose runner speaks HTTP. It has no configuration, does
 * not learn, and reads the wire of the upstream from the prefix of the model: up/, upresp/ or upmsg/.
 */

export type Wire = "chat" | "responses" | "messages";

const wireByPrefix: Readonly<Record<string, Wire>> = {
  up: "chat",
  upresp: "responses",
  upmsg: "messages",
};

const paths: Readonly<Record<Wire, string>> = {
  chat: "/chat/completions",
  responses: "/responses",
  messages: "/messages",
};

/** The flags that a gateway would configure or learn for an upstream. */
export interface CaseFlags {
  profile?: Partial<UpstreamProfile>;
  messages?: MessagesFlags;
  /** The upstream's limit for `max_tokens`. */
  maxTokens?: number;
}

export interface MessagesGatewayOptions {
  /** The base URL of the upstream, such as `http://127.0.0.1:4700/v1`. */
  upstream: string;
  /** True to pass each byte of a reply to the translator by itself. */
  isSplit: boolean;
  /** Returns the flags for a model. */
  getFlags: (model: string) => CaseFlags;
}

type AnyEvent = ResponseEvent | ChatStreamEvent | MessageEvent | UpstreamMessageEvent;

/** A translated request with the machine for its reply. */
interface Exchange {
  body: object;
  reply: UpstreamReply<AnyEvent>;
}

/** Starts the server on a free port of the loopback interface. */
export async function startMessagesGateway(
  options: MessagesGatewayOptions,
): Promise<{ base: string; close: () => void }> {
  const server: Server = createServer((request, response) => {
    void handle(request, response, options).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { base: `http://127.0.0.1:${port}/v1`, close: () => void server.close() };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  options: MessagesGatewayOptions,
): Promise<void> {
  const path = (request.url ?? "").split("?")[0]?.replace(/^\/v1/, "") ?? "";
  if (request.method !== "POST") {
    const models = { data: [{ id: "m", type: "model", display_name: "M", object: "model" }] };
    return sendJson(response, 200, models);
  }
  const text = await readText(request);
  const client = (Object.keys(paths) as Wire[]).find((wire) => path === paths[wire]) ?? "messages";
  const version = request.headers["anthropic-version"];
  try {
    if (path === "/messages/count_tokens") {
      const decoded = decodeMessagesRequest(JSON.parse(text), { requiresMaxTokens: false });
      return sendJson(response, 200, { input_tokens: estimateMessagesTokens(decoded) });
    }
    const headerOptions = {
      version: typeof version === "string" ? version : undefined,
      hasBetas: request.headers["anthropic-beta"] !== undefined,
    };
    await serve(client, JSON.parse(text), headerOptions, response, options);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const failure = { code: error.code, message: error.message };
    sendFailure(response, client, failure, 400);
  }
}

async function serve(
  client: Wire,
  value: unknown,
  headerOptions: Pick<ExchangeOptions, "version" | "hasBetas">,
  response: ServerResponse,
  options: MessagesGatewayOptions,
): Promise<void> {
  const { model = "", stream = false } = value as { model?: string; stream?: boolean };
  const [prefix = "", ...rest] = model.split("/");
  const upstream = wireByPrefix[prefix];
  const upstreamModel = rest.join("/");
  if (upstream === undefined) {
    const failure = { code: "model_not_found", message: `unknown model ${model}` };
    return sendFailure(response, client, failure, 404);
  }
  const { body, reply } = createExchange({
    client,
    upstream,
    value,
    ...headerOptions,
    upstreamModel,
    stream,
    flags: options.getFlags(upstreamModel),
  });
  const headers = { "anthropic-version": "2023-06-01", authorization: "Bearer x" };
  const result = await fetch(options.upstream + paths[upstream], {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (result.status !== 200) {
    const text = await result.text();
    const failure = parseUpstreamFailure(unwrapErrorBody(parseText(text)));
    const retryAfter = result.headers.get("retry-after");
    if (retryAfter !== null) response.setHeader("retry-after", retryAfter);
    return sendFailure(response, client, failure, result.status);
  }
  const out: AnyEvent[] = [];
  const encoded: string[] = [];
  const bytes = new Uint8Array(await result.arrayBuffer());
  for (const read of options.isSplit ? splitIntoBytes(bytes) : [bytes]) {
    const start = out.length;
    reply.push(read, out);
    const passthrough = reply.passthroughBytes;
    encoded.push(
      passthrough === undefined
        ? out
            .slice(start)
            .map((event) => encode(client, event))
            .join("")
        : new TextDecoder().decode(passthrough),
    );
  }
  const start = out.length;
  reply.end("eof", out);
  encoded.push(
    out
      .slice(start)
      .map((event) => encode(client, event))
      .join(""),
  );
  if (reply.rejection !== undefined) return sendFailure(response, client, reply.rejection, 502);
  if (stream) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    return void response.end(encoded.join(""));
  }
  sendComplete(response, client, out);
}

interface ExchangeOptions {
  client: Wire;
  upstream: Wire;
  value: unknown;
  version: string | undefined;
  hasBetas: boolean;
  upstreamModel: string;
  stream: boolean;
  flags: CaseFlags;
}

function createExchange({ client, upstream, ...options }: ExchangeOptions): Exchange {
  const { value, version, hasBetas, upstreamModel, stream, flags } = options;
  const unseal = unsealForChecks;
  const seal = sealForChecks;
  const hash = (text: string): string => `h${text.length}`;
  let idCount = 0;
  const newId = (prefix: string): string => `${prefix}_${(idCount += 1)}${Date.now()}`;
  const common = { upstreamModel, unseal, hash };
  const repairs = new Repairs();
  const body = {
    repairs,
    utf8: new TextDecoder(),
    expect: stream ? ("stream" as const) : ("complete" as const),
    passthrough: client === upstream,
  };
  const writer = {
    newId,
    createdAt: 1,
    repairs,
    seal,
    messageId: newId("msg"),
    responseId: "resp_1",
  };
  const connect = <Input, Output extends AnyEvent>(
    reader: Parameters<typeof UpstreamReply.create<Input, Output>>[0],
    translator: ClientTranslator<Input, Output>,
  ) => UpstreamReply.create(reader, translator) as unknown as UpstreamReply<AnyEvent>;
  const limited = limitTokens(value, client, flags.maxTokens);
  if (client === "messages") {
    const request = decodeMessagesRequest(limited, { version });
    if (upstream === "messages") {
      const { body: sent, usedCallIds } = repairMessagesRequest(request, {
        ...common,
        ...flags.messages,
      });
      return {
        body: sent,
        reply: connect(
          new MessagesBody(body),
          new MessagesOverMessages({ ...writer, usedCallIds, forwardsUnknown: hasBetas }),
        ),
      };
    }
    if (upstream === "chat") {
      const profile = withProfileFlags(genericProfile, flags.profile ?? {});
      const { body: sent, ...reply } = translateMessagesToChat(request, { ...common, profile });
      return {
        body: sent,
        reply: connect(new ChatBody(body), new MessagesOverChat({ ...writer, ...reply })),
      };
    }
    const { body: sent, ...reply } = translateMessagesToResponses(request, common);
    return {
      body: sent,
      reply: connect(new ResponsesBody(body), new MessagesOverResponses({ ...writer, ...reply })),
    };
  }
  if (client === "chat") {
    const request = decodeChatRequest(limited);
    const { body: sent, ...reply } = translateChatToMessages(request, {
      ...common,
      ...flags.messages,
    });
    return {
      body: sent,
      reply: connect(new MessagesBody(body), new ChatOverMessages({ ...writer, ...reply })),
    };
  }
  const request = decodeResponsesRequest(limited);
  const { body: sent, ...reply } = translateResponsesToMessages(request, {
    ...common,
    ...flags.messages,
  });
  return {
    body: sent,
    reply: connect(new MessagesBody(body), new ResponsesOverMessages({ ...writer, ...reply })),
  };
}

/** Lowers the limit of the client, as a gateway does after it has learned the upstream's. */
function limitTokens(value: unknown, client: Wire, limit: number | undefined): unknown {
  const request = value as Record<string, unknown>;
  const field = client === "responses" ? "max_output_tokens" : "max_tokens";
  const requested = request[field];
  return limit !== undefined && typeof requested === "number" && requested > limit
    ? { ...request, [field]: limit }
    : value;
}

function encode(client: Wire, event: AnyEvent): string {
  if (client === "chat") return encodeChatEvent(event as ChatStreamEvent);
  return client === "responses"
    ? encodeResponseEvent(event as ResponseEvent)
    : encodeMessageEvent(event as MessageEvent);
}

function sendComplete(response: ServerResponse, client: Wire, out: readonly AnyEvent[]): void {
  if (client === "responses") {
    const complete = collectResponse(out as ResponseEvent[]);
    return sendJson(response, 200, complete ?? {});
  }
  if (client === "chat") {
    const collected = collectChat(out as ChatStreamEvent[]);
    return collected.ok
      ? sendJson(response, 200, collected.completion)
      : sendJson(response, 502, { error: collected.error });
  }
  const collected = collectMessage(out as MessageEvent[]);
  if (collected?.ok === true) return sendJson(response, 200, collected.message);
  const error = collected?.error ?? toMessageError({ code: "upstream_error", message: "no reply" });
  sendJson(response, messageErrorStatuses[error.error.type], error);
}

function sendFailure(
  response: ServerResponse,
  client: Wire,
  failure: UpstreamFailure,
  status: number,
): void {
  if (client !== "messages") return sendJson(response, status, { error: toChatError(failure) });
  const error = toMessageError(failure, { status });
  const { type } = error.error;
  sendJson(response, messageErrorStatuses[type], error);
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
