import type { ConversationStore, StoredConversation } from "@deltawire/store";
import { decodeResponsesRequest, type JsonObject, type ResponseInputItem } from "@deltawire/wire";
import * as v from "valibot";
import { GatewayError } from "../gateway-error.ts";
import {
  addIds,
  assertStorable,
  createConversationError,
  toConversationItem,
} from "../history/response-history.ts";
import { newId } from "../new-id.ts";
import { invalidRequest } from "../parse-body.ts";
import { readValidatedBody } from "./request-body.ts";
import { getClientScope, sendJson, type RequestContext } from "./request-context.ts";
import type { RouteHandler } from "./server.ts";
import { assertIncludes, buildItemList, parseItemPage } from "./serve-responses.ts";
import type { IdempotentRequests } from "../tasks/idempotent-requests.ts";
import { getScopedIdempotencyKey, withTaskErrors } from "./task-request-params.ts";

export interface ConversationRouteServices {
  /** Throws a GatewayError while the store is closed. */
  getStore: () => ConversationStore;
  idempotentRequests: IdempotentRequests;
}

/** The limits of OpenAI's API. */
const maxItems = 20;
const maxMetadataEntries = 16;
const metadataSchema = v.pipe(
  v.record(v.pipe(v.string(), v.maxLength(64)), v.pipe(v.string(), v.maxLength(512))),
  v.maxEntries(maxMetadataEntries),
);
const itemsSchema = v.pipe(v.array(v.record(v.string(), v.unknown())), v.maxLength(maxItems));

export const newConversationBody = v.object({
  items: v.nullish(itemsSchema),
  metadata: v.nullish(metadataSchema),
});
export const conversationUpdateBody = v.object({ metadata: v.nullable(metadataSchema) });
export const newItemsBody = v.object({ items: itemsSchema });

/** Returns the handlers for conversations and their items. */
export function createConversationHandlers(
  services: ConversationRouteServices,
): Record<
  | "create conversation"
  | "conversation"
  | "update conversation"
  | "delete conversation"
  | "conversation items"
  | "add conversation items"
  | "conversation item"
  | "delete conversation item",
  RouteHandler
> {
  return {
    "create conversation": withTaskErrors(createConversation, services),
    conversation: withTaskErrors(serveConversation, services),
    "update conversation": withTaskErrors(updateConversation, services),
    "delete conversation": withTaskErrors(deleteConversation, services),
    "conversation items": withTaskErrors(listItems, services),
    "add conversation items": withTaskErrors(addItems, services),
    "conversation item": withTaskErrors(serveItem, services),
    "delete conversation item": withTaskErrors(deleteItem, services),
  };
}

async function createConversation(
  context: RequestContext,
  { getStore, idempotentRequests }: ConversationRouteServices,
): Promise<void> {
  const body = await readValidatedBody(context, newConversationBody, { whenEmpty: {} });
  const owner = getClientScope(context);
  const decoded = decodeItems(body.items ?? []);
  assertStorable(decoded, "items");
  const items = decoded.map(toConversationItem);
  const create = async (conversationId: string): Promise<StoredConversation> => {
    const existing = await getStore().getConversation(owner, conversationId);
    if (existing !== undefined) return existing;
    const metadata = JSON.stringify(body.metadata ?? {});
    const conversation = { conversationId, owner, createdAt: Date.now(), metadata };
    await getStore().createConversation(conversation, items);
    return conversation;
  };
  const key = getScopedIdempotencyKey(context);
  const conversation = await (key === undefined
    ? create(newId("conv"))
    : idempotentRequests.run(`conversations ${key}`, body, create, {
        idPrefix: "conv",
        signal: context.signal,
      }));
  sendJson(context.response, 200, toReply(conversation));
}

async function serveConversation(
  context: RequestContext,
  services: ConversationRouteServices,
): Promise<void> {
  sendJson(context.response, 200, toReply(await getConversation(context, services)));
}

