import type { Chats, ExportFormat } from "@deltawire/agent";
import { blobPath, quoted } from "@deltawire/tasks";
import {
  chatUsage,
  editsBody,
  extractBody,
  maxChatFileValues,
  newChatBody,
  removalSummary,
  summaryOf,
  undoBody,
} from "@deltawire/tasks/chats";
import type {
  BlobReply,
  ChatChoices,
  ChatListReply,
  ChatReply,
  ChatSearchReply,
  ChatSinceReply,
  EditsReply,
  ImportReply,
  KeptChat,
  RemovalsReply,
  TagsReply,
  VariablesReply,
} from "@deltawire/tasks/chats";
import { mediaTypeOfUpload } from "../chats/blob-upload.ts";
import { attachmentHeader, fileNameOf, pagePolicy } from "../chats/export-file.ts";
import { invalid } from "../parse-body.ts";
import type { EventStreams } from "../tasks/follow/event-streams.ts";
import { sendJson, type Call } from "./call.ts";
import { pageOf, readLimit } from "./listed-page.ts";
import { Problem } from "../problem.ts";
import { readBody, readBytes, readJson } from "./request-body.ts";
import { answerHandlers, changedReply, type AnswerServer } from "./serve-chat-answers.ts";
import type { Handler, TaskHandlers } from "./server.ts";
import { headerOf, idempotencyKey, readStamp, served } from "./task-calls.ts";

export interface ChatServer extends AnswerServer {
  streams: EventStreams;
  choices: () => Promise<ChatChoices>;
}

/** The handlers of all routes that are about chats. */
export function chatHandlers(server: ChatServer): TaskHandlers {
  const handler = (serve: (call: Call, server: ChatServer) => Promise<void>): Handler =>
    served(serve, server);
  return {
    chats: handler(listChats),
    "create chat": handler(createChat),
    "chat events": handler(followChats),
    "chat choices": handler(serveChoices),
    "chat tags": handler(serveTags),
    "import chats": handler(importChats),
    "open chat": handler(serveChat),
    "delete chat": handler(deleteChat),
    "restore chat": handler(restoreChat),
    "edit chat": handler(editChat),
    "undo deletion": handler(undoDeletion),
    "extract chat": handler(extractChat),
    "export chat": handler(exportChat),
    "chat removals": handler(serveRemovals),
    "chat variables": handler(serveVariables),
    "keep blob": handler(keepBlob),
    ...answerHandlers(server),
  };
}

/** The changes of all chats, from a stamp on or from now on. */
async function followChats(call: Call, { streams }: ChatServer): Promise<void> {
  const chats = { after: lastStamp(call) };
  await streams.serve(call, {
    chats,
    cursors: [],
    several: false,
    replayAll: false,
    cameBack: false,
  });
}

/** An EventSource that comes back still has the address that it began with. */
function lastStamp({ request, url }: Call): number | undefined {
  const lastEventId = headerOf(request.headers["last-event-id"]);
  const text = lastEventId ?? url.searchParams.get("after");
  if (text === null) return undefined;
  return readStamp(text, lastEventId === undefined ? "after" : "Last-Event-ID");
}

async function listChats({ response, url }: Call, { store }: ChatServer): Promise<void> {
  const query = url.searchParams;
  const limit = readLimit(query);
  const tag = query.get("tag");
  const ofTag = tag === null ? {} : { tag };
  const words = query.get("q");
  const before = query.get("before");
  const deleted = yesOrNo(query, "deleted");
  if (words !== null) {
    if (words.trim() === "" || words.length > maxQueryCharacters)
      throw invalid(
        "q",
        `expected words to look for, ${maxQueryCharacters} characters at the most`,
      );
    if (before !== null) throw invalid("before", "what is found has no pages; raise the limit");
    if (deleted) throw invalid("deleted", "what is deleted is not searched; restore it first");
    const data = await store.searchChats(words, { limit, ...ofTag });
    return sendJson(response, 200, { data } satisfies ChatSearchReply);
  }
  const more = { ...ofTag, ...(before === null ? {} : { before }), deleted };
  // Before the rows: who follows from here is rather told twice of a change than never.
  const { head: stamp } = await store.chatStamps();
  const page = await pageOf(
    limit,
    (limit) => store.listChats({ ...more, limit }),
    ({ chat_id }) => chat_id,
  );
  // Behind a chat that there is not stands nothing.
  if (before !== null && page.data.length === 0 && (await store.chat(before)) === undefined)
    throw invalid("before", `there is no chat ${quoted(before)}; begin with the first page`);
  sendJson(response, 200, { stamp, ...page } satisfies ChatListReply);
}

/** What the store looks for at the most. */
export const maxQueryCharacters = 200;

async function createChat(call: Call, server: ChatServer): Promise<void> {
  const asked = await readBody(call, newChatBody, { whenEmpty: {} });
  sendNew(call, await madeOnce(call, server, asked, (id) => server.chats.create(asked, id)));
}

async function serveChoices({ response }: Call, { choices }: ChatServer): Promise<void> {
  sendJson(response, 200, await choices());
}

async function serveTags({ response }: Call, { store }: ChatServer): Promise<void> {
  sendJson(response, 200, { data: await store.chatTags() } satisfies TagsReply);
}

