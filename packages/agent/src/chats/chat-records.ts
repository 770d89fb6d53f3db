import { quoted } from "@deltawire/tasks";
import { applyEdits, summaryOf } from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatChange,
  ChatEdit,
  ChatStore,
  EditedByAll,
  EditWorld,
  KeptChat,
  SaveMore,
} from "@deltawire/tasks/chats";
import { ChatError } from "./chat-error.ts";
import type { Changed, ChangedByEdits } from "./chat-ports.ts";
import { checkGrowth } from "./chat-size.ts";

/** How often a change is made again because another was first. Each loses to one that succeeded. */
const mostTries = 20;

/** Chats in their store, changed one whole edit at a time. */
export class ChatRecords {
  readonly store: ChatStore;
  readonly world: EditWorld;
  readonly #listeners = new Set<(change: ChatChange) => void>();
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #onFailure: (message: string, cause: unknown) => void;

  constructor(
    store: ChatStore,
    world: EditWorld,
    onFailure: (message: string, cause: unknown) => void,
  ) {
    this.store = store;
    this.world = world;
    this.#onFailure = onFailure;
  }

  /** Throws where there is no such chat, or where it is deleted and only a living one will do. */
  async open(chatId: string, { deleted = false } = {}): Promise<KeptChat> {
    const kept = await this.store.chat(chatId);
    if (kept === undefined)
      throw new ChatError("unknown_chat", `there is no chat ${quoted(chatId)}`);
    if (kept.deleted_at !== undefined && !deleted)
      throw new ChatError("unknown_chat", `the chat is deleted: restore it first`);
    return kept;
  }

  /**
   * Makes edits, all or none. With a `revision` only if the chat is still the one that the person saw; without it on
   * whatever it is now.
   */
  async edit(
    chatId: string,
    edits: readonly ChatEdit[] | ((kept: KeptChat) => Promise<readonly ChatEdit[]>),
    {
      revision,
      deleted = false,
      ...more
    }: { revision?: number | undefined; deleted?: boolean } & Omit<SaveMore, "removals"> = {},
  ): Promise<ChangedByEdits> {
    const make = async (kept: KeptChat) => {
      const all = typeof edits === "function" ? await edits(kept) : edits;
      const { removals, ...rest } = this.applied(kept.chat, all);
      const removal_ids = removals.map(({ removal_id }) => removal_id);
      return { ...rest, removal_ids, more: { ...more, removals } };
    };
    return this.change(chatId, revision, make, { deleted });
  }

  /** The same for edits that follow from what the chat is, and may take their time to be made. */
  async change<Made extends { chat: Chat; more?: SaveMore }>(
    chatId: string,
    revision: number | undefined,
    make: (kept: KeptChat) => Made | Promise<Made>,
    which: { deleted?: boolean } = {},
  ): Promise<Changed & Omit<Made, "chat" | "more">> {
    const change = async (): Promise<(Changed & Omit<Made, "chat" | "more">) | undefined> => {
      const before = await this.open(chatId, which);
      if (revision !== undefined && before.chat.revision !== revision)
        throw changedMeanwhile(before);
      const { chat, more, ...rest } = await make(before);
      await checkGrowth(before.chat, chat, more ?? {}, this.store);
      const after = await this.store.saveChat(before, chat, more);
      if (after === "conflict") return undefined;
      this.tell({ type: "chat.changed", stamp: after.stamp, chat: summaryOf(after) });
      return { before, after, ...rest };
    };
    const changed = await change();
    if (changed !== undefined) return changed;
    return this.#inTurn(chatId, async () => {
      for (let tries = 1; tries < mostTries; tries += 1) {
        const made = await change();
        if (made !== undefined) return made;
      }
      throw changedMeanwhile(await this.open(chatId, which));
    });
  }

  /** What edits make of a chat. Throws what is wrong with the first that is refused. */
  applied(chat: Chat, edits: readonly ChatEdit[]): Omit<Extract<EditedByAll, { ok: true }>, "ok"> {
    const edited = applyEdits(chat, edits, this.world);
    if (!edited.ok) {
      // Only a person's edits come in numbers.
      const place = edits.length > 1 ? { param: `edits[${edited.at}]` } : {};
      throw new ChatError(edited.code, edited.reason, place);
    }
    const { ok: _ok, ...made } = edited;
    return made;
  }

  /** Those who have lost once try again one after the other, and do not keep each other from it. */
  async #inTurn<T>(chatId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(chatId) ?? Promise.resolve();
    const done = before.then(work, work);
    this.#turns.set(chatId, done);
    try {
      return await done;
    } finally {
      if (this.#turns.get(chatId) === done) this.#turns.delete(chatId);
    }
  }

  subscribe(listener: (change: ChatChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(change: ChatChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#onFailure("a follower of chats failed", error);
      }
    }
  }
}

function changedMeanwhile(current: KeptChat): ChatError {
  return new ChatError(
    "conflict",
    `the chat has changed meanwhile: it is at revision ${current.chat.revision}; look at it and try again`,
    { current },
  );
}