async function updateConversation(
  context: RequestContext,
  services: ConversationRouteServices,
): Promise<void> {
  const { metadata } = await readValidatedBody(context, conversationUpdateBody);
  const { pathParam: id } = context;
  const json = JSON.stringify(metadata ?? {});
  await services.getStore().updateConversation(getClientScope(context), id, json);
  await serveConversation(context, services);
}

async function deleteConversation(
  context: RequestContext,
  { getStore }: ConversationRouteServices,
): Promise<void> {
  const { pathParam: id } = context;
  if (!(await getStore().deleteConversation(getClientScope(context), id)))
    throw createConversationError(id);
  sendJson(context.response, 200, { id, object: "conversation.deleted", deleted: true });
}

async function listItems(
  context: RequestContext,
  services: ConversationRouteServices,
): Promise<void> {
  const { pathParam: id, url } = context;
  assertIncludes(url.searchParams);
  await getConversation(context, services);
  const { limit, order, after } = parseItemPage(url.searchParams);
  const page = { limit: limit + 1, order, after };
  const items = await services.getStore().listConversationItems(getClientScope(context), id, page);
  if (items === undefined)
    throw invalidRequest("after", "expected the id of an item of the conversation");
  const data = items.slice(0, limit).map(({ json }) => JSON.parse(json) as JsonObject);
  sendJson(context.response, 200, buildItemList(data, items.length > limit));
}

async function addItems(
  context: RequestContext,
  { getStore }: ConversationRouteServices,
): Promise<void> {
  const body = await readValidatedBody(context, newItemsBody);
  assertIncludes(context.url.searchParams);
  const { pathParam: id } = context;
  const items = decodeItems(body.items);
  assertStorable(items, "items");
  const stored = items.map(toConversationItem);
  if (!(await getStore().addConversationItems(getClientScope(context), id, stored)))
    throw createConversationError(id);
  sendJson(context.response, 200, buildItemList(items, false));
}

async function serveItem(
  context: RequestContext,
  services: ConversationRouteServices,
): Promise<void> {
  const { pathParam: id, secondPathParam: itemId } = context;
  assertIncludes(context.url.searchParams);
  await getConversation(context, services);
  const item = await services.getStore().getConversationItem(getClientScope(context), id, itemId);
  if (item === undefined) throw createItemError(itemId);
  sendJson(context.response, 200, JSON.parse(item.json));
}

async function deleteItem(
  context: RequestContext,
  services: ConversationRouteServices,
): Promise<void> {
  const { pathParam: id, secondPathParam: itemId } = context;
  const conversation = await getConversation(context, services);
  if (!(await services.getStore().deleteConversationItem(getClientScope(context), id, itemId)))
    throw createItemError(itemId);
  sendJson(context.response, 200, toReply(conversation));
}

async function getConversation(
  context: RequestContext,
  { getStore }: ConversationRouteServices,
): Promise<StoredConversation> {
  const { pathParam: id } = context;
  const conversation = await getStore().getConversation(getClientScope(context), id);
  if (conversation === undefined) throw createConversationError(id);
  return conversation;
}

/** Throws a WireError if an item is invalid. Each returned item has an id and a status. */
function decodeItems(items: readonly unknown[]): ResponseInputItem[] {
  const { input } = decodeResponsesRequest({ input: items });
  const decoded = Array.isArray(input) ? input : [];
  const isReference = decoded.findIndex(({ type }) => type === "item_reference");
  if (isReference >= 0)
    throw invalidRequest(`items[${isReference}]`, "send the item itself, not a reference");
  return addIds(decoded, newId("items")).map((item) =>
    item.type === "message" ? { status: "completed", ...item } : item,
  );
}

function toReply({ conversationId, createdAt, metadata }: StoredConversation): JsonObject {
  return {
    id: conversationId,
    object: "conversation",
    created_at: Math.floor(createdAt / 1000),
    metadata: JSON.parse(metadata) as JsonObject,
  };
}

function createItemError(id: string): GatewayError {
  return new GatewayError("item_not_found", `Item with id '${id}' not found in this conversation`);
}
