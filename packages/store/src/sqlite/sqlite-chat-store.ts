import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { JsonValue } from "@deltawire/tasks";
import type {
  Chat,
  ChatChange,
  ClaimUntitledOptions,
  ListChatsOptions,
  ChatUpdate,
  ChatStore,
  ChatSummary,
  NewChatRecord,
  ChatVariable,
  ChatSearchResult,
  StoredChat,
  Placeholder,
  Removal,
  RunningAnswer,
  SaveChatOptions,
  SearchChatsOptions,
} from "@deltawire/tasks/chats";
import { searchChats } from "./search-chats.ts";
import { rebuildSearchIndex, type SearchIndexUpdate } from "./update-search-index.ts";
import { deleteUndoneRemovals, finishChatRemovals, startChatRemoval } from "./erase-chat.ts";
import { prepareJson } from "../chats/prepared-json.ts";
import { addVariable, createChats, saveChat } from "./save-chat.ts";
import { listChangedValues, listNewChatValues } from "../chats/written-values.ts";
import { StoreError } from "../error.ts";
import { maxUntitledMs } from "../retention-options.ts";
import { conflictsWithPlaceholder, insertPlaceholder } from "./chat-side-data.ts";
import { hasDuplicateName, listChatPlaceholders } from "./chat-side-data.ts";
import { listRemovalIds, getRemoval, getReplays, listChatVariables } from "./chat-side-data.ts";
import { getChatBytes, getChat, getChatUpdate, listRunningAnswers } from "./chat-nodes.ts";
import { listChatChanges, getChatRow, getChatStamps, listChatTags, listChats } from "./chats.ts";
import { incrementStamp, setChatDeleted } from "./chats.ts";
import type { SqliteConnection } from "./connection.ts";
import { claimUntitledChats } from "./untitled-chats.ts";

/** The chat methods of the SQLite store. */
export abstract class SqliteChatStore implements ChatStore {
  readonly #now: () => number;
  /** Number of search index updates in progress. */
  #runningIndexUpdates = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  protected abstract query<Result>(query: (db: SqliteConnection) => Result): Result;
  /** Resolves when the work is committed. */
  protected abstract write<Result>(
    work: (db: SqliteConnection) => Result,
    durable: boolean,
  ): Promise<Result>;

  async createChats(chats: readonly NewChatRecord[]): Promise<void> {
    const pendingJson = prepareJson(listNewChatValues(chats));
    const json = pendingJson instanceof Promise ? await pendingJson : pendingJson;
    await this.#finishIndex(await this.write((db) => createChats(db, chats, json), true));
  }

  async getChat(chatId: string): Promise<StoredChat | undefined> {
    return this.query((db) => getChat(db, chatId));
  }

  async getChatBytes(chatId: string): Promise<number> {
    return this.query((db) => getChatBytes(db, chatId));
  }

  async getChatUpdate(chatId: string, stamp: number): Promise<ChatUpdate | undefined> {
    return this.query((db) => getChatUpdate(db, chatId, stamp));
  }

  async saveChat(
    before: StoredChat,
    after: Chat,
    saveOptions: SaveChatOptions = {},
  ): Promise<StoredChat | "conflict"> {
    const pendingJson = prepareJson(listChangedValues(before.chat, after, saveOptions));
    const json = pendingJson instanceof Promise ? await pendingJson : pendingJson;
    const now = this.#now();
    const saved = await this.write(
      (db) => saveChat(db, before, after, saveOptions, { json, now }),
      true,
    );
    if (saved === "conflict") return saved;
    await this.#finishIndex(saved.index);
    if (saveOptions.restored !== undefined) await this.#deleteUndoneRemovals();
    return saved.stored;
  }

