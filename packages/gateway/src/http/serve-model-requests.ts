import type { IncomingHttpHeaders } from "node:http";
import {
  decodeChatRequest,
  decodeResponsesRequest,
  type JsonObject,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { ResolvedRequest } from "../history/response-history.ts";
import { clientWires } from "../relay/client-wire.ts";
import { getMaxReplyValues, type ClientRequest } from "../relay/client-request.ts";
import { isCompactionRequest } from "../responses/compact-history.ts";
import { runWithContext } from "../responses/manage-context.ts";
import { serveCompaction } from "./serve-compaction.ts";
import type { StoredResponse } from "@deltawire/store";
import { replayResponse } from "../responses/replay-response.ts";
import { meterRelay } from "../relay/meter-relay.ts";
import { StreamReceiver, CompleteReplyReceiver } from "../relay/receiver.ts";
import { SavingReceiver } from "../relay/saving-receiver.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import { RequestSource } from "../upstream/request-source.ts";
import {
  getClientScope,
  readOptionHeader,
  sendJson,
  type RequestContext,
} from "./request-context.ts";
import { GatewayError } from "../gateway-error.ts";
import { readJsonBody } from "./request-body.ts";
import { getScopedIdempotencyKey, withTaskErrors } from "./task-request-params.ts";
import { streamResponse, toResponseObject } from "./serve-responses.ts";
import type { ModelRouteServices } from "./model-route-services.ts";

/** Each choice is a separate request to a Responses upstream. */
const maxChoices = 16;

export const serveResponses = (context: RequestContext, services: ModelRouteServices) =>
  withTaskErrors(createResponse, services)(context);

async function createResponse(
  context: RequestContext,
  services: ModelRouteServices,
): Promise<void> {
  const request = decodeResponsesRequest(assertFieldCount(await readJsonBody(context)));
  const client: ClientRequest = {
    wire: "responses",
    request,
    isCodex: isCodexClient(context.request.headers),
    reasoning: readOptionHeader(
      context,
      "x-deltawire-reasoning",
      ["summary", "raw"],
      context.client?.reasoning,
      formerReasoningValues,
    ),
  };
  const key = getScopedIdempotencyKey(context);
  if (key === undefined) return serveReply(context, services, client);
  const find = (responseId: string) => services.history.find(responseId, getClientScope(context));
  await services.idempotentRequests.run(
    `responses ${key}`,
    request,
    async (responseId) => {
      const stored = await find(responseId);
      if (stored === undefined) return serveReply(context, services, client, responseId);
      return serveStored(context, services, stored, request.stream === true);
    },
    {
      idPrefix: "resp",
      signal: context.signal,
      isStored: async (responseId) => (await find(responseId)) !== undefined,
    },
  );
}

/** Serves the response of an earlier request with the same Idempotency-Key. */
async function serveStored(
  context: RequestContext,
  { background }: ModelRouteServices,
  stored: StoredResponse,
  isStreamed: boolean,
): Promise<void> {
  const response = toResponseObject(stored);
  if (!isStreamed) return sendJson(context.response, 200, response);
  if (response["background"] === true)
    return streamResponse(context, background, stored.responseId, -1);
  const receiver = new StreamReceiver(
    context.response,
    clientWires.responses,
    () => (context.firstByteAt = performance.now()),
  );
  receiver.end(replayResponse(response), undefined);
}

export async function serveChatCompletions(
  context: RequestContext,
  services: ModelRouteServices,
): Promise<void> {
  const request = decodeChatRequest(assertFieldCount(await readJsonBody(context)));
  const { n } = request;
  if (n !== undefined && n !== null && !(Number.isInteger(n) && n >= 1 && n <= maxChoices))
    throw new GatewayError("invalid_request", `n: expected an integer from 1 to ${maxChoices}`, {
      param: "n",
    });
  await serveReply(context, services, {
    wire: "chat",
    request,
    toolCalls: readOptionHeader(
      context,
      "x-deltawire-tool-calls",
      ["deltas", "complete"],
      context.client?.toolCalls,
      formerToolCallValues,
    ),
  });
}

export const formerReasoningValues: ReadonlyMap<string, "raw"> = new Map([["text", "raw"]]);
const formerToolCallValues: ReadonlyMap<string, "complete"> = new Map([["whole", "complete"]]);

/** Limits the number of fields, because forwarding unknown fields takes time: 350 ms for 100,000 of them. */
export function assertFieldCount(body: unknown): unknown {
  if (typeof body === "object" && body !== null && Object.keys(body).length > maxFields)
    throw new GatewayError("invalid_request", `the body has more than ${maxFields} fields`);
  return body;
}

const maxFields = 1000;

/** Throws a GatewayError (400) if the request names no model. */
export function assertModelName(model: unknown): asserts model is string {
  if (typeof model !== "string" || model === "")
    throw new GatewayError(
      "invalid_request",
      "model: expected the name of a model; GET /v1/models lists them",
      { param: "model" },
    );
}

/** Sends the request to its model or agent, and the reply to the client. */
export async function serveReply(
  context: RequestContext,
  services: ModelRouteServices,
  client: ClientRequest,
  responseId?: string,
): Promise<void> {
  const { agents, usageMeter } = services;
  const { model, stream } = client.request;
  assertModelName(model);
  context.model = model;
  const isInBackground = client.wire === "responses" && client.request.background === true;
  if (isInBackground) assertBackground(client.request, agents?.has(model) === true);
  if (agents?.has(model) === true) {
    const agentServices = await agents.getServices();
    const { serveAgent } = await import("./serve-agent.ts");
    return serveAgent(context, agentServices, client, { agent: model, responseId });
  }
  const { accessKey } = context;
  if (accessKey !== undefined) usageMeter?.assertModelAllowed(accessKey, model);
  if (isInBackground) return serveInBackground(context, services, client, responseId);
  const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
  context.record = record;
  if (client.wire === "responses" && isCompactionRequest(client.request))
    return serveCompaction(context, services, client, { model, record, responseId });
  const isStreamed = stream === true;
  await relayReply(context, services, client, { model, isStreamed, record, responseId });
}

/** Throws a GatewayError (400) if the request cannot run in the background. */
function assertBackground(request: ResponsesRequest, isAgent: boolean): void {
  if (request.store === false)
    throw new GatewayError("invalid_request", "background: needs store: true", {
      param: "background",
    });
  if (isCompactionRequest(request))
    throw new GatewayError("invalid_request", "background: not supported for compaction_trigger", {
      param: "background",
    });
  if (isAgent)
    throw new GatewayError(
      "invalid_request",
      "background: not supported for agents; start a task with POST /api/tasks",
      { param: "background" },
    );
}

/** Starts a response that runs on without its client. */
async function serveInBackground(
  context: RequestContext,
  { history, background, resolveTargets }: ModelRouteServices,
  client: Extract<ClientRequest, { wire: "responses" }>,
  responseId: string | undefined,
): Promise<void> {
  const { accessKey } = context;
  const owner = getClientScope(context);
  await resolveTargets(client.request.model ?? "");
  const resolved = await history.resolve(client.request, owner);
  const response = await background.start(client, resolved, { owner, accessKey, responseId });
  if (client.request.stream === true)
    return streamResponse(context, background, response["id"] as string, -1);
  sendJson(context.response, 200, response);
}

async function relayReply(
  context: RequestContext,
  { relay, history, resolveTargets, usageMeter, summaries }: ModelRouteServices,
  client: ClientRequest,
  {
    model,
    isStreamed,
    record,
    responseId,
  }: {
    model: string;
    isStreamed: boolean;
    record: ExchangeRecord;
    responseId: string | undefined;
  },
): Promise<void> {
  const { response, signal, accessKey } = context;
  const owner = getClientScope(context);
  const targets = await resolveTargets(model);
  const resolved =
    client.wire === "responses" ? await history.resolve(client.request, owner) : undefined;
  const resolvedClient = resolved === undefined ? client : withHistory(client, resolved);
  const source = new RequestSource(owner, resolvedClient.request);
  const wire = clientWires[client.wire];
  const clientReceiver = isStreamed
    ? new StreamReceiver(response, wire, () => (context.firstByteAt = performance.now()))
    : new CompleteReplyReceiver(wire, getMaxReplyValues(client));
  const isStored = resolved !== undefined && client.request.store !== false;
  const receiver = new SavingReceiver({
    receiver: clientReceiver,
    fields: {
      ...(resolved === undefined ? {} : buildHistoryFields(resolved)),
      ...(responseId === undefined ? {} : { id: responseId }),
    },
    save: isStored ? (reply) => history.save(resolved, owner, reply) : undefined,
  });
  const exchange = { client: resolvedClient, targets, receiver, signal, record, source };
  const metering = { key: accessKey, meter: usageMeter, model };
  const result = await runWithContext(meterRelay(relay, metering), exchange, {
    isForwarded: relay.forwardsResponses(targets),
    summaries,
  });
  await receiver.sent;
  if (clientReceiver instanceof StreamReceiver) {
    // The client may have stopped reading without disconnecting.
    if (result === "aborted") response.destroy();
    return;
  }
  if (result === "aborted") return;
  context.firstByteAt = performance.now();
  sendJson(response, 200, clientReceiver.getReply() ?? {});
}

/** Returns the fields of a response that name what it continues. */
export function buildHistoryFields({
  previousResponseId,
  conversation,
}: ResolvedRequest): JsonObject {
  if (previousResponseId !== undefined) return { previous_response_id: previousResponseId };
  return conversation === undefined ? {} : { conversation: { id: conversation.conversationId } };
}

/** Returns the request of a client with the history that it refers to. */
export function withHistory(client: ClientRequest, resolved: ResolvedRequest): ClientRequest {
  if (client.wire !== "responses") return client;
  const { request, previousResponseId, unresolved } = resolved;
  return { ...client, request, previousResponseId, unresolved };
}

/**
 * True if the client is Codex. Codex does not check the status of a finished tool call before it runs it, so incomplete calls
 * must not be sent to it. It shows a clear message for some errors only if they are sent inside the stream.
 */
export function isCodexClient(headers: IncomingHttpHeaders): boolean {
  const { originator } = headers;
  if (typeof originator === "string" && /^codex/i.test(originator)) return true;
  if (/^codex/i.test(headers["user-agent"] ?? "")) return true;
  return Object.keys(headers).some((name) => name.startsWith("x-codex-"));
}
