import { blobPath, blobsIn } from "@deltawire/tasks";
import { isRunning, nodeOf, runningVersions, summaryOf } from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatNode,
  ChatToCreate,
  ChatVariable,
  KeptChat,
  SaveMore,
} from "@deltawire/tasks/chats";
import { StoreError } from "../error.ts";
import { insertChatBlobRef } from "../sql/blobs.ts";
import {
  deleteRemoval,
  insertRemoval,
  insertVariable,
  markUndone,
  removalSize,
  upsertReplay,
} from "../sql/chat-belongings.ts";
import {
  type ChatHeader,
  chatSpan,
  deleteNode,
  headerPlace,
  insertNode,
} from "../sql/chat-nodes.ts";
import { placeOfNode, setRunning, updateNode } from "../sql/chat-nodes.ts";
import { numberOfWords } from "../sql/chat-search.ts";
import { chatRow, type ChatRow, insertChat, nextStamp, setTags, updateChat } from "../sql/chats.ts";
import type { Connection } from "../sql/connection.ts";
import { overwriting } from "../sql/dialect.ts";
import { forgetRemovalOf } from "../sql/removed-chats.ts";
import { IndexUpdate, type ChangedWords } from "./index-words.ts";
import { PreparedJson } from "./prepared-json.ts";
import { deleteUnusedBlobRefs } from "./still-used.ts";
import { textsOf, wordsByVersion } from "./words-of-node.ts";

/** In a transaction: chats that were not there. The update of the index may have to be finished. */
export function createChats(
  db: Connection,
  chats: readonly ChatToCreate[],
  json = new PreparedJson(),
): IndexUpdate {
  const changed: ChangedWords = { added: [], gone: [] };
  for (const chat of chats) createChat(db, chat, json, changed);
  // Their words last: what else is written between makes FTS5 put away a small piece of index each time.
  return new IndexUpdate(db, changed);
}

function createChat(
  db: Connection,
  { chat, replays = {}, variables = [] }: ChatToCreate,
  json: PreparedJson,
  changed: ChangedWords,
): void {
  if (chatRow(db, chat.chat_id) !== undefined)
    throw new StoreError(
      "store_failed",
      `${chat.chat_id}: another chat has this id, so none of them was created`,
    );
  forgetRemovalOf(db, chat.chat_id);
  const stamp = nextStamp(db);
  const summary = summaryOf({ chat, stamp });
  const number = insertChat(db, summary);
  const row = { number, stamp, deleted_at: null, next_node: 1, next_words: 0 };
  const writing = new ChatWriting(db, { row, stamp, json, words: changed });
  writing.insertHeader(chat);
  for (const node of Object.values(chat.nodes)) writing.writeNode(undefined, node);
  writing.keep({ replays });
  writing.writeBlobs();
  updateChat(db, row, summary);
  for (const variable of variables) addVariable(db, number, variable);
}

/** In a transaction: what of a chat differs from how it was. The update of the index may have to be finished. */
export function saveChat(
  db: Connection,
  before: KeptChat,
  after: Chat,
  more: SaveMore,
  json: PreparedJson,
): { kept: KeptChat; index: IndexUpdate } | "conflict" {
  const row = chatRow(db, after.chat_id);
  if (before.chat.chat_id !== after.chat_id || row?.stamp !== before.stamp) return "conflict";
  const stamp = nextStamp(db);
  const changed: ChangedWords = { added: [], gone: [] };
  const writing = new ChatWriting(db, { row, stamp, json, words: changed });
  writing.updateHeader(before.chat, after);
  for (const [nodeId, node] of Object.entries(before.chat.nodes))
    if (nodeOf(after, nodeId) === undefined) writing.deleteNode(node);
  for (const [nodeId, node] of Object.entries(after.nodes)) {
    const was = nodeOf(before.chat, nodeId);
    if (was !== node) writing.writeNode(was, node);
  }
  writing.keep(more);
  writing.writeBlobs();
  const { deleted_at } = row;
  const kept = { chat: after, stamp, ...(deleted_at === null ? {} : { deleted_at }) };
  updateChat(db, row, summaryOf(kept));
  return { kept, index: new IndexUpdate(db, changed) };
}

/** Everything that `createChats` writes as JSON and that may be large. */
export function* jsonOfNewChats(chats: readonly ChatToCreate[]): Generator<object> {
  for (const { chat, replays = {} } of chats) {
    yield* Object.values(chat.nodes);
    yield* Object.values(replays);
  }
}

/** Everything that `saveChat` writes or replaces as JSON and that may be large. */
export function* jsonOfChanges(
  before: Chat,
  after: Chat,
  { removals = [], replays = {} }: SaveMore,
): Generator<object> {
  for (const [nodeId, node] of Object.entries(before.nodes))
    if (nodeOf(after, nodeId) !== node) yield node;
  for (const [nodeId, node] of Object.entries(after.nodes))
    if (nodeOf(before, nodeId) !== node) yield node;
  yield* removals;
  yield* Object.values(replays);
}

/** Kept once for its call and part; answers with what is kept. */
export function addVariable(db: Connection, chat: number, variable: ChatVariable): ChatVariable {
  const kept = insertVariable(db, chat, variable);
  for (const hash of blobsIn(JSON.stringify(kept))) insertChatBlobRef(db, chat, hash);
  return kept;
}

/**
 * A larger removal that was undone is deleted in a transaction of its own: to write over 25 MB takes 190 ms, beside the 140
 * ms that the messages take.
 */
const deletedAtOnce = 1024 * 1024;

