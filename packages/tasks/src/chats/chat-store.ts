import type { JsonValue } from "../json.ts";
import type { Usage } from "../items.ts";
import type { Removal } from "./edit.ts";
import type { ChatPatch } from "./import-export/chat-patch.ts";
import type { Chat } from "./chat-types.ts";

/* The interface of a chat store. `@deltawire/store` implements it on SQLite and PostgreSQL. */

/** A chat as the store returns it. */
export interface StoredChat {
  readonly chat: Chat;
  /** Stamp of the last change; stamps number the changes of all chats. It is the cursor of the change feed. */
  readonly stamp: number;
  /** Set if the chat is deleted. It can still be restored. */
  readonly deleted_at?: string;
  /** Default "". */
  readonly owner?: string;
}

/** The changes of a chat since an earlier stamp. */
export interface ChatUpdate extends ChatPatch {
  /** The earlier stamp. */
  readonly from: number;
  /** Current usage of the complete chat. */
  readonly usage: Usage;
  readonly deleted_at?: string;
}

/** The entry of a chat in lists. */
export interface ChatSummary {
  readonly chat_id: string;
  readonly title: string;
  readonly title_by: Chat["title_by"];
  readonly created_at: string;
  readonly updated_at: string;
  readonly revision: number;
  readonly tags: readonly string[];
  readonly pinned: boolean;
  /** Number of user messages and answers. */
  readonly messages: number;
  /** Number of running answers, and how many of them are waiting for a user. */
  readonly running: number;
  readonly waiting: number;
  /**
   * Beginning of the first user message on the path, or of the first answer if no user message has text. Shown instead of
   * a missing title.
   */
  readonly opening_text: string;
  /** Beginning of the last text on the path; answers without Markdown syntax. */
  readonly excerpt: string;
  /** Usage of all versions of all messages, including deleted ones, and of titles. */
  readonly usage: Usage;
  readonly stamp: number;
  readonly deleted_at?: string;
}

/**
 * An excerpt of a message that matches a search, without Markdown syntax if it is an answer. `marks`: the matches, as half-open
 * ranges in UTF-16 units of `text`.
 */
export interface SearchHit {
  readonly node_id: string;
  readonly version_id: string;
  readonly text: string;
  readonly marks: readonly (readonly [start: number, end: number])[];
}

/** `title_marks`: matches in the title. `hits`: the newest matching messages, a few at most. */
export interface ChatSearchResult {
  readonly chat: ChatSummary;
  readonly title_marks: readonly (readonly [start: number, end: number])[];
  readonly hits: readonly SearchHit[];
}

/** A chat has changed, or has been deleted permanently. */
export type ChatChange =
  | { readonly type: "chat.changed"; readonly stamp: number; readonly chat: ChatSummary }
  | { readonly type: "chat.removed"; readonly stamp: number; readonly chat_id: string };

export interface RunningAnswer {
  readonly chat_id: string;
  readonly node_id: string;
  readonly version_id: string;
  readonly task_id: string;
}

/** A placeholder, and the private value that it replaces in everything that models receive. Never leaves the server. */
export interface Placeholder {
  readonly placeholder: string;
  readonly value: string;
  readonly kind: string;
}

/** A long value of a chat that its model can read in pages and pass on by name. */
export interface ChatVariable {
  readonly name: string;
  /** The call that produced it. `of` names its result or one of its arguments. */
  readonly call_id: string;
  readonly of: string;
  readonly tool: string;
  readonly length: number;
  /** URL of the blob with the value. */
  readonly url: string;
  readonly created_at: string;
}

export interface ListChatsOptions {
  /** Only chats of this owner are listed. */
  owner: string;
  limit: number;
  /** The last chat of the previous page. */
  before?: string;
  tag?: string;
  /** Lists only deleted chats. */
  deleted?: boolean;
}

export interface ClaimUntitledOptions {
  /** How long ago the last answer must have ended, in milliseconds. */
  minAgeMs: number;
  limit: number;
}

export interface SearchChatsOptions {
  /** Only chats of this owner are searched. */
  owner: string;
  limit: number;
  tag?: string;
}

