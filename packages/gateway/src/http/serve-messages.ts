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
  await serveReply(context, services, {
    ...createClientRequest(context, request),
    onUpstreamHeaders: (headers) => addInformationalHeaders(context, services, headers),
  });
}

function createClientRequest(
  { request: { headers }, id }: RequestContext,
  request: MessagesRequest,
): MessagesClientRequest {
  return { wire: "messages", request, headers: selectMessagesHeaders(headers), requestId: id };
}

/** Statuses of a server that does not count tokens, or not now. */
const missingCountStatuses: ReadonlySet<number | undefined> = new Set([404, 405, 429]);

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
        if (!(error instanceof GatewayError)) throw error;
        if (error.code === "upstream_rejected" && !missingCountStatuses.has(error.status))
          throw error;
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
  const record: ExchangeRecord = {
    upstreamModel: target.model,
    attempts: 0,
    lessons: [],
    repairs: new Map(),
  };
  context.record = record;
  const source = new RequestSource(getClientScope(context), request);
  const client = createClientRequest(context, request);
  const exchange = {
    // Without the model: a server that fails to count may still serve the model, which must not be paused.
    targets: [{ ...target, model: "" }],
    signal,
    record,
    source,
    isRetriedByCaller: true,
  };
  const result = await relay.request(exchange, (upstream) => ({
    send: (upstreamRequest) => {
      const { headers, body } = relay.buildMessagesRequest(upstream, target.model, {
        client,
        source,
      });
      return upstreamRequest.send(
        {
          path: "/messages/count_tokens",
          headers: { "content-type": "application/json", accept: "application/json", ...headers },
          body: JSON.stringify(body),
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
      );
    },
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