/** The rows of one chat, while it is written. Its `row` counts the numbers that are given out. */
class ChatWriting {
  readonly #db: Connection;
  readonly #row: ChatRow;
  /** Of what is written now. */
  readonly #stamp: number;
  readonly #json: PreparedJson;
  readonly #words: ChangedWords;
  /** Blobs that what is written refers to, and those that what it replaces did. */
  readonly #blobs = new Set<string>();
  readonly #blobsBefore = new Set<string>();

  constructor(
    db: Connection,
    chat: { row: ChatRow; stamp: number; json: PreparedJson; words: ChangedWords },
  ) {
    this.#db = db;
    this.#row = chat.row;
    this.#stamp = chat.stamp;
    this.#json = chat.json;
    this.#words = chat.words;
  }

  insertHeader(chat: Chat): void {
    const { number } = this.#row;
    const place = headerPlace(number);
    const json = this.#toWrite(headerOf(chat));
    insertNode(this.#db, { place, chat: number, nodeId: "", stamp: this.#stamp, json });
    setTags(this.#db, number, chat.tags);
    this.#addWords(place, "", chat.title);
  }

  updateHeader(before: Chat, after: Chat): void {
    const { number } = this.#row;
    const place = headerPlace(number);
    this.#noteBlobsOf(headerOf(before));
    updateNode(this.#db, place, this.#stamp, this.#toWrite(headerOf(after)));
    if (before.tags !== after.tags) setTags(this.#db, number, after.tags);
    if (before.title === after.title) return;
    this.#deleteWords(place, "", before.title);
    this.#addWords(place, "", after.title);
  }

  writeNode(before: ChatNode | undefined, node: ChatNode): void {
    const { number } = this.#row;
    const known = before && placeOfNode(this.#db, number, node.node_id);
    const json = this.#toWrite(node);
    const place = known ?? this.#next("next_node");
    if (known === undefined) {
      const { node_id: nodeId } = node;
      insertNode(this.#db, { place, chat: number, nodeId, stamp: this.#stamp, json });
    } else {
      if (before !== undefined) this.#noteBlobsOf(before);
      updateNode(this.#db, place, this.#stamp, json);
    }
    this.#setRunning(before, node);
    this.#writeWords(place, before, node);
  }

  deleteNode(node: ChatNode): void {
    const place = placeOfNode(this.#db, this.#row.number, node.node_id);
    if (place === undefined) return;
    this.#noteBlobsOf(node);
    deleteNode(this.#db, place, this.#stamp);
    setRunning(this.#db, this.#row.number, node.node_id, []);
    for (const [versionId, words] of wordsByVersion(node))
      this.#deleteWords(place, versionId, words);
  }

  keep({ removals = [], restored, replays = {} }: SaveMore): void {
    const { number } = this.#row;
    if (restored !== undefined) this.#deleteRestored(restored);
    for (const removal of removals)
      insertRemoval(this.#db, number, removal, this.#toWrite(removal));
    for (const [versionId, items] of Object.entries(replays)) {
      const before = upsertReplay(this.#db, number, versionId, this.#toWrite(items));
      for (const hash of blobsIn(before ?? "")) this.#blobsBefore.add(hash);
    }
  }

  #deleteRestored(removalId: string): void {
    const { number } = this.#row;
    const size = removalSize(this.#db, number, removalId) ?? 0;
    if (size > deletedAtOnce) return markUndone(this.#db, number, removalId);
    const undone = overwriting(this.#db, () =>
      deleteRemoval(this.#db, number, removalId, blobPath),
    );
    for (const hash of blobsIn(undone ?? "")) this.#blobsBefore.add(hash);
  }

  writeBlobs(): void {
    const { number } = this.#row;
    for (const hash of this.#blobs) insertChatBlobRef(this.#db, number, hash);
    const replaced = [...this.#blobsBefore].filter((hash) => !this.#blobs.has(hash));
    deleteUnusedBlobRefs(this.#db, number, new Set(replaced));
  }

  #setRunning(before: ChatNode | undefined, node: ChatNode): void {
    if (isRunning(node) || (before !== undefined && isRunning(before)))
      setRunning(this.#db, this.#row.number, node.node_id, runningVersions(node));
  }

  #writeWords(place: number, before: ChatNode | undefined, node: ChatNode): void {
    const { gone, added } = textsOf(before, node);
    for (const [versionId, words] of gone) this.#deleteWords(place, versionId, words);
    for (const [versionId, words] of added) this.#addWords(place, versionId, words);
  }

  #deleteWords(place: number, versionId: string, words: string): void {
    const number = numberOfWords(this.#db, place, versionId);
    if (number !== undefined) this.#words.gone.push({ number, words });
  }

  #addWords(place: number, versionId: string, words: string): void {
    if (words.trim() === "") return;
    const number = this.#next("next_words");
    this.#words.added.push({ number, place, versionId, words, stamp: this.#stamp });
  }

  #next(counter: "next_node" | "next_words"): number {
    const { number } = this.#row;
    const next = this.#row[counter];
    if (next >= chatSpan)
      throw new StoreError(
        "store_failed",
        `a chat can have ${chatSpan} messages and versions: go on in a new one`,
      );
    this.#row[counter] = next + 1;
    return number * chatSpan + next;
  }

  #toWrite(value: object): string {
    const { json, blobs } = this.#json.of(value);
    for (const hash of blobs) this.#blobs.add(hash);
    return json;
  }

  /** The value is the one in the file: the stamp of its chat is the same. */
  #noteBlobsOf(value: object): void {
    for (const hash of this.#json.of(value).blobs) this.#blobsBefore.add(hash);
  }
}

function headerOf({ nodes: _nodes, ...header }: Chat): ChatHeader {
  return header;
}