/** Written together with a chat, in the same transaction. */
export interface SaveChatOptions {
  /** One removal for each deletion among the saved edits. */
  removals?: readonly Removal[];
  /** Id of the removal that was undone; it is deleted. */
  restored?: string;
  /** Items of the Responses API that replay an answer to its model in later turns, by version id. */
  replays?: Readonly<Record<string, readonly JsonValue[]>>;
}

export interface NewChatRecord {
  readonly chat: Chat;
  /** Owner of the access key of the request; default "". */
  readonly owner?: string;
  readonly replays?: SaveChatOptions["replays"];
  readonly variables?: readonly ChatVariable[];
}

/** Every method rejects with a `StoreErrorCode` in `code` if the store fails. */
export interface ChatStore {
  /** Creates all chats or none. Rejects if one of the ids exists. */
  createChats(chats: readonly NewChatRecord[]): Promise<void>;
  getChat(chatId: string): Promise<StoredChat | undefined>;
  /** Size of the JSON of all messages, in bytes. 0 if the chat does not exist. */
  getChatBytes(chatId: string): Promise<number>;
  /**
   * Returns the changes since an earlier stamp; nodes with running answers are always included. Undefined if the chat does not
   * exist or did not exist at that stamp.
   */
  getChatUpdate(chatId: string, stamp: number): Promise<ChatUpdate | undefined>;
  /** Writes the differences. `conflict`: the stored chat is no longer `before`; nothing was written. */
  saveChat(
    before: StoredChat,
    after: Chat,
    options?: SaveChatOptions,
  ): Promise<StoredChat | "conflict">;
  /** Pinned chats first, then the most recently changed ones. */
  listChats(options: ListChatsOptions): Promise<ChatSummary[]>;
  /**
   * Finds chats in which the title or one message has all words of the query; the last word matches as a prefix. Most recently
   * changed chat first, each with its newest hits. Chinese, Japanese and Korean words match within a run of characters, even if
   * they have only one character. Only the first 200 characters of the query are used.
   */
  searchChats(query: string, options: SearchChatsOptions): Promise<ChatSearchResult[]>;
  /** All tags that an owner uses, with the number of chats that have them. */
  listTags(owner: string): Promise<{ tag: string; chats: number }[]>;
  /** `deletedAt`, in ISO 8601, marks a chat as deleted; null restores it. False if the chat does not exist. */
  setDeleted(chatId: string, deletedAt: string | null): Promise<boolean>;
  /** Deletes the chat and all of its data permanently. False if the chat does not exist. */
  removeChat(chatId: string): Promise<boolean>;
  /** The last change of each chat of an owner with a stamp above `after`, in order. */
  listChatChanges(owner: string, after: number, limit: number): Promise<ChatChange[]>;
  /** `head`: the stamp of the last change of any owner. `oldest`: deletions are known only after this stamp. */
  getChatStamps(): Promise<{ head: number; oldest: number }>;
  getRemoval(chatId: string, removalId: string): Promise<Removal | undefined>;
  /** Newest first. */
  listRemovals(chatId: string): Promise<Removal[]>;
  /** Replays of all answers of a chat, or of the given versions. */
  getReplays(chatId: string, versionIds?: readonly string[]): Promise<Record<string, JsonValue[]>>;
  listRunningAnswers(): Promise<RunningAnswer[]>;
  /**
   * Returns chats in which an answer has ended within the last day, and which still have no title. Each is returned once, until
   * another answer ends in it.
   */
  claimUntitledChats(options: ClaimUntitledOptions): Promise<string[]>;
  /** In the order in which they were stored. `skip`: how many of the first ones to omit; default 0. */
  listPlaceholders(chatId: string, skip?: number): Promise<Placeholder[]>;
  /**
   * Stores all or none. `conflict`: nothing was stored, because one of the values already has another placeholder, or one of the
   * placeholders already stands for another value.
   */
  addPlaceholders(
    chatId: string,
    placeholders: readonly Placeholder[],
  ): Promise<"stored" | "conflict">;
  listVariables(chatId: string): Promise<ChatVariable[]>;
  /**
   * Stores the variable unless one with the same `call_id` and `of` is already stored. Returns the stored one. Rejects if another
   * variable has the name.
   */
  addVariable(chatId: string, variable: ChatVariable): Promise<ChatVariable>;
}
