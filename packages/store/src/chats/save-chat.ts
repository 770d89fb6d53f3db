import { blobsIn } from "@deltawire/tasks";
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
import { deleteChatBlobRef, insertChatBlobRef } from "../sql/blobs.ts";
import {
  deleteRemoval,
  insertRemoval,
  insertVariable,
  upsertReplay,
} from "../sql/chat-belongings.ts";
import {
  type ChatHeader,
  chatSpan,
  deleteNode,
  headerPlace,
  insertNode,
  jsonAt,
} from "../sql/chat-nodes.ts";
import { placeOfNode, setRunning, updateNode } from "../sql/chat-nodes.ts";
import { deleteWords, insertWords, numberOfWords, type WordsRow } from "../sql/chat-search.ts";
import { chatRow, type ChatRow, insertChat, nextStamp, setTags, updateChat } from "../sql/chats.ts";
import type { Connection } from "../sql/connection.ts";
import { overwriting } from "../sql/dialect.ts";
import { forgetRemovalOf } from "../sql/removed-chats.ts";
import { indexedText } from "./search-terms.ts";
import { textsOf, wordsByVersion } from "./words-of-node.ts";

/** In a transaction: chats that were not there. */
export function createChats(db: Connection, chats: readonly ChatToCreate[]): void {
  // Their words last: what else is written between makes FTS5 put away a small piece of index each time.
  for (const writing of chats.map((chat) => createChat(db, chat))) writing.writeWords();
}

function createChat(
  db: Connection,
  { chat, replays = {}, variables = [] }: ChatToCreate,
): ChatWriting {
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
  const writing = new ChatWriting(db, row, stamp);
  writing.insertHeader(chat);
  for (const node of Object.values(chat.nodes)) writing.writeNode(undefined, node);
  writing.keep({ replays });
  writing.writeBlobs();
  updateChat(db, row, summary);
  for (const variable of variables) addVariable(db, number, variable);
  return writing;
}

/** In a transaction: what of a chat differs from how it was. */
export function saveChat(
  db: Connection,
  before: KeptChat,
  after: Chat,
  more: SaveMore,
): KeptChat | "conflict" {
  const row = chatRow(db, after.chat_id);
  if (before.chat.chat_id !== after.chat_id || row?.stamp !== before.stamp) return "conflict";
  const stamp = nextStamp(db);
  const writing = new ChatWriting(db, row, stamp);
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
  writing.writeWords();
  return kept;
}

/** Kept once for its call and part; answers with what is kept. */
export function addVariable(db: Connection, chat: number, variable: ChatVariable): ChatVariable {
  const kept = insertVariable(db, chat, variable);
  for (const hash of blobsIn(JSON.stringify(kept))) insertChatBlobRef(db, chat, hash);
  return kept;
}

/** The rows of one chat, while it is written. Its `row` counts the numbers that are given out. */
class ChatWriting {
  readonly #db: Connection;
  readonly #row: ChatRow;
  /** Of what is written now. */
  readonly #stamp: number;
  readonly #words: WordsRow[] = [];
  readonly #wordsGone: Pick<WordsRow, "number" | "text">[] = [];
  /** Blobs that what is written refers to, and those that what it replaces did. */
  readonly #blobs = new Set<string>();
  readonly #blobsBefore = new Set<string>();

  constructor(db: Connection, row: ChatRow, stamp: number) {
    this.#db = db;
    this.#row = row;
    this.#stamp = stamp;
  }

  insertHeader(chat: Chat): void {
    const { number } = this.#row;
    const place = headerPlace(number);
    const json = this.#json(headerOf(chat));
    insertNode(this.#db, { place, chat: number, nodeId: "", stamp: this.#stamp, json });
    setTags(this.#db, number, chat.tags);
    this.#addWords(place, "", chat.title);
  }

  updateHeader(before: Chat, after: Chat): void {
    const { number } = this.#row;
    const place = headerPlace(number);
    this.#noteBlobsAt(place);
    updateNode(this.#db, place, this.#stamp, this.#json(headerOf(after)));
    if (before.tags !== after.tags) setTags(this.#db, number, after.tags);
    if (before.title === after.title) return;
    this.#deleteWords(place, "", before.title);
    this.#addWords(place, "", after.title);
  }

  writeNode(before: ChatNode | undefined, node: ChatNode): void {
    const { number } = this.#row;
    const known = before && placeOfNode(this.#db, number, node.node_id);
    const json = this.#json(node);
    const place = known ?? this.#next("next_node");
    if (known === undefined) {
      const { node_id: nodeId } = node;
      insertNode(this.#db, { place, chat: number, nodeId, stamp: this.#stamp, json });
    } else {
      this.#noteBlobsAt(place);
      updateNode(this.#db, place, this.#stamp, json);
    }
    this.#setRunning(before, node);
    this.#writeWords(place, before, node);
  }

  deleteNode(node: ChatNode): void {
    const place = placeOfNode(this.#db, this.#row.number, node.node_id);
    if (place === undefined) return;
    this.#noteBlobsAt(place);
    deleteNode(this.#db, place, this.#stamp);
    setRunning(this.#db, this.#row.number, node.node_id, []);
    for (const [versionId, words] of wordsByVersion(node))
      this.#deleteWords(place, versionId, words);
  }

  keep({ removals = [], restored, replays = {} }: SaveMore): void {
    const { number } = this.#row;
    if (restored !== undefined) {
      const undone = overwriting(this.#db, () => deleteRemoval(this.#db, number, restored));
      for (const hash of blobsIn(undone ?? "")) this.#blobsBefore.add(hash);
    }
    for (const removal of removals) insertRemoval(this.#db, number, removal, this.#json(removal));
    for (const [versionId, items] of Object.entries(replays)) {
      const before = upsertReplay(this.#db, number, versionId, this.#json(items));
      for (const hash of blobsIn(before ?? "")) this.#blobsBefore.add(hash);
    }
  }

  writeWords(): void {
    for (const { number, text } of this.#wordsGone) deleteWords(this.#db, number, text);
    for (const words of this.#words) insertWords(this.#db, words);
  }

  writeBlobs(): void {
    const { number } = this.#row;
    for (const hash of this.#blobs) insertChatBlobRef(this.#db, number, hash);
    for (const hash of this.#blobsBefore)
      if (!this.#blobs.has(hash)) deleteChatBlobRef(this.#db, number, hash);
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
    if (number !== undefined) this.#wordsGone.push({ number, text: indexedText(words) });
  }

  #addWords(place: number, versionId: string, words: string): void {
    const text = indexedText(words);
    if (text.words === "") return;
    this.#words.push({ number: this.#next("next_words"), place, versionId, text });
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

  #json(value: object): string {
    const json = JSON.stringify(value);
    for (const hash of blobsIn(json)) this.#blobs.add(hash);
    return json;
  }

  #noteBlobsAt(place: number): void {
    for (const hash of blobsIn(jsonAt(this.#db, place) ?? "")) this.#blobsBefore.add(hash);
  }
}

function headerOf({ nodes: _nodes, ...header }: Chat): ChatHeader {
  return header;
}
