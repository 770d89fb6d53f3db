import { blobPath, findBlobHashes } from "@deltawire/tasks";
import { isRunning, findNode, findRunningVersions, summarizeChat } from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatNode,
  NewChatRecord,
  ChatVariable,
  StoredChat,
  SaveChatOptions,
} from "@deltawire/tasks/chats";
import { StoreError } from "../error.ts";
import { insertChatBlobRef } from "./blobs.ts";
import {
  deleteRemoval,
  insertRemoval,
  insertVariable,
  markRemovalUndone,
  getRemovalSize,
  upsertReplay,
} from "./chat-side-data.ts";
import { rowsPerChat, deleteNodeRow, getHeaderPlace, insertNodeRow } from "./chat-nodes.ts";
import { findNodePlace, replaceRunningAnswers, updateNodeRow } from "./chat-nodes.ts";
import { findIndexEntryNumber } from "./search-index.ts";
import {
  getChatRow,
  type StoredChatRow,
  insertChat,
  incrementStamp,
  replaceChatTags,
  updateChat,
} from "./chats.ts";
import type { SqliteConnection } from "./connection.ts";
import { withSecureDelete } from "./pragmas.ts";
import { deleteRemovedChatMark } from "./erase-chat-rows.ts";
import { SearchIndexUpdate, type IndexChanges } from "./update-search-index.ts";
import { PreparedJson } from "../chats/prepared-json.ts";
import { deleteUnusedBlobRefs } from "./unused-references.ts";
import { toHeader, toStoredChat } from "../chats/chat-header.ts";
import { diffTexts, getTextByVersion } from "../chats/node-text.ts";
import { findTitleChange } from "../chats/title-change.ts";
import { deleteUntitledChat, upsertUntitledChat } from "./untitled-chats.ts";

/** Creates chats. The caller must finish the returned index update. Call it in a transaction. */
export function createChats(
  db: SqliteConnection,
  chats: readonly NewChatRecord[],
  json = new PreparedJson(),
): SearchIndexUpdate {
  const indexChanges: IndexChanges = { added: [], removed: [] };
  for (const chat of chats) createChat(db, chat, json, indexChanges);
  // The index is written last: FTS5 writes a small segment whenever other writes come in between.
  return new SearchIndexUpdate(db, indexChanges);
}

function createChat(
  db: SqliteConnection,
  { chat, owner = "", replays = {}, variables = [] }: NewChatRecord,
  json: PreparedJson,
  indexChanges: IndexChanges,
): void {
  if (getChatRow(db, chat.chat_id) !== undefined)
    throw new StoreError(
      "id_taken",
      `${chat.chat_id}: another chat has this id; nothing was stored`,
    );
  deleteRemovedChatMark(db, chat.chat_id);
  const stamp = incrementStamp(db);
  const summary = summarizeChat({ chat, stamp });
  const number = insertChat(db, owner, summary);
  const row = { number, owner, stamp, deleted_at: null, next_node: 1, next_words: 0 };
  const writer = new ChatWriter(db, { row, stamp, json, indexChanges });
  writer.insertHeader(chat);
  for (const node of Object.values(chat.nodes)) writer.writeNode(undefined, node);
  writer.writeSideData({ replays });
  writer.writeBlobs();
  updateChat(db, row, summary);
  for (const variable of variables) addVariable(db, number, variable);
}

/**
 * Writes the differences between two states of a chat. The caller must finish the returned index update. Call it in a
 * transaction.
 */
