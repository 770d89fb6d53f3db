import type { JsonValue } from "@deltawire/tasks";
import type {
  Chat,
  ChatChange,
  ChatSearchResult,
  ChatStore,
  ChatSummary,
  ChatUpdate,
  ChatVariable,
  ClaimUntitledOptions,
  ListChatsOptions,
  NewChatRecord,
  Placeholder,
  Removal,
  RunningAnswer,
  SaveChatOptions,
  SearchChatsOptions,
  StoredChat,
} from "@deltawire/tasks/chats";
import { prepareJson } from "../chats/prepared-json.ts";
import { listChangedValues, listNewChatValues } from "../chats/written-values.ts";
import { StoreError } from "../error.ts";
import { maxUntitledMs } from "../retention-options.ts";
import { getChat, getChatBytes, getChatUpdate, listRunningAnswers } from "./chat-nodes.ts";
import {
  getRemoval,
  getReplays,
  hasDuplicateName,
  insertPlaceholder,
  listPlaceholders,
  listRemovals,
  listVariables,
} from "./chat-side-data.ts";
import {
  getChatRow,
  getChatStamps,
  incrementStamp,
  listChatChanges,
  listChats,
  listChatTags,
  lockChat,
  setChatDeleted,
} from "./chats.ts";
import type { PostgresConnection } from "./connection.ts";
import { removeChat } from "./erase-chat-rows.ts";
import { addVariable, createChats, saveChat } from "./save-chat.ts";
import { searchChats } from "./search-chats.ts";
import { getServerTime } from "./server-time.ts";
import { claimUntitledChats } from "./untitled-chats.ts";

/** The chat methods of the PostgreSQL store. */
export abstract class PostgresChatStore implements ChatStore {
  protected abstract query<Result>(
    work: (db: PostgresConnection) => Promise<Result>,
  ): Promise<Result>;
  /** Runs the work in a transaction. */
  protected abstract write<Result>(
    work: (db: PostgresConnection) => Promise<Result>,
  ): Promise<Result>;
  /** Like `write`, but rolls back if `rollback` of the result is true. */
  protected abstract transaction<Result extends { rollback: boolean }>(
    work: (db: PostgresConnection) => Promise<Result>,
  ): Promise<Result>;

  async createChats(chats: readonly NewChatRecord[]): Promise<void> {
    const json = await prepareJson(listNewChatValues(chats));
    await this.write((db) => createChats(db, chats, json));
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
    const json = await prepareJson(listChangedValues(before.chat, after, saveOptions));
    const { saved } = await this.transaction(async (db) => {
      const result = await saveChat(db, before, after, saveOptions, json);
      return { saved: result, rollback: result === "conflict" };
    });
    return saved;
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
    const { found } = await this.transaction(async (db) => {
      const stamp = await incrementStamp(db);
      const row = await getChatRow(db, chatId);
      if (row !== undefined) await setChatDeleted(db, row, stamp, deletedAt);
      return { found: row !== undefined, rollback: row === undefined };
    });
    return found;
  }

  async removeChat(chatId: string): Promise<boolean> {
    const { found } = await this.transaction(async (db) => {
      const removed = await removeChat(db, chatId, await getServerTime(db));
      return { found: removed, rollback: !removed };
    });
    return found;
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
    return this.query((db) => listRemovals(db, chatId));
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

  async claimUntitledChats(options: ClaimUntitledOptions): Promise<string[]> {
    return this.write((db) => claimUntitledChats(db, { ...options, maxAgeMs: maxUntitledMs }));
  }

  async listPlaceholders(chatId: string, skip = 0): Promise<Placeholder[]> {
    return this.query((db) => listPlaceholders(db, chatId, skip));
  }

  async addPlaceholders(
    chatId: string,
    placeholders: readonly Placeholder[],
  ): Promise<"stored" | "conflict"> {
    const { rollback } = await this.transaction(async (db) => {
      const chat = await lockChatData(db, chatId);
      for (const placeholder of placeholders)
        if (!(await insertPlaceholder(db, chat, placeholder))) return { rollback: true };
      return { rollback: false };
    });
    return rollback ? "conflict" : "stored";
  }

  async listVariables(chatId: string): Promise<ChatVariable[]> {
    return this.query((db) => listVariables(db, chatId));
  }

  async addVariable(chatId: string, variable: ChatVariable): Promise<ChatVariable> {
    return this.write(async (db) => {
      const chat = await lockChatData(db, chatId);
      const stored = await addVariable(db, chat, variable);
      if (stored.name === variable.name && (await hasDuplicateName(db, chat, stored)))
        throw new StoreError(
          "store_failed",
          `${chatId}: another variable has the name ${variable.name}; nothing was stored`,
        );
      return stored;
    });
  }
}

/** Returns the number of a chat whose placeholders and variables no other transaction can change until the end of this one. */
async function lockChatData(db: PostgresConnection, chatId: string): Promise<number> {
  const number = await lockChat(db, chatId);
  if (number === undefined) throw new StoreError("store_failed", `chat ${chatId} does not exist`);
  return number;
}
