import {
  decodeResponsesRequest,
  estimateRequestTokens,
  type JsonObject,
  type ResponseEvent,
  type ResponsesRequest,
  type ResponseUsage,
} from "@deltawire/wire";
import type { AccessKey } from "@deltawire/store";
import { GatewayError, toErrorReply } from "../gateway-error.ts";
import { addIds, type ResolvedRequest } from "../history/response-history.ts";
import { newId } from "../new-id.ts";
import { clientWires } from "../relay/client-wire.ts";
import { meterRelay } from "../relay/meter-relay.ts";
import { StreamReceiver, type ReplyReceiver } from "../relay/receiver.ts";
import type { ClientRequest } from "../relay/client-request.ts";
import {
  buildCompactionItem,
  listUserMessages,
  summarize,
  type CompactOptions,
} from "../responses/compact-history.ts";
import { buildNewResponse, completeResponse } from "../responses/new-response.ts";
import { RequestSource } from "../upstream/request-source.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import { readJsonBody } from "./request-body.ts";
import { getClientScope, sendJson, type RequestContext } from "./request-context.ts";
import type { ModelRouteServices } from "./model-route-services.ts";
import { withTaskErrors } from "./task-request-params.ts";

/** How often a client is sent an event while the model writes the summary. */
const keepAliveMs = 15_000;

export const serveCompact = (
  context: RequestContext,
  services: ModelRouteServices,
): Promise<void> | void => withTaskErrors(compact, services)(context);

export const serveInputTokens = (
  context: RequestContext,
  services: ModelRouteServices,
): Promise<void> | void => withTaskErrors(countInputTokens, services)(context);

/** Returns the messages of the user and a sealed summary of everything else. */
async function compact(context: RequestContext, services: ModelRouteServices): Promise<void> {
  const request = decodeResponsesRequest(await readJsonBody(context));
  const { history, usageMeter } = services;
  const model = getModel(request);
  context.model = model;
  const { accessKey } = context;
  if (accessKey !== undefined) usageMeter?.assertModelAllowed(accessKey, model);
  const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
  context.record = record;
  const resolved = await history.resolve(request, getClientScope(context));
  if (resolved.unresolved !== undefined) throw resolved.unresolved;
  const options = await buildOptions(context, services, { model, record, request });
  const summary = await summarize(resolved.request, options);
  if (summary === undefined) return;
  context.firstByteAt = performance.now();
  const id = newId("resp");
  sendJson(context.response, 200, {
    id,
    object: "response.compaction",
    created_at: Math.floor(Date.now() / 1000),
    output: [
      ...addIds(listUserMessages(resolved.items), id).map((item) => ({
        ...item,
        status: "completed",
      })),
      buildCompactionItem(services.summaries.sealSummary({ summary: summary.text })),
    ],
    usage: summary.usage,
  });
}

/** Serves a request whose last item is a `compaction_trigger`: its response has exactly one item, a sealed summary. */
export async function serveCompaction(
  context: RequestContext,
  services: ModelRouteServices,
  { request }: Extract<ClientRequest, { wire: "responses" }>,
  exchange: { model: string; record: ExchangeRecord; responseId: string | undefined },
): Promise<void> {
  const { response, signal, accessKey } = context;
  const owner = getClientScope(context);
  const resolved = await services.history.resolve(request, owner);
  const setFirstByte = (): void => void (context.firstByteAt = performance.now());
  const receiver =
    request.stream === true
      ? new StreamReceiver(response, clientWires.responses, setFirstByte)
      : undefined;
  const options = { ...exchange, owner, accessKey, signal, receiver };
  const completed = await streamCompaction(services, request, resolved, options);
  if (receiver !== undefined || completed === undefined) return;
  setFirstByte();
  sendJson(response, 200, completed);
}

/**
 * Sends the events of a compaction to the receiver, if there is one. Returns the completed response, which is stored unless the
 * request says otherwise; undefined if it was aborted or has failed in the stream.
 */
export async function streamCompaction(
  services: ModelRouteServices,
  request: ResponsesRequest,
  resolved: ResolvedRequest,
  exchange: {
    model: string;
    record: ExchangeRecord;
    responseId?: string | undefined;
    owner: string;
    accessKey: AccessKey | undefined;
    signal: AbortSignal;
    receiver: ReplyReceiver | undefined;
  },
): Promise<JsonObject | undefined> {
  const { history, summaries, resolveTargets } = services;
  const { owner, accessKey, signal, record, model } = exchange;
  if (resolved.unresolved !== undefined) throw resolved.unresolved;
  const response = buildNewResponse(request, resolved, { responseId: exchange.responseId });
  const stream = new CompactionStream(exchange.receiver, response);
  try {
    const targets = await resolveTargets(model);
    const source = new RequestSource(owner, request);
    const relay = createRelay(services, accessKey, model);
    const options = { relay, targets, signal, record, source };
    const summary = await summarize(resolved.request, options);
    if (summary === undefined) return undefined;
    const item = buildCompactionItem(summaries.sealSummary({ summary: summary.text }));
    const completed = stream.complete(item, summary.usage);
    if (request.store !== false) await history.save(resolved, owner, completed);
    stream.end();
    return completed;
  } catch (error) {
    stream.fail(error);
    return undefined;
  } finally {
    stream.close();
  }
}

