import { quoteExcerpt } from "@deltawire/tasks";
import { applyEdits, upgradeChatSettings } from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatEdit,
  ChatStore,
  EditsResult,
  EditEnvironment,
  StoredChat,
  SaveChatOptions,
} from "@deltawire/tasks/chats";
import type { ChatChangeFeed } from "./chat-change-feed.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatChangeResult, ChatEditResult } from "./chats-options.ts";
import { assertGrowthAllowed } from "./chat-size.ts";

/** Maximum number of attempts for a change that conflicts with others. Each conflict means that another change succeeded. */
const maxAttempts = 20;

/** Reads and changes stored chats. Each change is atomic. */
export class ChatRecords {
  readonly store: ChatStore;
  readonly environment: EditEnvironment;
  readonly #changes: Pick<ChatChangeFeed, "announce">;
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(
    store: ChatStore,
    environment: EditEnvironment,
    changes: Pick<ChatChangeFeed, "announce">,
  ) {
    this.store = store;
    this.environment = environment;
    this.#changes = changes;
  }

  /** Throws a ChatError if the chat does not exist, or if it is deleted and `includeDeleted` is false. */
  async open(chatId: string, { includeDeleted = false } = {}): Promise<StoredChat> {
    const stored = upgradeStoredChat(await this.store.getChat(chatId));
    if (stored === undefined)
      throw new ChatError("chat_not_found", `unknown chat ${quoteExcerpt(chatId)}`);
    if (stored.deleted_at !== undefined && !includeDeleted)
      throw new ChatError("chat_not_found", `the chat is deleted; restore it first`);
    return stored;
  }

  /**
   * Applies edits, all or none. Throws `conflict` if `revision` is given and the chat has changed since; without it the edits are
   * applied to the current chat.
   */
  async edit(
    chatId: string,
    edits: readonly ChatEdit[] | ((stored: StoredChat) => Promise<readonly ChatEdit[]>),
    {
      revision,
      includeDeleted = false,
      ...saveOptions
    }: { revision?: number | undefined; includeDeleted?: boolean } & Omit<
      SaveChatOptions,
      "removals"
    > = {},
  ): Promise<ChatEditResult> {
    const buildChange = async (stored: StoredChat) => {
      const editList = typeof edits === "function" ? await edits(stored) : edits;
      const { removals, ...rest } = this.applyEdits(stored.chat, editList);
      const removal_ids = removals.map(({ removal_id }) => removal_id);
      return { ...rest, removal_ids, saveOptions: { ...saveOptions, removals } };
    };
    return this.change(chatId, revision, buildChange, { includeDeleted });
  }

  /** Like `edit`, with a function that builds the changed chat. It is called again if the chat has changed meanwhile. */
  async change<Change extends { chat: Chat; saveOptions?: SaveChatOptions }>(
    chatId: string,
    revision: number | undefined,
    buildChange: (stored: StoredChat) => Change | Promise<Change>,
    options: { includeDeleted?: boolean } = {},
  ): Promise<ChatChangeResult & Omit<Change, "chat" | "saveOptions">> {
    const tryChange = async (): Promise<
      (ChatChangeResult & Omit<Change, "chat" | "saveOptions">) | undefined
    > => {
      const before = await this.open(chatId, options);
      if (revision !== undefined && before.chat.revision !== revision)
        throw createConflictError(before);
      const { chat, saveOptions, ...rest } = await buildChange(before);
      await assertGrowthAllowed(before.chat, chat, saveOptions ?? {}, this.store);
      const after = await this.store.saveChat(before, chat, saveOptions);
      if (after === "conflict") return undefined;
      this.#changes.announce(after.stamp);
      return { before, after, ...rest };
    };
    const result = await tryChange();
    if (result !== undefined) return result;
    // One after another, so that retried changes do not conflict with each other.
    return this.#runExclusive(chatId, async () => {
      for (let attempt = 1; attempt < maxAttempts; attempt += 1) {
        const retryResult = await tryChange();
        if (retryResult !== undefined) return retryResult;
      }
      throw createConflictError(await this.open(chatId, options));
    });
  }

  /** Applies edits to a chat without storing it. Throws a ChatError if one of them is rejected. */
  applyEdits(
    chat: Chat,
    edits: readonly ChatEdit[],
  ): Omit<Extract<EditsResult, { ok: true }>, "ok"> {
    const result = applyEdits(chat, edits, this.environment);
    if (!result.ok) {
      // With several edits, which only clients send, the client needs to know which one was rejected.
      const location = edits.length > 1 ? { param: `edits[${result.index}]` } : {};
      throw new ChatError(result.code, result.reason, location);
    }
    const { ok: _ok, ...changes } = result;
    return changes;
  }

  /** Runs `work` after all earlier work on the same chat has ended. */
  async #runExclusive<T>(chatId: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#queues.get(chatId) ?? Promise.resolve();
    const done = previous.then(work, work);
    this.#queues.set(chatId, done);
    try {
      return await done;
    } finally {
      if (this.#queues.get(chatId) === done) this.#queues.delete(chatId);
    }
  }
}

function createConflictError(current: StoredChat): ChatError {
  return new ChatError(
    "conflict",
    `the chat was changed in the meantime (now at revision ${current.chat.revision}); reload it and try again`,
    { current },
  );
}

/** Renames settings that an earlier version stored under other names. */
export function upgradeStoredChat<Stored extends StoredChat | undefined>(stored: Stored): Stored {
  return stored && { ...stored, chat: upgradeChatSettings(stored.chat) };
}
