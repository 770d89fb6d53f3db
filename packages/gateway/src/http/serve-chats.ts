import type { Chats, ExportFormat } from "@deltawire/agent";
import { blobPath, quoteExcerpt } from "@deltawire/tasks";
import {
  sumChatUsage,
  editsBody,
  extractBody,
  maxChatFileValues,
  newChatBody,
  summarizeRemoval,
  summarizeChat,
  undoBody,
} from "@deltawire/tasks/chats";
import type {
  BlobReply,
  ChatChoices,
  ChatListReply,
  ChatReply,
  ChatSearchReply,
  ChatUpdateReply,
  EditsReply,
  ImportReply,
  StoredChat,
  RemovalsReply,
  TagsReply,
  VariablesReply,
} from "@deltawire/tasks/chats";
import { detectUploadMediaType } from "../chats/upload-media-type.ts";
import {
  formatContentDisposition,
  toFileName,
  exportContentSecurityPolicy,
} from "../chats/export-file.ts";
import { invalidRequest } from "../parse-body.ts";
import type { EventStreams } from "../tasks/streams/event-streams.ts";
import { sendJson, type RequestContext } from "./request-context.ts";
import { paginate, parseLimit } from "./pagination.ts";
import { readValidatedBody, readBodyBytes, readJsonBody } from "./request-body.ts";
import {
  createAnswerHandlers,
  toChangeReply,
  type AnswerRouteServices,
} from "./serve-chat-answers.ts";
import { createNotFoundError, withOwnerChecks } from "./route-owners.ts";
import type { RouteHandler, TaskRouteHandlers } from "./server.ts";
import {
  getFirstHeaderValue,
  getScopedIdempotencyKey,
  parseStamp,
  withTaskErrors,
} from "./task-request-params.ts";

export interface ChatRouteServices extends AnswerRouteServices {
  streams: EventStreams;
  loadChoices: () => Promise<ChatChoices>;
}

/** Returns the handlers of all chat routes. */
export function createChatHandlers(services: ChatRouteServices): TaskRouteHandlers {
  const handler = (
    serve: (context: RequestContext, services: ChatRouteServices) => Promise<void>,
  ): RouteHandler => withTaskErrors(serve, services);
  const handlers: TaskRouteHandlers = {
    chats: handler(listChats),
    "create chat": handler(createChat),
    "chat events": handler(streamChatEvents),
    "chat choices": handler(serveChoices),
    "chat tags": handler(listTags),
    "import chats": handler(importChats),
    "open chat": handler(serveChat),
    "delete chat": handler(deleteChat),
    "restore chat": handler(restoreChat),
    "edit chat": handler(editChat),
    "undo deletion": handler(undoDeletion),
    "extract chat": handler(extractChat),
    "export chat": handler(exportChat),
    "chat removals": handler(listRemovals),
    "chat variables": handler(listVariables),
    "upload blob": handler(storeBlob),
    ...createAnswerHandlers(services),
  };
  return withOwnerChecks(handlers, services.store);
}

/** Streams changes to all chats, starting after the given stamp or now. */
async function streamChatEvents(
  context: RequestContext,
  { streams }: ChatRouteServices,
): Promise<void> {
  const chats = { after: readResumeStamp(context) };
  await streams.serve(context, {
    chats,
    cursors: [],
    usesCursorVector: false,
    replayAll: false,
    isReconnect: false,
  });
}

/** Last-Event-ID takes precedence: an EventSource that reconnects still uses its original URL. */
function readResumeStamp({ request, url }: RequestContext): number | undefined {
  const lastEventId = getFirstHeaderValue(request.headers["last-event-id"]);
  const text = lastEventId ?? url.searchParams.get("after");
  if (text === null) return undefined;
  return parseStamp(text, lastEventId === undefined ? "after" : "Last-Event-ID");
}