  /**
   * The chat is already stored. After a failure the database still counts the update as unfinished, and the index is
   * rebuilt later.
   */
  async #finishIndex(update: SearchIndexUpdate): Promise<void> {
    if (update.isDone) return;
    this.#runningIndexUpdates += 1;
    try {
      await update.finish((work) => this.write(work, false));
    } catch {
      return;
    } finally {
      this.#runningIndexUpdates -= 1;
    }
  }

  /** The chat is already stored. After a failure the next pruning deletes the rest. */
  async #deleteUndoneRemovals(): Promise<void> {
    try {
      await deleteUndoneRemovals((work) => this.write(work, false));
    } catch {
      return;
    }
  }

  /** Rebuilds the search index if an earlier process or a full disk left it incomplete. */
  protected async rebuildSearchIndex(): Promise<void> {
    if (this.#runningIndexUpdates > 0) return;
    await rebuildSearchIndex((work) => this.write(work, false));
  }

  async listChats(options: ListChatsOptions): Promise<ChatSummary[]> {
    return this.query((db) => listChats(db, options));
  }

  async searchChats(query: string, options: SearchChatsOptions): Promise<ChatSearchResult[]> {
    return this.query((db) => searchChats(db, query, options));
  }

  async listTags(owner: string): Promise<{ tag: string; chats: number }[]> {
    return this.query((db) => listChatTags(db, owner));
  }

  async setDeleted(chatId: string, deletedAt: string | null): Promise<boolean> {
    return this.write((db) => {
      const row = getChatRow(db, chatId);
      if (row !== undefined) setChatDeleted(db, row, incrementStamp(db), deletedAt);
      return row !== undefined;
    }, true);
  }

  async removeChat(chatId: string): Promise<boolean> {
    const number = await this.write((db) => startChatRemoval(db, chatId, this.#now()), true);
    if (number === undefined) return false;
    await finishChatRemovals((work) => this.write(work, false), number);
    return true;
  }

  async listChatChanges(owner: string, after: number, limit: number): Promise<ChatChange[]> {
    return this.query((db) => listChatChanges(db, owner, after, limit));
  }

  async getChatStamps(): Promise<{ head: number; oldest: number }> {
    return this.query(getChatStamps);
  }

  async getRemoval(chatId: string, removalId: string): Promise<Removal | undefined> {
    return this.query((db) => getRemoval(db, chatId, removalId));
  }

  async listRemovals(chatId: string): Promise<Removal[]> {
    const removals: Removal[] = [];
    for (const id of this.query((db) => listRemovalIds(db, chatId))) {
      const removal = await this.getRemoval(chatId, id);
      if (removal !== undefined) removals.push(removal);
      await yieldToEventLoop();
    }
    return removals;
  }

  async getReplays(
    chatId: string,
    versionIds?: readonly string[],
  ): Promise<Record<string, JsonValue[]>> {
    return this.query((db) => getReplays(db, chatId, versionIds));
  }

  async listRunningAnswers(): Promise<RunningAnswer[]> {
    return this.query(listRunningAnswers);
  }

  async claimUntitledChats({ minAgeMs, limit }: ClaimUntitledOptions): Promise<string[]> {
    const now = this.#now();
    const times = { until: now - minAgeMs, from: now - maxUntitledMs };
    return this.write((db) => claimUntitledChats(db, { ...times, limit }), false);
  }

  async listPlaceholders(chatId: string, skip = 0): Promise<Placeholder[]> {
    return this.query((db) => listChatPlaceholders(db, chatId, skip));
  }

  async addPlaceholders(
    chatId: string,
    placeholders: readonly Placeholder[],
  ): Promise<"stored" | "conflict"> {
    return this.write((db) => {
      const chat = getChatNumber(db, chatId);
      if (placeholders.some((placeholder) => conflictsWithPlaceholder(db, chat, placeholder)))
        return "conflict";
      for (const placeholder of placeholders) insertPlaceholder(db, chat, placeholder);
      return "stored";
    }, true);
  }

  async listVariables(chatId: string): Promise<ChatVariable[]> {
    return this.query((db) => listChatVariables(db, chatId));
  }

  async addVariable(chatId: string, variable: ChatVariable): Promise<ChatVariable> {
    return this.write((db) => {
      const chat = getChatNumber(db, chatId);
      const stored = addVariable(db, chat, variable);
      if (stored.name === variable.name && hasDuplicateName(db, chat, stored))
        throw new StoreError(
          "store_failed",
          `${chatId}: another variable has the name ${variable.name}; nothing was stored`,
        );
      return stored;
    }, true);
  }
}

function getChatNumber(db: SqliteConnection, chatId: string): number {
  const row = getChatRow(db, chatId);
  if (row === undefined) throw new StoreError("store_failed", `chat ${chatId} does not exist`);
  return row.number;
}