async function importChats(call: Call, server: ChatServer): Promise<void> {
  const file = await readJson(call, { minValues: maxChatFileValues });
  const made = await madeOnce(call, server, file, (id) => server.chats.importFrom(file, id));
  sendJson(call.response, 201, { data: made.map(summaryOf) } satisfies ImportReply);
}

async function serveChat({ response, rest, url }: Call, { chats }: ChatServer): Promise<void> {
  const stamp = url.searchParams.get("since");
  const since = stamp === null ? undefined : await chats.openSince(rest, readStamp(stamp, "since"));
  const reply: ChatSinceReply = since ?? chatReply(await opened(rest, chats));
  sendJson(response, 200, reply);
}

async function deleteChat({ response, rest, url }: Call, { chats }: ChatServer): Promise<void> {
  await chats.remove(rest, { forever: yesOrNo(url.searchParams, "forever") });
  response.writeHead(204).end();
}

async function restoreChat({ response, rest }: Call, { chats }: ChatServer): Promise<void> {
  sendJson(response, 200, chatReply(await chats.restore(rest)));
}

async function editChat(call: Call, { chats }: ChatServer): Promise<void> {
  const { edits, revision } = await readBody(call, editsBody);
  const changed = await chats.edit(call.rest, edits, revision);
  const { added } = changed;
  sendJson(call.response, 200, { ...changedReply(changed), added } satisfies EditsReply);
}

async function undoDeletion(call: Call, { chats }: ChatServer): Promise<void> {
  const { removal_id } = await readBody(call, undoBody);
  sendJson(call.response, 200, changedReply(await chats.undo(call.rest, removal_id)));
}

async function extractChat(call: Call, server: ChatServer): Promise<void> {
  const { node_id } = await readBody(call, extractBody);
  const make = (id?: string) => server.chats.extract(call.rest, node_id, id);
  sendNew(call, await madeOnce(call, server, node_id, make));
}

export const exportFormats = [
  "markdown",
  "html",
  "json",
  "openai",
  "glued",
] as const satisfies readonly ExportFormat[];

async function exportChat({ response, rest, url }: Call, { chats }: ChatServer): Promise<void> {
  const asked = url.searchParams.get("format") ?? "markdown";
  const format = exportFormats.find((each) => each === asked);
  if (format === undefined) throw invalid("format", `expected one of ${exportFormats.join(", ")}`);
  const { title, text, mediaType, extension } = await chats.exportAs(rest, format);
  response.writeHead(200, {
    "content-type": `${mediaType}; charset=utf-8`,
    "content-length": Buffer.byteLength(text),
    "content-disposition": attachmentHeader(fileNameOf(title, extension)),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...(format === "html" ? { "content-security-policy": pagePolicy } : {}),
  });
  response.end(text);
}

async function serveRemovals({ response, rest }: Call, server: ChatServer): Promise<void> {
  await opened(rest, server.chats);
  const data = (await server.store.removals(rest)).map(removalSummary);
  sendJson(response, 200, { data } satisfies RemovalsReply);
}

async function serveVariables({ response, rest }: Call, server: ChatServer): Promise<void> {
  await opened(rest, server.chats);
  const data = await server.store.variables(rest);
  sendJson(response, 200, { data } satisfies VariablesReply);
}

/** An attachment lives as long as the draft that it is attached to, which may be sent days later. */
const unsentMs = 30 * 24 * 60 * 60 * 1000;

async function keepBlob(call: Call, { store }: ChatServer): Promise<void> {
  const { request, response, url } = call;
  const filename = url.searchParams.get("filename");
  const contentType = request.headers["content-type"];
  const bytes = await readBytes(call);
  if (bytes.length === 0) throw invalid("", "the body is empty; send the bytes of a file");
  const mediaType = mediaTypeOfUpload({ contentType, filename, bytes });
  const kept: BlobReply = {
    url: blobPath + (await store.put(bytes, mediaType, { unusedMs: unsentMs })),
    media_type: mediaType,
    size: bytes.length,
    ...(filename === null ? {} : { filename }),
  };
  sendJson(response, 201, kept, { location: kept.url });
}

/** With a key once: then the chat, or the first of several, gets the id that is kept with it. */
function madeOnce<Made>(
  call: Call,
  { keyed }: ChatServer,
  body: unknown,
  make: (promised?: string) => Promise<Made>,
): Promise<Made> {
  const key = idempotencyKey(call);
  return key === undefined ? make() : keyed.run(key, [call.url.pathname, body], make, "chat");
}

function sendNew({ response }: Call, kept: KeptChat): void {
  const location = `/api/chats/${encodeURIComponent(kept.chat.chat_id)}`;
  sendJson(response, 201, chatReply(kept), { location });
}

function chatReply({ chat, stamp, deleted_at }: KeptChat): ChatReply {
  return {
    chat,
    stamp,
    usage: chatUsage(chat),
    ...(deleted_at === undefined ? {} : { deleted_at }),
  };
}

async function opened(chatId: string, chats: Chats): Promise<KeptChat> {
  const kept = await chats.open(chatId);
  if (kept !== undefined) return kept;
  throw new Problem("unknown_chat", `there is no chat ${quoted(chatId)}`);
}

function yesOrNo(query: URLSearchParams, name: string): boolean {
  const given = query.get(name) ?? "false";
  if (given !== "true" && given !== "false") throw invalid(name, "expected true or false");
  return given === "true";
}
