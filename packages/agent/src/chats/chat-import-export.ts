import { createHash } from "node:crypto";
import { assertNever, findBlobHashes, scopeBlobs, type BlobStore } from "@deltawire/tasks";
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
  ChatStore,
  NewChatRecord,
  EditEnvironment,
  FileBlob,
  StoredChat,
} from "@deltawire/tasks/chats";
import { runTimeSliced, yieldToEventLoop } from "../event-loop.ts";
import { ChatError } from "./chat-error.ts";
import { assertImportSize } from "./chat-size.ts";
import { assertChatSettings } from "./check-chat-settings.ts";

export type ExportFormat = "markdown" | "html" | "json" | "openai" | "glued";

export interface ChatExport {
  /** Title of the chat. */
  readonly title: string;
  readonly mediaType: string;
  readonly extension: string;
  readonly text: string;
}

type ChatFileStore = ChatStore & BlobStore;

/** Exports a chat as a file. */
export async function buildChatExport(
  { chat, owner = "" }: StoredChat,
  format: ExportFormat,
  store: ChatFileStore,
  environment: EditEnvironment,
): Promise<ChatExport> {
  const ownBlobs = scopeBlobs(store, owner);
  const { title, chat_id } = chat;
  const asText = (mediaType: string, extension: string, text: string): ChatExport => ({
    title,
    mediaType,
    extension,
    text,
  });
  const asJson = async (value: unknown, extension = "json"): Promise<ChatExport> => {
    await yieldToEventLoop();
    return asText("application/json", extension, `${JSON.stringify(value, undefined, 2)}\n`);
  };
  switch (format) {
    case "markdown":
      return asText("text/markdown", "md", await runTimeSliced(chatToMarkdownSteps(chat)));
    case "html": {
      const blobs = await loadBlobs(chat, ownBlobs);
      return asText("text/html", "html", await runTimeSliced(chatToHtmlSteps(chat, { blobs })));
    }
    case "json": {
      const replays = await store.getReplays(chat_id);
      const variables = await store.listVariables(chat_id);
      const blobs = await loadBlobs({ chat, replays, variables }, ownBlobs);
      return asJson(
        chatToJson({ chat, replays, variables, blobs, exported_at: environment.now() }),
      );
    }
    case "openai": {
      const replays = await store.getReplays(chat_id);
      return asJson(chatToOpenAi(chat, replays, await loadBlobs(chat, ownBlobs)), "openai.json");
    }
    case "glued":
      return asJson(chatToGlued(chat), "glued.json");
    default:
      return assertNever(format);
  }
}

/**
 * Parses a file of chats and stores its blobs for the owner; the caller stores the chats. Throws a ChatError that lists the
 * problems.
 */
export async function prepareChatImport(
  value: unknown,
  store: BlobStore,
  owner: string,
  environment: EditEnvironment,
): Promise<NewChatRecord[]> {
  const blobs = scopeBlobs(store, owner);
  const importResult = await runTimeSliced(importChatsSteps(value, { ...environment, hashBlob }));
  if (!importResult.ok)
    throw new ChatError(
      "invalid_import",
      importResult.problems.slice(0, maxReportedProblems).join("; "),
    );
  for (const { chat } of importResult.chats) assertChatSettings(chat.settings);
  await assertImportSize(importResult.chats);
  // If a later step fails, unreferenced blobs are removed by the next pruning.
  for (const { media_type, base64 } of Object.values(importResult.blobs))
    await blobs.put(Buffer.from(base64, "base64"), media_type);
  return importResult.chats.map((record) => ({ ...record, owner }));
}

const maxReportedProblems = 10;

async function loadBlobs(value: unknown, blobs: BlobStore): Promise<BlobReader> {
  const blobsByHash = new Map<string, FileBlob>();
  for (const hash of new Set(findBlobHashes(JSON.stringify(value)))) {
    const blob = await blobs.get(hash);
    if (blob === undefined) continue;
    const base64 = Buffer.from(blob.bytes).toString("base64");
    blobsByHash.set(hash, { media_type: blob.mediaType, base64 });
  }
  await yieldToEventLoop();
  return (hash) => blobsByHash.get(hash);
}

function hashBlob(base64: string): string {
  return createHash("sha256").update(Buffer.from(base64, "base64")).digest("hex");
}

/** Copies a subtree to a new chat, with only the replays and variables that it uses, so that it can be shared on its own. */
export async function prepareChatExtract(
  { chat: source, owner = "" }: StoredChat,
  nodeId: string,
  store: Pick<ChatStore, "getReplays" | "listVariables">,
  environment: EditEnvironment,
): Promise<NewChatRecord> {
  const extraction = extractSubtree(source, nodeId, environment);
  if (!extraction.ok) throw new ChatError(extraction.code, extraction.reason);
  const { chat } = extraction;
  const versionIds = new Set(
    Object.values(chat.nodes).flatMap((node) =>
      node.kind === "answer" ? node.versions.map(({ version_id }) => version_id) : [],
    ),
  );
  const storedReplays = Object.entries(await store.getReplays(source.chat_id));
  const replays = Object.fromEntries(storedReplays.filter(([id]) => versionIds.has(id)));
  const searchedText = JSON.stringify([chat.nodes, replays]);
  const variables = (await store.listVariables(source.chat_id)).filter(({ call_id, name }) =>
    [call_id, `{{var:${name}}}`].some((needle) => searchedText.includes(needle)),
  );
  return { chat, owner, replays, variables };
}
