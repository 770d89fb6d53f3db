import type { FileFilter, FileStore, StoredFile } from "../file-store.ts";
import type {
  ConversationItem,
  ConversationStore,
  ListItemsOptions,
  StoredConversation,
} from "../conversation-store.ts";
import type {
  NewResponse,
  ResponseEvents,
  ResponseLease,
  ResponseProgress,
  ResponseRun,
  ResponseStore,
  ResponseTurn,
  StoredResponse,
} from "../response-store.ts";
import {
  addConversationItems,
  deleteConversation,
  deleteConversationItem,
  getConversation,
  getConversationItem,
  insertConversation,
  listConversationItems,
  readConversation,
  updateConversation,
} from "./conversations.ts";
import {
  appendResponseEvents,
  claimResponses,
  deleteOldestResponses,
  deleteResponse,
  findResponsesWithItems,
  getResponse,
  getResponseBytes,
  listResponseChain,
  listResponseEvents,
  renewResponseLeases,
  requestResponseCancel,
  saveResponse,
} from "./responses.ts";
import {
  deleteExpiredFiles,
  deleteFile,
  getFile,
  getFileContent,
  insertFile,
  listFiles,
} from "./stored-files.ts";
import { SqliteChatStore } from "./sqlite-chat-store.ts";

/** Responses per transaction when old ones are deleted. */
const responsesPerTransaction = 100;

/** The methods for responses of the SQLite store. */
export abstract class SqliteResponseStore
  extends SqliteChatStore
  implements ResponseStore, ConversationStore, FileStore
{
  readonly #now: () => number;

  constructor(now: () => number) {
    super(now);
    this.#now = now;
  }

  async saveResponse(response: NewResponse): Promise<void> {
    const isDurable = response.run !== undefined;
    await this.write((db) => saveResponse(db, response, this.#now()), isDurable);
  }

  async getResponse(owner: string, responseId: string): Promise<StoredResponse | undefined> {
    return this.query((db) => getResponse(db, owner, responseId));
  }

  async listResponseChain(owner: string, responseId: string): Promise<ResponseTurn[]> {
    return this.query((db) => listResponseChain(db, owner, responseId));
  }

  async findResponsesWithItems(owner: string, itemIds: readonly string[]): Promise<ResponseTurn[]> {
    return this.query((db) => findResponsesWithItems(db, owner, itemIds));
  }

  async deleteResponse(owner: string, responseId: string): Promise<boolean> {
    return this.write((db) => deleteResponse(db, owner, responseId), true);
  }

  async pruneResponses(limits: { createdBefore: number; maxBytes: number }): Promise<number> {
    const slice = { ...limits, limit: responsesPerTransaction };
    let total = 0;
    for (;;) {
      const count = await this.write((db) => deleteOldestResponses(db, slice), false);
      if (count === 0) return total;
      total += count;
    }
  }

  async getResponseBytes(): Promise<number> {
    return this.query(getResponseBytes);
  }

  async appendResponseEvents(
    progress: ResponseProgress,
  ): Promise<{ isCancelRequested: boolean } | undefined> {
    return this.write((db) => appendResponseEvents(db, progress), false);
  }

  async listResponseEvents(
    owner: string,
    responseId: string,
    after: number,
    limit: number,
  ): Promise<ResponseEvents[]> {
    return this.query((db) => listResponseEvents(db, owner, responseId, { after, limit }));
  }

  async requestResponseCancel(owner: string, responseId: string): Promise<boolean> {
    return this.write((db) => requestResponseCancel(db, owner, responseId), true);
  }

  async renewResponseLeases(
    lease: ResponseLease,
  ): Promise<{ owner: string; responseId: string; isCancelRequested: boolean }[]> {
    return this.write((db) => renewResponseLeases(db, lease, this.#now()), false);
  }

  async claimResponses(
    claim: ResponseLease & { all: boolean; limit: number },
  ): Promise<ResponseRun[]> {
    return this.write((db) => claimResponses(db, claim, this.#now()), false);
  }

  async createConversation(
    conversation: StoredConversation,
    items: readonly ConversationItem[],
  ): Promise<void> {
    await this.write((db) => {
      insertConversation(db, conversation);
      addConversationItems(db, conversation.owner, conversation.conversationId, items);
    }, true);
  }

  async getConversation(
    owner: string,
    conversationId: string,
  ): Promise<StoredConversation | undefined> {
    return this.query((db) => getConversation(db, owner, conversationId));
  }

  async updateConversation(
    owner: string,
    conversationId: string,
    metadata: string,
  ): Promise<boolean> {
    return this.write((db) => updateConversation(db, owner, conversationId, metadata), true);
  }

  async deleteConversation(owner: string, conversationId: string): Promise<boolean> {
    return this.write((db) => deleteConversation(db, owner, conversationId), true);
  }

  async addConversationItems(
    owner: string,
    conversationId: string,
    items: readonly ConversationItem[],
  ): Promise<boolean> {
    return this.write((db) => addConversationItems(db, owner, conversationId, items), true);
  }

  async listConversationItems(
    owner: string,
    conversationId: string,
    page: ListItemsOptions,
  ): Promise<ConversationItem[] | undefined> {
    return this.query((db) => listConversationItems(db, owner, conversationId, page));
  }

  async readConversation(
    owner: string,
    conversationId: string,
    before = Number.MAX_SAFE_INTEGER,
  ): Promise<{ items: ConversationItem[]; next: number } | undefined> {
    return this.query((db) => readConversation(db, owner, conversationId, before));
  }

  async getConversationItem(
    owner: string,
    conversationId: string,
    itemId: string,
  ): Promise<ConversationItem | undefined> {
    return this.query((db) => getConversationItem(db, owner, conversationId, itemId));
  }

  async deleteConversationItem(
    owner: string,
    conversationId: string,
    itemId: string,
  ): Promise<boolean> {
    return this.write((db) => deleteConversationItem(db, owner, conversationId, itemId), true);
  }

  async addFile(file: StoredFile, bytes: Uint8Array, maxTotalBytes: number): Promise<boolean> {
    return this.write((db) => insertFile(db, file, bytes, maxTotalBytes), true);
  }

  async getFile(owner: string, fileId: string): Promise<StoredFile | undefined> {
    return this.query((db) => getFile(db, owner, fileId));
  }

  async getFileContent(owner: string, fileId: string): Promise<Uint8Array | undefined> {
    return this.query((db) => getFileContent(db, owner, fileId));
  }

  async listFiles(owner: string, filter: FileFilter): Promise<StoredFile[] | undefined> {
    return this.query((db) => listFiles(db, owner, filter));
  }

  async deleteFile(owner: string, fileId: string): Promise<boolean> {
    return this.write((db) => deleteFile(db, owner, fileId), true);
  }

  async deleteExpiredFiles(now: number): Promise<number> {
    return this.write((db) => deleteExpiredFiles(db, now), false);
  }
}
