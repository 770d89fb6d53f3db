import type { IncomingHttpHeaders } from "node:http";
import {
  buildTokenCount,
  decodeMessagesRequest,
  WireError,
  type MessagesRequest,
} from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";
import { forwardReply } from "../passthrough/forward-reply.ts";
import { selectInformationalHeaders } from "../passthrough/forwarded-headers.ts";
import type { MessagesClientRequest } from "../relay/client-request.ts";
import { messagesApiVersion } from "../relay/relay-plan.ts";
import { RequestSource } from "../upstream/request-source.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import type { UpstreamHeaders } from "../upstream/send-request.ts";
import type { ModelRouteServices } from "./model-route-services.ts";
import { getClientScope, sendJson, type RequestContext } from "./request-context.ts";
import { readJsonBody } from "./request-body.ts";
import { assertFieldCount, assertModelName, serveReply } from "./serve-model-requests.ts";

/** Serves `POST /v1/messages`. */
export async function serveMessages(
  context: RequestContext,
  services: ModelRouteServices,
): Promise<void> {
  const request = await readMessagesRequest(context, { requiresMaxTokens: true });
  const client: MessagesClientRequest = {
    wire: "messages",
    request,
    headers: selectMessagesHeaders(context.request.headers),
    requestId: context.id,
    onUpstreamHeaders: (headers) => addInformationalHeaders(context, services, headers),
  };
  await serveReply(context, services, client);
}

/** Statuses of a server that does not count tokens. */
const missingCountStatuses: ReadonlySet<number | undefined> = new Set([404, 405, 501]);

/**
 * Serves `POST /v1/messages/count_tokens`: the count of a Messages upstream, else an estimate, which is rather too high, so that
 * clients shorten their history in time.
 */
export async function countMessagesTokens(
  context: RequestContext,
  services: ModelRouteServices,
): Promise<void> {
  const request = await readMessagesRequest(context, { requiresMaxTokens: false });
  const { agents, relay, resolveTargets, usageMeter } = services;
  const { model } = request;
  assertModelName(model);
  context.model = model;
  if (agents?.has(model) !== true) {
    const { accessKey } = context;
    if (accessKey !== undefined) usageMeter?.assertModelAllowed(accessKey, model);
    const [target] = await resolveTargets(model);
    if (target !== undefined && relay.getApi(target, { wire: "messages" }) === "messages")
      try {
        return await forwardCount(context, services, request, target);
      } catch (error) {
        const isMissing = error instanceof GatewayError && missingCountStatuses.has(error.status);
        if (!isMissing) throw error;
      }
  }
  sendJson(context.response, 200, buildTokenCount(request));
}

async function forwardCount(
  context: RequestContext,
  { relay }: ModelRouteServices,
  request: MessagesRequest,
  target: { upstream: string; model: string },
): Promise<void> {
  const { response, signal } = context;
  const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
  context.record = record;
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    "anthropic-version": messagesApiVersion,
    ...selectMessagesHeaders(context.request.headers),
  };
  const source = new RequestSource(getClientScope(context), request);
  const exchange = { targets: [target], signal, record, source };
  const result = await relay.request(exchange, (_upstream, model) => ({
    send: (upstreamRequest) =>
      upstreamRequest.send(
        {
          path: "/messages/count_tokens",
          headers,
          body: JSON.stringify({ ...request, model }),
        },
        {
          signal,
          createReader: (connection) =>
            forwardReply(
              {
                response,
                redactor: relay.redactor,
                onFirstByte: () => (context.firstByteAt = performance.now()),
                onDroppedHeaders: (names) => (record.droppedHeaders = names),
              },
              connection,
            ),
        },
      ),
  }));
  if (result === "aborted") response.destroy();
}

async function readMessagesRequest(
  context: RequestContext,
  options: { requiresMaxTokens: boolean },
): Promise<MessagesRequest> {
  const body = assertFieldCount(await readJsonBody(context));
  const version = context.request.headers["anthropic-version"];
  try {
    return decodeMessagesRequest(body, {
      ...options,
      version: typeof version === "string" ? version : undefined,
    });
  } catch (error) {
    if (error instanceof WireError && isModelMissing(body)) assertModelName(undefined);
    throw error;
  }
}

function isModelMissing(body: unknown): boolean {
  return typeof body === "object" && body !== null && !("model" in body);
}

/** Returns the headers that a Messages upstream receives: those of the API, never a key. */
function selectMessagesHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const selected: [string, string][] = [];
  for (const [name, value] of Object.entries(headers))
    if (/^anthropic-[a-z-]+$/.test(name) && !/key|token|auth/.test(name) && value !== undefined)
      selected.push([name, Array.isArray(value) ? value.join(",") : value]);
  return Object.fromEntries(selected);
}

function addInformationalHeaders(
  { response }: RequestContext,
  { relay }: ModelRouteServices,
  upstreamHeaders: UpstreamHeaders,
): void {
  if (response.headersSent) return;
  const headers = selectInformationalHeaders(upstreamHeaders, relay.redactor);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
