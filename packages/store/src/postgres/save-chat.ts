import { findBlobHashes } from "@deltawire/tasks";
import { findNode, findRunningVersions, isRunning, summarizeChat } from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatNode,
  ChatVariable,
  NewChatRecord,
  SaveChatOptions,
  StoredChat,
} from "@deltawire/tasks/chats";
import { toHeader, toStoredChat } from "../chats/chat-header.ts";
import { diffTexts, getTextByVersion } from "../chats/node-text.ts";
import type { PreparedJson } from "../chats/prepared-json.ts";
import { buildSearchTerms } from "../chats/search-terms.ts";
import { findTitleChange } from "../chats/title-change.ts";
import { StoreError } from "../error.ts";
import { deleteUnusedChatBlobRefs, insertChatBlobRefs } from "./blobs.ts";
import { deleteNodes, replaceRunningAnswers, upsertNodes, type NodeRow } from "./chat-nodes.ts";
import { deleteRemoval, insertRemoval, insertVariable, upsertReplay } from "./chat-side-data.ts";
import { deleteTexts, upsertTexts, type ChatTextRow } from "./chat-texts.ts";
import {
  getChatRow,
  incrementStamp,
  insertChat,
  replaceChatTags,
  updateChat,
  type StoredChatRow,
} from "./chats.ts";
import type { PostgresConnection } from "./connection.ts";
import { deleteRemovedChatMark } from "./erase-chat-rows.ts";
import { deleteUntitledChat, upsertUntitledChat } from "./untitled-chats.ts";

/** Creates all chats or none. Call it in a transaction. */
export async function createChats(
  db: PostgresConnection,
  chats: readonly NewChatRecord[],
  json: PreparedJson,
): Promise<void> {
  for (const { chat, owner = "", replays = {}, variables = [] } of chats) {
    const stamp = await incrementStamp(db);
    if ((await getChatRow(db, chat.chat_id)) !== undefined)
      throw new StoreError(
        "id_taken",
        `${chat.chat_id}: another chat has this id; nothing was stored`,
      );
    await deleteRemovedChatMark(db, chat.chat_id);
    const summary = summarizeChat({ chat, stamp });
    const number = await insertChat(db, owner, summary);
    const row = { number, owner, stamp, deleted_at: null, next_node: 1, next_text: 0 };
    const changes = new ChatChanges(row, json);
    changes.addHeader(undefined, chat);
    for (const node of Object.values(chat.nodes)) changes.addNode(undefined, node);
    await writeChanges(db, row, stamp, changes, { replays });
    await replaceChatTags(db, number, chat.tags);
    await updateChat(db, row, summary);
    for (const variable of variables) await addVariable(db, number, variable);
  }
}

/** Writes the differences between two states of a chat. Call it in a transaction. */
export async function saveChat(
  db: PostgresConnection,
  before: StoredChat,
  after: Chat,
  saveOptions: SaveChatOptions,
  json: PreparedJson,
): Promise<StoredChat | "conflict"> {
  // Locks all chats first, so that the stamp that is compared is the latest.
  const stamp = await incrementStamp(db);
  const row = await getChatRow(db, after.chat_id);
  if (before.chat.chat_id !== after.chat_id || row?.stamp !== before.stamp) return "conflict";
  const changes = new ChatChanges(row, json);
  changes.addHeader(before.chat, after);
  for (const [nodeId, node] of Object.entries(before.chat.nodes))
    if (findNode(after, nodeId) === undefined) changes.removeNode(node);
  for (const [nodeId, node] of Object.entries(after.nodes)) {
    const previous = findNode(before.chat, nodeId);
    if (previous !== node) changes.addNode(previous, node);
  }
  await writeChanges(db, row, stamp, changes, saveOptions);
  if (before.chat.tags !== after.tags) await replaceChatTags(db, row.number, after.tags);
  const stored = toStoredChat(after, { ...row, stamp });
  await updateChat(db, row, summarizeChat(stored));
  const titleChange = findTitleChange(before.chat, after);
  if (titleChange === "missing") await upsertUntitledChat(db, row.number);
  if (titleChange === "stored") await deleteUntitledChat(db, row.number);
  return stored;
}

/** Stores a variable once per call and part. Returns the stored one. */
export async function addVariable(
  db: PostgresConnection,
  chat: number,
  variable: ChatVariable,
): Promise<ChatVariable> {
  const stored = await insertVariable(db, chat, variable);
  await insertChatBlobRefs(db, chat, findBlobHashes(JSON.stringify(stored)));
  return stored;
}

const maxRowsPerChat = 2 ** 20;