export function saveChat(
  db: SqliteConnection,
  before: StoredChat,
  after: Chat,
  saveOptions: SaveChatOptions,
  { json, now }: { json: PreparedJson; now: number },
): { stored: StoredChat; index: SearchIndexUpdate } | "conflict" {
  const row = getChatRow(db, after.chat_id);
  if (before.chat.chat_id !== after.chat_id || row?.stamp !== before.stamp) return "conflict";
  const stamp = incrementStamp(db);
  const indexChanges: IndexChanges = { added: [], removed: [] };
  const writer = new ChatWriter(db, { row, stamp, json, indexChanges });
  writer.updateHeader(before.chat, after);
  for (const [nodeId, node] of Object.entries(before.chat.nodes))
    if (findNode(after, nodeId) === undefined) writer.deleteNode(node);
  for (const [nodeId, node] of Object.entries(after.nodes)) {
    const previous = findNode(before.chat, nodeId);
    if (previous !== node) writer.writeNode(previous, node);
  }
  writer.writeSideData(saveOptions);
  writer.writeBlobs();
  const stored = toStoredChat(after, { ...row, stamp });
  updateChat(db, row, summarizeChat(stored));
  const titleChange = findTitleChange(before.chat, after);
  if (titleChange === "missing") upsertUntitledChat(db, row.number, now);
  if (titleChange === "stored") deleteUntitledChat(db, row.number);
  return { stored, index: new SearchIndexUpdate(db, indexChanges) };
}

/** Stores the variable unless one is stored for the same part of the same call. Returns the stored one. */
export function addVariable(
  db: SqliteConnection,
  chat: number,
  variable: ChatVariable,
): ChatVariable {
  const stored = insertVariable(db, chat, variable);
  for (const hash of findBlobHashes(JSON.stringify(stored))) insertChatBlobRef(db, chat, hash);
  return stored;
}

/**
 * Larger removals are deleted in a separate transaction after they were undone: overwriting 25 MB takes 190 ms, in addition to
 * 140 ms for the messages.
 */
const maxInlineDeleteBytes = 1024 * 1024;

/** Writes the rows of one chat. Increments the counters of `row` when it allocates numbers. */
class ChatWriter {
  readonly #db: SqliteConnection;
  readonly #row: StoredChatRow;
  /** The stamp of this write. */
  readonly #stamp: number;
  readonly #json: PreparedJson;
  readonly #indexChanges: IndexChanges;
  /** Hashes of the blobs that the written values refer to. */
  readonly #blobs = new Set<string>();
  /** Hashes of the blobs that the replaced and deleted values refer to. */
  readonly #replacedBlobs = new Set<string>();

  constructor(
    db: SqliteConnection,
    chat: { row: StoredChatRow; stamp: number; json: PreparedJson; indexChanges: IndexChanges },
  ) {
    this.#db = db;
    this.#row = chat.row;
    this.#stamp = chat.stamp;
    this.#json = chat.json;
    this.#indexChanges = chat.indexChanges;
  }

