import type { JsonValue } from "../json.ts";
import type { Usage } from "../items.ts";
import type { Removal } from "./edit.ts";
import type { ChatPatch } from "./in-out/patch.ts";
import type { Chat } from "./shapes.ts";

/* Where chats last, as those who serve them see it. `@deltawire/store` implements it on SQLite. */

/** A chat as it is kept. */
export interface KeptChat {
  readonly chat: Chat;
  /** Of its last change of any kind, in the order of all changes of all chats: the cursor of the change feed. */
  readonly stamp: number;
  /** It is deleted, and can still be restored. */
  readonly deleted_at?: string;
}

/** What has become of a chat since it was at another stamp. */
export interface ChatSince extends ChatPatch {
  /** The stamp that it was at. */
  readonly from: number;
  /** Of the whole chat, as it is now. */
  readonly usage: Usage;
  readonly deleted_at?: string;
}

/** What a list shows of a chat. */
export interface ChatSummary {
  readonly chat_id: string;
  readonly title: string;
  readonly title_by: Chat["title_by"];
  readonly created_at: string;
  readonly updated_at: string;
  readonly revision: number;
  readonly tags: readonly string[];
  readonly pinned: boolean;
  /** Of users' messages and answers. */
  readonly messages: number;
  /** The answers that run, and of these the ones that wait for a person. */
  readonly running: number;
  readonly waiting: number;
  /**
   * The beginning of the first words that a person has said on its path, or where none has, of the first that were said:
   * what a chat without a title is known by.
   */
  readonly first_words: string;
  /** The beginning of the last words on its path; those of an answer without the marks of Markdown. */
  readonly excerpt: string;
  /** Of all versions of all messages, also of those that were deleted, and of titles. */
  readonly usage: Usage;
  readonly stamp: number;
  readonly deleted_at?: string;
}

/**
 * Something of what was said, an answer's without the marks of Markdown, with what was looked for in it: half-open ranges in
 * UTF-16 units of `text`.
 */
export interface SearchHit {
  readonly node_id: string;
  readonly version_id: string;
  readonly text: string;
  readonly marks: readonly (readonly [start: number, end: number])[];
}

/** `title_marks` where the title has it. The hits are the newest of the chat, a few at the most. */
export interface FoundChat {
  readonly chat: ChatSummary;
  readonly title_marks: readonly (readonly [start: number, end: number])[];
  readonly hits: readonly SearchHit[];
}

/** A chat changed, or is gone for good. */
export type ChatChange =
  | { readonly type: "chat.changed"; readonly stamp: number; readonly chat: ChatSummary }
  | { readonly type: "chat.removed"; readonly stamp: number; readonly chat_id: string };

export interface RunningAnswer {
  readonly chat_id: string;
  readonly node_id: string;
  readonly version_id: string;
  readonly task_id: string;
}

/** What stands for a private value in all that a model is told of a chat. Never leaves the server. */
export interface Placeholder {
  readonly placeholder: string;
  readonly value: string;
  readonly kind: string;
}

/** A long value of a chat that its model can read in pages and pass on by name. */
export interface ChatVariable {
  readonly name: string;
  /** Where it came from: a call, and its result or one of its arguments. */
  readonly call_id: string;
  readonly of: string;
  readonly tool: string;
  readonly length: number;
  /** The blob that holds it. */
  readonly url: string;
  readonly created_at: string;
}

export interface ChatListOptions {
  limit: number;
  /** The last chat of the page before. */
  before?: string;
  tag?: string;
  /** Only those that are deleted. */
  deleted?: boolean;
}

/** What is kept beside a chat when it is saved, in the same transaction. */
export interface SaveMore {
  /** What deletes took: several edits are saved at once. */
  removals?: readonly Removal[];
  /** The removal that was undone: it is kept no longer. */
  restored?: string;
  /** What the model gets back of an answer in later turns, as items of the Responses wire, by version. */
  replays?: Readonly<Record<string, readonly JsonValue[]>>;
}

export interface ChatToCreate {
  readonly chat: Chat;
  readonly replays?: SaveMore["replays"];
  readonly variables?: readonly ChatVariable[];
}

/** Every method rejects with a `StoreErrorCode` in `code` where the store fails. */
export interface ChatStore {
  /** All of them or none. Rejects where one of the ids is taken. */
  createChats(chats: readonly ChatToCreate[]): Promise<void>;
  chat(chatId: string): Promise<KeptChat | undefined>;
  /** Bytes of JSON of all messages. 0 if there is no such chat. */
  chatBytes(chatId: string): Promise<number>;
  /**
   * What differs from the chat as it was at an earlier stamp; nodes with answers that run are always among the changed ones.
   * Undefined where there is no such chat, or where it was not there at that stamp.
   */
  chatSince(chatId: string, stamp: number): Promise<ChatSince | undefined>;
  /** Writes what differs. `conflict`: it is no longer as `before`, and nothing was written. */
  saveChat(before: KeptChat, after: Chat, more?: SaveMore): Promise<KeptChat | "conflict">;
  /** Pinned ones first, then the last changed first. */
  listChats(options: ChatListOptions): Promise<ChatSummary[]>;
  /**
   * Chats in which a title or one message has all words of the query, the last of them also where it is only begun: the
   * last changed chat first, each with its newest hits.
   * Words of Chinese, Japanese and Korean match within a run of characters, from one character on.
   * Of a query the first 200 characters are looked for.
   */
  searchChats(query: string, options: { limit: number; tag?: string }): Promise<FoundChat[]>;
  /** All tags in use, with how many chats have them. */
  chatTags(): Promise<{ tag: string; chats: number }[]>;
  /** `deletedAt` in ISO 8601 marks a chat for removal; null takes it back. False: there is no such chat. */
  setDeleted(chatId: string, deletedAt: string | null): Promise<boolean>;
  /** For good, with all that is kept of it. */
  removeChat(chatId: string): Promise<boolean>;
  /** Changes with stamps above `after`, in order: of each chat the last one. */
  chatChanges(after: number, limit: number): Promise<ChatChange[]>;
  /** Of the last change of all, and the first after which every removal is still known. */
  chatStamps(): Promise<{ head: number; oldest: number }>;
  removal(chatId: string, removalId: string): Promise<Removal | undefined>;
  /** The newest first. */
  removals(chatId: string): Promise<Removal[]>;
  /** Of all answers of a chat, or of these versions. */
  replays(chatId: string, versionIds?: readonly string[]): Promise<Record<string, JsonValue[]>>;
  runningAnswers(): Promise<RunningAnswer[]>;
  placeholders(chatId: string): Promise<Placeholder[]>;
  /** Those whose value is known already keep their placeholder. */
  addPlaceholders(chatId: string, placeholders: readonly Placeholder[]): Promise<void>;
  variables(chatId: string): Promise<ChatVariable[]>;
  /** Kept once for `call_id` and `of`; answers with what is kept. */
  addVariable(chatId: string, variable: ChatVariable): Promise<ChatVariable>;
}