async function listChats(
  { response, url, owner }: RequestContext,
  { store }: ChatRouteServices,
): Promise<void> {
  const query = url.searchParams;
  const limit = parseLimit(query);
  const tag = query.get("tag");
  const tagFilter = tag === null ? {} : { tag };
  const searchText = query.get("q");
  const before = query.get("before");
  const deleted = parseBooleanParam(query, "deleted");
  if (searchText !== null) {
    if (searchText.trim() === "" || searchText.length > maxQueryCharacters)
      throw invalidRequest("q", `expected a search query of 1 to ${maxQueryCharacters} characters`);
    if (before !== null)
      throw invalidRequest("before", "not supported with q; increase limit instead");
    if (deleted)
      throw invalidRequest("deleted", "not supported with q: deleted chats cannot be searched");
    const data = await store.searchChats(searchText, { owner, limit, ...tagFilter });
    return sendJson(response, 200, { data } satisfies ChatSearchReply);
  }
  const filters = { owner, ...tagFilter, ...(before === null ? {} : { before }), deleted };
  // Read before the rows: a client that streams changes from this stamp may get one twice, but misses none.
  const { head: stamp } = await store.getChatStamps();
  const page = await paginate(
    limit,
    (rowLimit) => store.listChats({ ...filters, limit: rowLimit }),
    ({ chat_id }) => chat_id,
  );
  // An unknown `before` also results in an empty page.
  if (before !== null && page.data.length === 0 && !(await store.owns(owner, "chat", before)))
    throw invalidRequest(
      "before",
      `chat ${quoteExcerpt(before)} not found; start with the first page`,
    );
  sendJson(response, 200, { stamp, ...page } satisfies ChatListReply);
}

/** The longest text that the store searches for. */
export const maxQueryCharacters = 200;

async function createChat(context: RequestContext, services: ChatRouteServices): Promise<void> {
  const newChat = await readValidatedBody(context, newChatBody, { whenEmpty: {} });
  sendCreatedChat(
    context,
    await createIdempotently(context, services, newChat, (id) =>
      services.chats.create(newChat, { owner: context.owner, reservedId: id }),
    ),
  );
}

async function serveChoices(
  { response }: RequestContext,
  { loadChoices }: ChatRouteServices,
): Promise<void> {
  sendJson(response, 200, await loadChoices());
}

async function listTags(
  { response, owner }: RequestContext,
  { store }: ChatRouteServices,
): Promise<void> {
  sendJson(response, 200, { data: await store.listTags(owner) } satisfies TagsReply);
}

async function importChats(context: RequestContext, services: ChatRouteServices): Promise<void> {
  const file = await readJsonBody(context, { minValues: maxChatFileValues });
  const importedChats = await createIdempotently(context, services, file, (id) =>
    services.chats.importFrom(file, { owner: context.owner, reservedId: id }),
  );
  sendJson(context.response, 201, { data: importedChats.map(summarizeChat) } satisfies ImportReply);
}

async function serveChat(
  { response, pathParam, url }: RequestContext,
  { chats }: ChatRouteServices,
): Promise<void> {
  const stamp = url.searchParams.get("since");
  const update =
    stamp === null ? undefined : await chats.openSince(pathParam, parseStamp(stamp, "since"));
  const reply: ChatUpdateReply = update ?? toChatReply(await loadChat(pathParam, chats));
  sendJson(response, 200, reply);
}

async function deleteChat(
  { response, pathParam, url }: RequestContext,
  { chats }: ChatRouteServices,
): Promise<void> {
  await chats.remove(pathParam, { forever: parseBooleanParam(url.searchParams, "forever") });
  response.writeHead(204).end();
}

async function restoreChat(
  { response, pathParam }: RequestContext,
  { chats }: ChatRouteServices,
): Promise<void> {
  sendJson(response, 200, toChatReply(await chats.restore(pathParam)));
}

async function editChat(context: RequestContext, { chats }: ChatRouteServices): Promise<void> {
  const { edits, revision } = await readValidatedBody(context, editsBody);
  const change = await chats.edit(context.pathParam, edits, revision);
  const { added } = change;
  sendJson(context.response, 200, { ...toChangeReply(change), added } satisfies EditsReply);
}

async function undoDeletion(context: RequestContext, { chats }: ChatRouteServices): Promise<void> {
  const { removal_id } = await readValidatedBody(context, undoBody);
  sendJson(context.response, 200, toChangeReply(await chats.undo(context.pathParam, removal_id)));
}

