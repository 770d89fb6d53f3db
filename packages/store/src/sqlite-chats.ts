import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { JsonValue } from "@deltawire/tasks";
import type {
  Chat,
  ChatChange,
  ChatListOptions,
  ChatSince,
  ChatStore,
  ChatSummary,
  ChatToCreate,
  ChatVariable,
  FoundChat,
  KeptChat,
  Placeholder,
  Removal,
  RunningAnswer,
  SaveMore,
} from "@deltawire/tasks/chats";
import { findChats } from "./chats/find-chats.ts";
import { rebuildIndex, type IndexUpdate } from "./chats/index-words.ts";
import { deleteUndone, finishRemovals, startRemoval } from "./chats/remove-chat.ts";
import { prepareJson } from "./chats/prepared-json.ts";
import { addVariable, createChats, saveChat } from "./chats/save-chat.ts";
import { jsonOfChanges, jsonOfNewChats } from "./chats/save-chat.ts";
import { StoreError } from "./error.ts";
import { insertPlaceholder, placeholdersOf } from "./sql/chat-belongings.ts";
import { removalIds, removalOf, replaysOf, variablesOf } from "./sql/chat-belongings.ts";
import { chatBytes, chatOf, chatSince, runningAnswers } from "./sql/chat-nodes.ts";
import { chatChanges, chatRow, chatStamps, chatTags, listChats } from "./sql/chats.ts";
import { nextStamp, setDeleted } from "./sql/chats.ts";
import type { Connection } from "./sql/connection.ts";

/** The part of a store that keeps chats. */
export abstract class SqliteChats implements ChatStore {
  readonly #now: () => number;
  /** Updates of the index of words that go on. */
  #indexUpdates = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  protected abstract ask<Result>(query: (db: Connection) => Result): Result;
  /** Resolves when it is committed. */
  protected abstract change<Result>(
    work: (db: Connection) => Result,
    durable: boolean,
  ): Promise<Result>;

  async createChats(chats: readonly ChatToCreate[]): Promise<void> {
    const preparing = prepareJson(jsonOfNewChats(chats));
    const json = preparing instanceof Promise ? await preparing : preparing;
    await this.#finishIndex(await this.change((db) => createChats(db, chats, json), true));
  }

  async chat(chatId: string): Promise<KeptChat | undefined> {
    return this.ask((db) => chatOf(db, chatId));
  }

  async chatBytes(chatId: string): Promise<number> {
    return this.ask((db) => chatBytes(db, chatId));
  }

  async chatSince(chatId: string, stamp: number): Promise<ChatSince | undefined> {
    return this.ask((db) => chatSince(db, chatId, stamp));
  }

  async saveChat(
    before: KeptChat,
    after: Chat,
    more: SaveMore = {},
  ): Promise<KeptChat | "conflict"> {
    const preparing = prepareJson(jsonOfChanges(before.chat, after, more));
    const json = preparing instanceof Promise ? await preparing : preparing;
    const saved = await this.change((db) => saveChat(db, before, after, more, json), true);
    if (saved === "conflict") return saved;
    await this.#finishIndex(saved.index);
    if (more.restored !== undefined) await this.#deleteUndone();
    return saved.kept;
  }

  /** The chat is stored already: after a failure the file still counts the update, and the index is rebuilt later. */
  async #finishIndex(update: IndexUpdate): Promise<void> {
    if (update.isDone) return;
    this.#indexUpdates += 1;
    try {
      await update.finish((work) => this.change(work, false));
    } catch {
      return;
    } finally {
      this.#indexUpdates -= 1;
    }
  }

  /** The chat is stored already: after a failure the next pruning deletes the rest. */
  async #deleteUndone(): Promise<void> {
    try {
      await deleteUndone((work) => this.change(work, false));
    } catch {
      return;
    }
  }

  /** Finishes what an earlier process, or a full disk, left of the index of words. */
  protected async rebuildIndex(): Promise<void> {
    if (this.#indexUpdates > 0) return;
    await rebuildIndex((work) => this.change(work, false));
  }

  async listChats(options: ChatListOptions): Promise<ChatSummary[]> {
    return this.ask((db) => listChats(db, options));
  }

  async searchChats(query: string, options: { limit: number; tag?: string }): Promise<FoundChat[]> {
    return this.ask((db) => findChats(db, query, options));
  }

  async chatTags(): Promise<{ tag: string; chats: number }[]> {
    return this.ask(chatTags);
  }

  async setDeleted(chatId: string, deletedAt: string | null): Promise<boolean> {
    return this.change((db) => {
      const row = chatRow(db, chatId);
      if (row !== undefined) setDeleted(db, row, nextStamp(db), deletedAt);
      return row !== undefined;
    }, true);
  }

  async removeChat(chatId: string): Promise<boolean> {
    const number = await this.change((db) => startRemoval(db, chatId, this.#now()), true);
    if (number === undefined) return false;
    await finishRemovals((work) => this.change(work, false), number);
    return true;
  }

  async chatChanges(after: number, limit: number): Promise<ChatChange[]> {
    return this.ask((db) => chatChanges(db, after, limit));
  }

  async chatStamps(): Promise<{ head: number; oldest: number }> {
    return this.ask(chatStamps);
  }

  async removal(chatId: string, removalId: string): Promise<Removal | undefined> {
    return this.ask((db) => removalOf(db, chatId, removalId));
  }

  async removals(chatId: string): Promise<Removal[]> {
    const removals: Removal[] = [];
    for (const id of this.ask((db) => removalIds(db, chatId))) {
      const removal = await this.removal(chatId, id);
      if (removal !== undefined) removals.push(removal);
      await yieldToEventLoop();
    }
    return removals;
  }

  async replays(
    chatId: string,
    versionIds?: readonly string[],
  ): Promise<Record<string, JsonValue[]>> {
    return this.ask((db) => replaysOf(db, chatId, versionIds));
  }

  async runningAnswers(): Promise<RunningAnswer[]> {
    return this.ask(runningAnswers);
  }

  async placeholders(chatId: string): Promise<Placeholder[]> {
    return this.ask((db) => placeholdersOf(db, chatId));
  }

  async addPlaceholders(chatId: string, placeholders: readonly Placeholder[]): Promise<void> {
    await this.change((db) => {
      const chat = numberOf(db, chatId);
      for (const placeholder of placeholders)
        if (!insertPlaceholder(db, chat, placeholder))
          throw new StoreError(
            "store_failed",
            `${chatId}: ${placeholder.placeholder} stands for another value already, so none of them was kept`,
          );
    }, true);
  }

  async variables(chatId: string): Promise<ChatVariable[]> {
    return this.ask((db) => variablesOf(db, chatId));
  }

  async addVariable(chatId: string, variable: ChatVariable): Promise<ChatVariable> {
    return this.change((db) => addVariable(db, numberOf(db, chatId), variable), true);
  }
}

function numberOf(db: Connection, chatId: string): number {
  const row = chatRow(db, chatId);
  if (row === undefined) throw new StoreError("store_failed", `${chatId}: there is no such chat`);
  return row.number;
}
