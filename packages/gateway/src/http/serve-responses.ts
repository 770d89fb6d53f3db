import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { StoredResponse } from "@deltawire/store";
import { sseKeepAlive, type JsonObject } from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";
import type { ResponseHistory } from "../history/response-history.ts";
import { invalidRequest } from "../parse-body.ts";
import { clientWires } from "../relay/client-wire.ts";
import { sseHeaders } from "../relay/receiver.ts";
import type { BackgroundResponses } from "../responses/background-responses.ts";
import { parseLimit } from "./pagination.ts";
import { getClientScope, sendJson, type RequestContext } from "./request-context.ts";
import type { RouteHandler } from "./server.ts";
import { withTaskErrors } from "./task-request-params.ts";

export interface ResponseRouteServices {
  history: ResponseHistory;
  background: BackgroundResponses;
}

/** Returns the handlers for stored responses. */
export function createResponseHandlers(
  services: ResponseRouteServices,
): Record<"response" | "delete response" | "cancel response" | "input items", RouteHandler> {
  return {
    response: withTaskErrors(serveResponse, services),
    "delete response": withTaskErrors(deleteResponse, services),
    "cancel response": withTaskErrors(cancelResponse, services),
    "input items": withTaskErrors(listInputItems, services),
  };
}

async function serveResponse(
  context: RequestContext,
  { history, background }: ResponseRouteServices,
): Promise<void> {
  const { pathParam: id, url } = context;
  assertIncludes(url.searchParams);
  const after = parseStartingAfter(url.searchParams);
  const stored = await history.get(id, getClientScope(context));
  const response = toResponseObject(stored);
  if (url.searchParams.get("stream") !== "true") {
    if (after >= 0) throw invalidRequest("starting_after", 'is only used with "stream=true"');
    return sendJson(context.response, 200, response);
  }
  if (response["background"] !== true)
    throw invalidRequest(
      "stream",
      "only responses that were created with background: true can be streamed again",
    );
  await streamResponse(context, background, id, after);
}

/** Streams the events of a response in the background after a number, until it ends. */
export async function streamResponse(
  context: RequestContext,
  background: BackgroundResponses,
  responseId: string,
  after: number,
): Promise<void> {
  const { response, signal } = context;
  response.writeHead(200, sseHeaders);
  response.flushHeaders();
  const keepAlive = setInterval(() => response.write(sseKeepAlive), keepAliveMs);
  try {
    const owner = getClientScope(context);
    for await (const events of background.follow(owner, responseId, after, signal)) {
      context.firstByteAt ??= performance.now();
      const text = events.map(({ type, json }) => `event: ${type}\ndata: ${json}\n\n`).join("");
      if (!response.write(text)) await waitForDrain(response, signal);
    }
  } finally {
    clearInterval(keepAlive);
  }
  // Otherwise the response goes on, and the client can resume it.
  const hasEnded = !signal.aborted && !background.isClosing;
  response.end(hasEnded ? clientWires.responses.streamEnd : undefined);
}

const keepAliveMs = 15_000;

async function waitForDrain(response: ServerResponse, signal: AbortSignal): Promise<void> {
  try {
    await once(response, "drain", { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function cancelResponse(
  context: RequestContext,
  { history, background }: ResponseRouteServices,
): Promise<void> {
  const { pathParam: id } = context;
  const owner = getClientScope(context);
  const before = toResponseObject(await history.get(id, owner));
  if (before["background"] !== true)
    throw new GatewayError(
      "invalid_request",
      "only responses that were created with background: true can be canceled; to cancel another one, close its connection",
    );
  const stored = await background.cancel(owner, id);
  sendJson(context.response, 200, stored === undefined ? before : toResponseObject(stored));
}

export function toResponseObject({ json, output }: StoredResponse): JsonObject {
  return { ...(JSON.parse(json) as JsonObject), output: JSON.parse(output) as JsonObject[] };
}

/** Returns -1 without the parameter. */
function parseStartingAfter(query: URLSearchParams): number {
  const text = query.get("starting_after");
  if (text === null) return -1;
  if (!/^\d{1,9}$/.test(text))
    throw invalidRequest("starting_after", "expected the sequence_number of an event");
  return Number(text);
}

async function deleteResponse(
  context: RequestContext,
  { history, background }: ResponseRouteServices,
): Promise<void> {
  const id = context.pathParam;
  const owner = getClientScope(context);
  await history.delete(id, owner);
  background.discard(owner, id);
  sendJson(context.response, 200, { id, object: "response", deleted: true });
}

async function listInputItems(
  context: RequestContext,
  { history }: ResponseRouteServices,
): Promise<void> {
  const { searchParams } = context.url;
  assertIncludes(searchParams);
  const items = await history.listInputItems(context.pathParam, getClientScope(context));
  sendJson(context.response, 200, paginateItems(items, searchParams));
}

/** Values of `include`. Stored responses contain all that the model returned, so they add nothing. */
const includables: ReadonlySet<string> = new Set([
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
]);

/** Throws a GatewayError (400) if a value of `include` is unknown. */
export function assertIncludes(query: URLSearchParams): void {
  for (const value of [...query.getAll("include"), ...query.getAll("include[]")])
    if (!includables.has(value))
      throw invalidRequest("include", `expected one of ${[...includables].join(", ")}`);
}

export interface ItemPage {
  readonly limit: number;
  readonly order: "asc" | "desc";
  readonly after: string | undefined;
}

/** Reads `limit`, `order` and `after`. Throws a GatewayError (400) if one is invalid. */
export function parseItemPage(query: URLSearchParams): ItemPage {
  const limit = parseLimit(query);
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc")
    throw invalidRequest("order", 'expected "asc" or "desc"');
  return { limit, order, after: query.get("after") ?? undefined };
}

/** Returns the selected page of items, which are in ascending order. */
function paginateItems(items: readonly JsonObject[], query: URLSearchParams): JsonObject {
  const { limit, order, after } = parseItemPage(query);
  const sorted = order === "asc" ? items : items.toReversed();
  const position = after === undefined ? -1 : sorted.findIndex(({ id }) => id === after);
  if (after !== undefined && position < 0)
    throw invalidRequest("after", "expected the id of an item of the list");
  const end = position + 1 + limit;
  return buildItemList(sorted.slice(position + 1, end), end < sorted.length);
}

export function buildItemList(data: JsonObject[], hasMore: boolean): JsonObject {
  return {
    object: "list",
    data,
    first_id: data[0]?.["id"] ?? null,
    last_id: data.at(-1)?.["id"] ?? null,
    has_more: hasMore,
  };
}