  insertHeader(chat: Chat): void {
    const { number } = this.#row;
    const place = getHeaderPlace(number);
    const json = this.#serialize(toHeader(chat));
    insertNodeRow(this.#db, { place, chat: number, nodeId: "", stamp: this.#stamp, json });
    replaceChatTags(this.#db, number, chat.tags);
    this.#addText(place, "", chat.title);
  }

  updateHeader(before: Chat, after: Chat): void {
    const { number } = this.#row;
    const place = getHeaderPlace(number);
    this.#trackReplacedBlobs(toHeader(before));
    updateNodeRow(this.#db, place, this.#stamp, this.#serialize(toHeader(after)));
    if (before.tags !== after.tags) replaceChatTags(this.#db, number, after.tags);
    if (before.title === after.title) return;
    this.#removeText(place, "", before.title);
    this.#addText(place, "", after.title);
  }

  writeNode(before: ChatNode | undefined, node: ChatNode): void {
    const { number } = this.#row;
    const existingPlace = before && findNodePlace(this.#db, number, node.node_id);
    const json = this.#serialize(node);
    const place = existingPlace ?? this.#allocateNumber("next_node");
    if (existingPlace === undefined) {
      const { node_id: nodeId } = node;
      insertNodeRow(this.#db, { place, chat: number, nodeId, stamp: this.#stamp, json });
    } else {
      if (before !== undefined) this.#trackReplacedBlobs(before);
      updateNodeRow(this.#db, place, this.#stamp, json);
    }
    this.#setRunning(before, node);
    this.#updateIndexedTexts(place, before, node);
  }

  deleteNode(node: ChatNode): void {
    const place = findNodePlace(this.#db, this.#row.number, node.node_id);
    if (place === undefined) return;
    this.#trackReplacedBlobs(node);
    deleteNodeRow(this.#db, place, this.#stamp);
    replaceRunningAnswers(this.#db, this.#row.number, node.node_id, []);
    for (const [versionId, text] of getTextByVersion(node))
      this.#removeText(place, versionId, text);
  }

  writeSideData({ removals = [], restored, replays = {} }: SaveChatOptions): void {
    const { number } = this.#row;
    if (restored !== undefined) this.#deleteRestored(restored);
    for (const removal of removals)
      insertRemoval(this.#db, number, removal, this.#serialize(removal));
    for (const [versionId, items] of Object.entries(replays)) {
      const before = upsertReplay(this.#db, number, versionId, this.#serialize(items));
      for (const hash of findBlobHashes(before ?? "")) this.#replacedBlobs.add(hash);
    }
  }

  #deleteRestored(removalId: string): void {
    const { number } = this.#row;
    const size = getRemovalSize(this.#db, number, removalId) ?? 0;
    if (size > maxInlineDeleteBytes) return markRemovalUndone(this.#db, number, removalId);
    const json = withSecureDelete(this.#db, () =>
      deleteRemoval(this.#db, number, removalId, blobPath),
    );
    for (const hash of findBlobHashes(json ?? "")) this.#replacedBlobs.add(hash);
  }

  writeBlobs(): void {
    const { number } = this.#row;
    for (const hash of this.#blobs) insertChatBlobRef(this.#db, number, hash);
    const unusedHashes = [...this.#replacedBlobs].filter((hash) => !this.#blobs.has(hash));
    deleteUnusedBlobRefs(this.#db, number, new Set(unusedHashes));
  }

  #setRunning(before: ChatNode | undefined, node: ChatNode): void {
    if (isRunning(node) || (before !== undefined && isRunning(before)))
      replaceRunningAnswers(this.#db, this.#row.number, node.node_id, findRunningVersions(node));
  }

  #updateIndexedTexts(place: number, before: ChatNode | undefined, node: ChatNode): void {
    const { removed, added } = diffTexts(before, node);
    for (const [versionId, text] of removed) this.#removeText(place, versionId, text);
    for (const [versionId, text] of added) this.#addText(place, versionId, text);
  }

  #removeText(place: number, versionId: string, text: string): void {
    const number = findIndexEntryNumber(this.#db, place, versionId);
    if (number !== undefined) this.#indexChanges.removed.push({ number, text });
  }

  #addText(place: number, versionId: string, text: string): void {
    if (text.trim() === "") return;
    const number = this.#allocateNumber("next_words");
    this.#indexChanges.added.push({ number, place, versionId, text, stamp: this.#stamp });
  }

  #allocateNumber(counter: "next_node" | "next_words"): number {
    const { number } = this.#row;
    const next = this.#row[counter];
    if (next >= rowsPerChat)
      throw new StoreError(
        "store_failed",
        `a chat can have at most ${rowsPerChat} messages and versions; continue in a new chat`,
      );
    this.#row[counter] = next + 1;
    return number * rowsPerChat + next;
  }

  #serialize(value: object): string {
    const { json, blobs } = this.#json.get(value);
    for (const hash of blobs) this.#blobs.add(hash);
    return json;
  }

  /** The value equals the stored one, because the stamp of the chat is unchanged. */
  #trackReplacedBlobs(value: object): void {
    for (const hash of this.#json.get(value).blobs) this.#replacedBlobs.add(hash);
  }
}
