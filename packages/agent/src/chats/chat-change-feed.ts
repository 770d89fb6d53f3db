import type { MessageBus } from "@deltawire/tasks";
import type { ChatStore } from "@deltawire/tasks/chats";
import { busChannels } from "../cluster/bus-channels.ts";
import { getErrorMessage } from "../event-text.ts";
import type { SharedChatStore } from "./chats-options.ts";

/** `stamp` is that of the latest known change to any chat. Read the changes themselves with `listChatChanges`. */
export type ChatChangeListener = (stamp: number) => void;

export interface ChatChangeFeedOptions {
  store: Pick<ChatStore, "getChatStamps"> & Pick<SharedChatStore, "isShared">;
  bus: MessageBus | undefined;
  onFailure: (message: string, cause: unknown) => void;
}

/** How often the last stamp is read while there are listeners, in milliseconds. The bus may lose messages. */
const pollMs = { withoutBus: 300, withBus: 1500, afterFailure: 2000 };

/**
 * Notifies listeners of chat changes. On a shared store these include the changes of other processes, which are announced on
 * the message bus if there is one, and otherwise found by polling. Listeners may be called repeatedly with the same stamp.
 */
export class ChatChangeFeed {
  readonly #options: ChatChangeFeedOptions;
  readonly #listeners = new Set<ChatChangeListener>();
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Stamp of the latest change that listeners were notified of. Undefined until it has been read. */
  #head: number | undefined;
  #isPolling = false;
  #hasFailed = false;
  #isClosed = false;

  constructor(options: ChatChangeFeedOptions) {
    this.#options = options;
  }

  /** Calls the listener after each change from now on. Returns a function that unsubscribes. */
  subscribe(listener: ChatChangeListener): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#watchOtherProcesses();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stopWatching();
    };
  }

  /** Must be called after each change that this process has stored. */
  announce(stamp: number): void {
    const { bus, store } = this.#options;
    if (store.isShared) bus?.publish(busChannels.chats, String(stamp));
    this.#head = Math.max(this.#head ?? 0, stamp);
    this.#notify(stamp);
  }

  /** Stops looking for changes of other processes. */
  close(): void {
    this.#isClosed = true;
    this.#stopWatching();
  }

  #watchOtherProcesses(): void {
    const { bus, store } = this.#options;
    if (!store.isShared || this.#isClosed) return;
    this.#unsubscribe = bus?.subscribe(busChannels.chats, (message) =>
      this.#updateHead(Number(message)),
    );
    // Unknown, so that listeners are notified once: a change may have been missed until now.
    this.#head = undefined;
    void this.#poll();
  }

  #stopWatching(): void {
    clearTimeout(this.#timer);
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      this.#updateHead((await this.#options.store.getChatStamps()).head);
      this.#hasFailed = false;
    } catch (error) {
      // Only the first of a series of failures is reported.
      if (!this.#hasFailed && !this.#isClosed)
        this.#options.onFailure(
          `could not read the chat changes of other processes: ${getErrorMessage(error)}`,
          error,
        );
      this.#hasFailed = true;
    }
    this.#isPolling = false;
    if (this.#isClosed || this.#listeners.size === 0) return;
    const { withBus, withoutBus, afterFailure } = pollMs;
    const delayMs = this.#options.bus?.isConnected === true ? withBus : withoutBus;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => void this.#poll(),
      this.#hasFailed ? afterFailure : delayMs,
    ).unref();
  }

  #updateHead(stamp: number): void {
    if (!Number.isSafeInteger(stamp) || (this.#head !== undefined && stamp <= this.#head)) return;
    this.#head = stamp;
    this.#notify(stamp);
  }

  #notify(stamp: number): void {
    for (const listener of this.#listeners) {
      try {
        listener(stamp);
      } catch (error) {
        this.#options.onFailure("a chat listener failed", error);
      }
    }
  }
}