async function extractChat(context: RequestContext, services: ChatRouteServices): Promise<void> {
  const { node_id } = await readValidatedBody(context, extractBody);
  const create = (reservedId?: string) =>
    services.chats.extract(context.pathParam, node_id, { reservedId });
  sendCreatedChat(context, await createIdempotently(context, services, node_id, create));
}

export const exportFormats = [
  "markdown",
  "html",
  "json",
  "openai",
  "glued",
] as const satisfies readonly ExportFormat[];

async function exportChat(
  { response, pathParam, url }: RequestContext,
  { chats }: ChatRouteServices,
): Promise<void> {
  const formatName = url.searchParams.get("format") ?? "markdown";
  const format = exportFormats.find((known) => known === formatName);
  if (format === undefined)
    throw invalidRequest("format", `expected one of ${exportFormats.join(", ")}`);
  const { title, text, mediaType, extension } = await chats.exportAs(pathParam, format);
  response.writeHead(200, {
    "content-type": `${mediaType}; charset=utf-8`,
    "content-length": Buffer.byteLength(text),
    "content-disposition": formatContentDisposition(toFileName(title, extension)),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...(format === "html" ? { "content-security-policy": exportContentSecurityPolicy } : {}),
  });
  response.end(text);
}

async function listRemovals(
  { response, pathParam }: RequestContext,
  services: ChatRouteServices,
): Promise<void> {
  await loadChat(pathParam, services.chats);
  const data = (await services.store.listRemovals(pathParam)).map(summarizeRemoval);
  sendJson(response, 200, { data } satisfies RemovalsReply);
}

async function listVariables(
  { response, pathParam }: RequestContext,
  services: ChatRouteServices,
): Promise<void> {
  await loadChat(pathParam, services.chats);
  const data = await services.store.listVariables(pathParam);
  sendJson(response, 200, { data } satisfies VariablesReply);
}

/** How long an uploaded file is stored if no message uses it: it may be attached to a draft that is sent days later. */
const unusedBlobTtlMs = 30 * 24 * 60 * 60 * 1000;

async function storeBlob(context: RequestContext, { store }: ChatRouteServices): Promise<void> {
  const { request, response, url, owner } = context;
  const filename = url.searchParams.get("filename");
  const contentType = request.headers["content-type"];
  const bytes = await readBodyBytes(context);
  if (bytes.length === 0) throw invalidRequest("", "the body is empty; send the bytes of a file");
  const mediaType = detectUploadMediaType({ contentType, filename, bytes });
  const reply: BlobReply = {
    url: blobPath + (await store.put(bytes, mediaType, { unusedMs: unusedBlobTtlMs, owner })),
    media_type: mediaType,
    size: bytes.length,
    ...(filename === null ? {} : { filename }),
  };
  sendJson(response, 201, reply, { location: reply.url });
}

/** Calls `create`, but only once per Idempotency-Key. The id stored with the key becomes the id of the first chat. */
function createIdempotently<Created>(
  context: RequestContext,
  { idempotentRequests }: ChatRouteServices,
  body: unknown,
  create: (id?: string) => Promise<Created>,
): Promise<Created> {
  const key = getScopedIdempotencyKey(context);
  return key === undefined
    ? create()
    : idempotentRequests.run(key, [context.url.pathname, body], create, {
        idPrefix: "chat",
      });
}

function sendCreatedChat({ response }: RequestContext, storedChat: StoredChat): void {
  const location = `/api/chats/${encodeURIComponent(storedChat.chat.chat_id)}`;
  sendJson(response, 201, toChatReply(storedChat), { location });
}

function toChatReply({ chat, stamp, deleted_at }: StoredChat): ChatReply {
  return {
    chat,
    stamp,
    usage: sumChatUsage(chat),
    ...(deleted_at === undefined ? {} : { deleted_at }),
  };
}

async function loadChat(chatId: string, chats: Chats): Promise<StoredChat> {
  const storedChat = await chats.open(chatId);
  if (storedChat !== undefined) return storedChat;
  throw createNotFoundError("chat", chatId);
}

function parseBooleanParam(query: URLSearchParams, name: string): boolean {
  const value = query.get(name) ?? "false";
  if (value !== "true" && value !== "false") throw invalidRequest(name, "expected true or false");
  return value === "true";
}