/** Returns an estimate: upstreams count tokens only when they are asked for a reply. */
async function countInputTokens(
  context: RequestContext,
  { history, resolveTargets }: ModelRouteServices,
): Promise<void> {
  const request = decodeResponsesRequest(await readJsonBody(context));
  const model = getModel(request);
  context.model = model;
  await resolveTargets(model);
  const resolved = await history.resolve(request, getClientScope(context));
  if (resolved.unresolved !== undefined) throw resolved.unresolved;
  const input_tokens = Math.ceil(estimateRequestTokens(resolved.request));
  sendJson(context.response, 200, {
    object: "response.input_tokens",
    input_tokens,
    estimated: true,
  });
}

async function buildOptions(
  context: RequestContext,
  services: ModelRouteServices,
  { model, record, request }: { model: string; record: ExchangeRecord; request: object },
): Promise<CompactOptions> {
  const { signal, accessKey } = context;
  const relay = createRelay(services, accessKey, model);
  const targets = await services.resolveTargets(model);
  const source = new RequestSource(getClientScope(context), request);
  return { relay, targets, signal, record, source };
}

function createRelay(
  { relay, usageMeter }: ModelRouteServices,
  key: AccessKey | undefined,
  model: string,
): CompactOptions["relay"] {
  return meterRelay(relay, { key, meter: usageMeter, model });
}

function getModel({ model }: { model?: string | null }): string {
  if (typeof model === "string" && model !== "") return model;
  throw new GatewayError(
    "invalid_request",
    "model: expected the name of a model; GET /v1/models lists them",
    { param: "model" },
  );
}

/** Sends the events of a response that consists of one compaction item. */
class CompactionStream {
  readonly #receiver: ReplyReceiver | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #response: JsonObject;
  #nextNumber = 0;
  #lastEvents: ResponseEvent[] = [];

  constructor(receiver: ReplyReceiver | undefined, response: JsonObject) {
    this.#receiver = receiver;
    this.#response = response;
    if (receiver !== undefined) this.#timer = setInterval(() => this.#keepAlive(), keepAliveMs);
  }

  /** Returns the completed response. */
  complete(item: JsonObject, usage: ResponseUsage | null): JsonObject {
    const usageFields = usage as unknown as JsonObject | null;
    const completed = completeResponse(this.#response, [item], usageFields);
    this.#lastEvents = [
      ...this.#begin(),
      this.#event("response.output_item.added", { output_index: 0, item }),
      this.#event("response.output_item.done", { output_index: 0, item }),
      this.#event("response.completed", { response: completed }),
    ];
    this.#response = completed;
    return completed;
  }

  end(): void {
    this.#receiver?.end(this.#lastEvents, undefined, undefined);
  }

  /** Throws the error if the client can still receive its status. Codex has a message for a full context only in a stream. */
  fail(error: unknown): void {
    const receiver = this.#receiver;
    const isTooLong = error instanceof GatewayError && error.code === "context_length_exceeded";
    if (receiver === undefined || (!receiver.hasSent && !isTooLong)) throw error;
    const { code, message } = toErrorReply(error).body.error as { code: string; message: string };
    const response = { ...this.#response, status: "failed", error: { code, message } };
    receiver.end([...this.#begin(), this.#event("response.failed", { response })], undefined, {
      code,
      message,
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #keepAlive(): void {
    const event = this.#nextNumber === 0 ? [] : [this.#progressEvent("response.in_progress")];
    this.#receiver?.send([...this.#begin(), ...event], undefined);
  }

  #begin(): ResponseEvent[] {
    if (this.#nextNumber > 0) return [];
    return [this.#progressEvent("response.created"), this.#progressEvent("response.in_progress")];
  }

  #progressEvent(type: string): ResponseEvent {
    return this.#event(type, { response: this.#response });
  }

  #event(type: string, fields: JsonObject): ResponseEvent {
    const sequence_number = this.#nextNumber;
    this.#nextNumber += 1;
    return { type, ...fields, sequence_number } as unknown as ResponseEvent;
  }
}
