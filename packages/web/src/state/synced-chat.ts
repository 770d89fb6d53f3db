import {
  applyChatPatch,
  ChatApiError,
  sumChatUsage,
  type ChatClient,
  type ChatPatch,
  type ChatReply,
} from "@deltawire/tasks/chats";
import type { Usage } from "@deltawire/tasks";
import { createCell, type Cell } from "../cell.ts";
import type { OpenChatState } from "./app-store.ts";
import { formatError, type Notifier } from "./notifier.ts";

export type ReadyChatState = Extract<OpenChatState, { status: "ready" }>;

/** The gateway's reply to a change: the changed parts of the chat. */
export interface ChatSyncUpdate extends ChatPatch {
  /** The stamp that the patch applies to. */
  readonly from: number;
  readonly usage?: Usage;
  readonly deleted_at?: string;
}

/**
 * Keeps a copy of a chat in sync with the gateway by applying patches, each from one stamp to a later one. An older
 * reply that arrives late is ignored.
 */
export class SyncedChat {
  readonly #chatId: string;
  readonly #client: ChatClient;
  readonly #notifier: Notifier;
  readonly #state = createCell<OpenChatState>({ status: "loading" });
  /** The highest stamp that the gateway is known to have. */
  #targetStamp = -1;
  /** Requests run in sequence. */
  #queue: Promise<void> = Promise.resolve();

  constructor(chatId: string, client: ChatClient, notifier: Notifier) {
    this.#chatId = chatId;
    this.#client = client;
    this.#notifier = notifier;
  }

  get state(): Cell<OpenChatState> {
    return this.#state;
  }

  get ready(): ReadyChatState | undefined {
    const state = this.#state.get();
    return state.status === "ready" ? state : undefined;
  }

  /** Loads the complete chat. */
  reload(): Promise<void> {
    return this.#enqueue(async () => this.#showIfNewer(await this.#client.get(this.#chatId)));
  }

  /** Reloads the chat, ignoring stamps. Call this after the gateway's store was replaced. */
  reset(): Promise<void> {
    return this.#enqueue(async () => {
      const reply = await this.#client.get(this.#chatId);
      this.#targetStamp = -1;
      this.#show(reply);
    });
  }

  /** Loads the changes up to this stamp. Resolves when they are shown or could not be loaded. */
  loadChangesUntil(stamp: number): Promise<void> {
    this.#targetStamp = Math.max(this.#targetStamp, stamp);
    return this.#loadMissing();
  }

  /** Loads the chat, or changes up to the last known stamp, if that failed before. */
  retryFailedLoad(): Promise<void> {
    return this.#loadMissing();
  }

  /** Applies the reply to a local change. */
  async apply(change: ChatSyncUpdate): Promise<void> {
    this.#targetStamp = Math.max(this.#targetStamp, change.stamp);
    if (!this.#applyPatch(change)) await this.loadChangesUntil(change.stamp);
  }

  /** Must be called when the chat was deleted permanently. */
  markRemoved(): void {
    this.#state.set({ status: "missing" });
  }

  #loadMissing(): Promise<void> {
    return this.#enqueue(async () => {
      const { ready } = this;
      if (ready === undefined) {
        if (this.#state.get().status === "failed")
          this.#showIfNewer(await this.#client.get(this.#chatId));
        return;
      }
      if (ready.stamp >= this.#targetStamp) return;
      const reply = await this.#client.getSince(this.#chatId, ready.stamp);
      if (!("from" in reply)) return this.#showIfNewer(reply);
      // A local change was applied meanwhile, so the patch does not fit: load the changes again.
      if (!this.#applyPatch(reply)) void this.loadChangesUntil(reply.stamp);
    });
  }

  #enqueue(load: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(load).catch((failure: unknown) => this.#handleFailure(failure));
    return this.#queue;
  }

  #handleFailure(failure: unknown): void {
    if (failure instanceof ChatApiError && failure.status === 404) return this.markRemoved();
    // A chat that is already shown stays. The connection notice shows that it may be outdated.
    if (this.ready === undefined)
      this.#state.set({
        status: "failed",
        message: formatError(failure, this.#notifier.getMessages()),
      });
  }

  #showIfNewer(reply: ChatReply): void {
    if (reply.stamp >= (this.ready?.stamp ?? -1)) this.#show(reply);
  }

  #show({ chat, stamp, usage, deleted_at }: ChatReply): void {
    this.#state.set({ status: "ready", chat, stamp, usage, deletedAt: deleted_at });
  }

  /** Returns false if the patch does not start at the current stamp. */
  #applyPatch(change: ChatSyncUpdate): boolean {
    const { ready } = this;
    if (ready === undefined) return false;
    const { from, stamp, deleted_at } = change;
    if (stamp < ready.stamp) return true;
    if (from !== ready.stamp) return stamp === ready.stamp;
    const chat = applyChatPatch(ready.chat, change);
    this.#show({
      chat,
      stamp,
      usage: change.usage ?? sumChatUsage(chat),
      ...(deleted_at === undefined ? {} : { deleted_at }),
    });
    return true;
  }
}
