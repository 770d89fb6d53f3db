import { upgradeChatSettings } from "@deltawire/tasks/chats";
import type { StoredChat } from "@deltawire/tasks/chats";
import type { ChatChangeFeed } from "./chat-change-feed.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatRecords } from "./chat-records.ts";
import { generateTitle, type TitleServices } from "./generate-title.ts";

/**
 * Generates titles for chats after an answer, in the process that stored the end of the answer. Two answers that end in two
 * processes at the same time may cause two requests; only the first title is saved, and a user's title is never replaced.
 *
 * A request is masked with the privacy settings at its start. If they change in this process, the request is aborted first. If
 * they change in another process, the settings are read again immediately before the request is sent, and a request that was
 * already sent is aborted as soon as the change is noticed: at once with a message bus, otherwise within 300 ms.
 */
export class ChatTitler {
  readonly #records: ChatRecords;
  readonly #changes: Pick<ChatChangeFeed, "subscribe">;
  readonly #services: TitleServices;
  readonly #running = new Map<string, { done: Promise<void>; controller: AbortController }>();
  #isClosed = false;

  constructor(
    records: ChatRecords,
    changes: Pick<ChatChangeFeed, "subscribe">,
    services: TitleServices,
  ) {
    this.#records = records;
    this.#changes = changes;
    this.#services = services;
  }

  /** True if this process is generating a title for the chat. */
  isRunning(chatId: string): boolean {
    return this.#running.has(chatId);
  }

  start(chatId: string): void {
    if (this.#isClosed || this.#running.has(chatId)) return;
    const controller = new AbortController();
    this.#running.set(chatId, { done: this.#generate(chatId, controller), controller });
  }

  /** Aborts the generation of a title. It starts again after the next answer, or when `AnswerSweeper` or a restart finds it missing. */
  async stop(chatId: string): Promise<void> {
    const generation = this.#running.get(chatId);
    generation?.controller.abort();
    await generation?.done;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#running.keys(), (chatId) => this.stop(chatId)));
  }

  async #generate(chatId: string, controller: AbortController): Promise<void> {
    let stopWatching = (): void => undefined;
    try {
      // Read again, because the privacy settings may have changed since the answer ended.
      const stored = await this.#records.open(chatId, { includeDeleted: true });
      const abortIfOutdated = async (): Promise<void> => {
        if (!(await this.#isCurrent(stored))) controller.abort();
      };
      const { isShared } = this.#services.options.store;
      if (isShared)
        stopWatching = this.#changes.subscribe(
          () => void abortIfOutdated().catch(() => controller.abort()),
        );
      const edit = await generateTitle(stored, this.#services, {
        signal: controller.signal,
        ...(isShared && { beforeRequest: abortIfOutdated }),
      });
      if (edit !== undefined) await this.#records.edit(chatId, [edit]);
    } catch (error) {
      // A ChatError means that the user has set a title in the meantime, or that the chat was deleted.
      if (!(error instanceof ChatError))
        this.#services.options.onFailure("the title of a chat could not be saved", error);
    } finally {
      stopWatching();
      this.#running.delete(chatId);
    }
  }

  /** False if another process has changed the privacy settings, set a title or deleted the chat. */
  async #isCurrent({ chat, stamp }: StoredChat): Promise<boolean> {
    const update = await this.#services.options.store.getChatUpdate(chat.chat_id, stamp);
    if (update === undefined || update.chat.title_by !== "nobody") return false;
    const { settings } = upgradeChatSettings(update.chat);
    return JSON.stringify(settings.privacy) === JSON.stringify(chat.settings.privacy);
  }
}