/** Collects the changed rows of one chat. Allocates numbers in `row`. */
class ChatChanges {
  readonly nodes: NodeRow[] = [];
  readonly removedNodeIds: string[] = [];
  readonly texts: ChatTextRow[] = [];
  readonly removedTexts: { nodeId: string; versionId: string }[] = [];
  /** Nodes whose running answers may have changed. */
  readonly runningNodeIds: string[] = [];
  readonly runningAnswers: { nodeId: string; versionId: string; taskId: string }[] = [];
  /** Blobs that the written values refer to, and those that the replaced values did. */
  readonly blobs = new Set<string>();
  readonly replacedBlobs = new Set<string>();
  readonly #row: StoredChatRow;
  readonly #json: PreparedJson;

  constructor(row: StoredChatRow, json: PreparedJson) {
    this.#row = row;
    this.#json = json;
  }

  addHeader(before: Chat | undefined, after: Chat): void {
    if (before !== undefined) this.trackReplaced(toHeader(before));
    this.nodes.push({ nodeId: "", position: 0, json: this.serialize(toHeader(after)) });
    if (before?.title === after.title) return;
    this.removedTexts.push({ nodeId: "", versionId: "" });
    this.#addText("", "", after.title);
  }

  addNode(before: ChatNode | undefined, node: ChatNode): void {
    const { node_id: nodeId } = node;
    if (before !== undefined) this.trackReplaced(before);
    // An existing node keeps its position.
    const position = before === undefined ? this.#allocate("next_node") : 0;
    this.nodes.push({ nodeId, position, json: this.serialize(node) });
    if (isRunning(node) || (before !== undefined && isRunning(before))) {
      this.runningNodeIds.push(nodeId);
      for (const { version_id: versionId, task_id: taskId = "" } of findRunningVersions(node))
        this.runningAnswers.push({ nodeId, versionId, taskId });
    }
    const { removed, added } = diffTexts(before, node);
    for (const versionId of removed.keys()) this.removedTexts.push({ nodeId, versionId });
    for (const [versionId, text] of added) this.#addText(nodeId, versionId, text);
  }

  removeNode(node: ChatNode): void {
    const { node_id: nodeId } = node;
    this.trackReplaced(node);
    this.removedNodeIds.push(nodeId);
    this.runningNodeIds.push(nodeId);
    for (const versionId of getTextByVersion(node).keys())
      this.removedTexts.push({ nodeId, versionId });
  }

  serialize(value: object): string {
    const { json, blobs } = this.#json.get(value);
    for (const hash of blobs) this.blobs.add(hash);
    return json;
  }

  /** The value equals the stored one, because the stamp of the chat is unchanged. */
  trackReplaced(value: object): void {
    for (const hash of this.#json.get(value).blobs) this.replacedBlobs.add(hash);
  }

  #addText(nodeId: string, versionId: string, text: string): void {
    const terms = buildSearchTerms(text);
    if (terms.length > 0)
      this.texts.push({ nodeId, versionId, number: this.#allocate("next_text"), terms });
  }

  #allocate(counter: "next_node" | "next_text"): number {
    const next = this.#row[counter];
    if (next >= maxRowsPerChat)
      throw new StoreError(
        "store_failed",
        `a chat can have at most ${maxRowsPerChat} messages and versions; continue in a new chat`,
      );
    this.#row[counter] = next + 1;
    return next;
  }
}

async function writeChanges(
  db: PostgresConnection,
  { number }: StoredChatRow,
  stamp: number,
  changes: ChatChanges,
  { removals = [], restored, replays = {} }: SaveChatOptions,
): Promise<void> {
  const { nodes, removedNodeIds, texts, removedTexts } = changes;
  // Sent together, and executed in this order.
  await Promise.all([
    removedNodeIds.length > 0 && deleteNodes(db, number, stamp, removedNodeIds),
    upsertNodes(db, number, stamp, nodes),
    changes.runningNodeIds.length > 0 &&
      replaceRunningAnswers(db, number, changes.runningNodeIds, changes.runningAnswers),
    removedTexts.length > 0 && deleteTexts(db, number, removedTexts),
  ]);
  if (texts.length > 0) await upsertTexts(db, number, texts);
  if (restored !== undefined)
    for (const hash of findBlobHashes((await deleteRemoval(db, number, restored)) ?? ""))
      changes.replacedBlobs.add(hash);
  for (const removal of removals)
    await insertRemoval(db, number, removal, changes.serialize(removal));
  for (const [versionId, items] of Object.entries(replays)) {
    const previous = await upsertReplay(db, number, versionId, changes.serialize(items));
    for (const hash of findBlobHashes(previous ?? "")) changes.replacedBlobs.add(hash);
  }
  if (changes.blobs.size > 0) await insertChatBlobRefs(db, number, changes.blobs);
  const unusedHashes = [...changes.replacedBlobs].filter((hash) => !changes.blobs.has(hash));
  if (unusedHashes.length > 0) await deleteUnusedChatBlobRefs(db, number, unusedHashes);
}
