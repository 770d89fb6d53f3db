import { createHash } from "node:crypto";
import { blobsIn, type BlobStore } from "@deltawire/tasks";
import {
  chatToGlued,
  chatToHtmlSteps,
  chatToJson,
  chatToMarkdownSteps,
  chatToOpenAi,
  extractSubtree,
  importChatsSteps,
} from "@deltawire/tasks/chats";
import type {
  BlobReader,
  Chat,
  ChatStore,
  ChatToCreate,
  EditWorld,
  FileBlob,
} from "@deltawire/tasks/chats";
import { runInTurns, yieldToEventLoop } from "../event-loop.ts";
import { unreachable } from "../unreachable.ts";
import { ChatError } from "./chat-error.ts";
import { checkImportSize } from "./chat-size.ts";
import { mustBeSettings } from "./check-chat-settings.ts";

export type ExportFormat = "markdown" | "html" | "json" | "openai" | "glued";

export interface Exported {
  /** Of the chat. */
  readonly title: string;
  readonly mediaType: string;
  readonly extension: string;
  readonly text: string;
}

type ChatFiles = ChatStore & BlobStore;

/** A chat as a file. */
export async function exportedChat(
  chat: Chat,
  format: ExportFormat,
  store: ChatFiles,
  world: EditWorld,
): Promise<Exported> {
  const { title, chat_id } = chat;
  const asText = (mediaType: string, extension: string, text: string): Exported => ({
    title,
    mediaType,
    extension,
    text,
  });
  const asJson = async (value: unknown, extension = "json"): Promise<Exported> => {
    await yieldToEventLoop();
    return asText("application/json", extension, `${JSON.stringify(value, undefined, 2)}\n`);
  };
  switch (format) {
    case "markdown":
      return asText("text/markdown", "md", await runInTurns(chatToMarkdownSteps(chat)));
    case "html": {
      const blobs = await blobsFor(chat, store);
      return asText("text/html", "html", await runInTurns(chatToHtmlSteps(chat, { blobs })));
    }
    case "json": {
      const replays = await store.replays(chat_id);
      const variables = await store.variables(chat_id);
      const blobs = await blobsFor({ chat, replays, variables }, store);
      return asJson(chatToJson({ chat, replays, variables, blobs, exported_at: world.now() }));
    }
    case "openai": {
      const replays = await store.replays(chat_id);
      return asJson(chatToOpenAi(chat, replays, await blobsFor(chat, store)), "openai.json");
    }
    case "glued":
      return asJson(chatToGlued(chat), "glued.json");
    default:
      return unreachable(format);
  }
}

/** The chats of a file, ready to be kept; their blobs are already. Throws all that is wrong with it. */
export async function readChats(
  value: unknown,
  blobs: BlobStore,
  world: EditWorld,
): Promise<ChatToCreate[]> {
  const read = await runInTurns(importChatsSteps(value, { ...world, blobHash }));
  if (!read.ok) throw new ChatError("bad_import", read.problems.slice(0, mostTold).join("; "));
  for (const { chat } of read.chats) mustBeSettings(chat.settings);
  await checkImportSize(read.chats);
  // Those that no chat refers to, should the next step fail, go with the next pruning.
  for (const { media_type, base64 } of Object.values(read.blobs))
    await blobs.put(Buffer.from(base64, "base64"), media_type);
  return [...read.chats];
}

/** Of problems: more are of no help. */
const mostTold = 10;

async function blobsFor(value: unknown, store: BlobStore): Promise<BlobReader> {
  const found = new Map<string, FileBlob>();
  for (const hash of new Set(blobsIn(JSON.stringify(value)))) {
    const blob = await store.get(hash);
    if (blob === undefined) continue;
    const base64 = Buffer.from(blob.bytes).toString("base64");
    found.set(hash, { media_type: blob.mediaType, base64 });
  }
  await yieldToEventLoop();
  return (hash) => found.get(hash);
}

function blobHash(base64: string): string {
  return createHash("sha256").update(Buffer.from(base64, "base64")).digest("hex");
}

/** A part of a chat as a chat of its own, with what belongs to that part and nothing else: it may be shared without the rest. */
export async function extractedChat(
  from: Chat,
  nodeId: string,
  store: Pick<ChatStore, "replays" | "variables">,
  world: EditWorld,
): Promise<ChatToCreate> {
  const extracted = extractSubtree(from, nodeId, world);
  if (!extracted.ok) throw new ChatError(extracted.code, extracted.reason);
  const { chat } = extracted;
  const versions = new Set(
    Object.values(chat.nodes).flatMap((node) =>
      node.kind === "answer" ? node.versions.map(({ version_id }) => version_id) : [],
    ),
  );
  const kept = Object.entries(await store.replays(from.chat_id));
  const replays = Object.fromEntries(kept.filter(([id]) => versions.has(id)));
  const within = JSON.stringify([chat.nodes, replays]);
  const variables = (await store.variables(from.chat_id)).filter(({ call_id, name }) =>
    [call_id, `{{var:${name}}}`].some((word) => within.includes(word)),
  );
  return { chat, replays, variables };
}
