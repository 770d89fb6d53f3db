import { getOpeningText, type AnswerLocation, type ChatStore } from "@deltawire/tasks/chats";
import { markdownToText } from "@deltawire/tasks/markdown";
import type { ChatFeed } from "../tasks/streams/chat-stream-writer.ts";

const maxCachedNames = 1000;

type ChatName = Pick<AnswerLocation, "title" | "opening_text">;

/** Finds the chats and answer versions that running tasks belong to. */
export class AnswerLocator {
  readonly #store: Pick<ChatStore, "listRunningAnswers" | "getChat">;
  /** Finding a name reads the complete chat, so names are cached until a chat changes. */
  readonly #names = new Map<string, ChatName>();
  #changeCount = 0;
  readonly #unsubscribe: () => void;

  constructor(
    store: Pick<ChatStore, "listRunningAnswers" | "getChat">,
    changes: Pick<ChatFeed, "subscribe">,
  ) {
    this.#store = store;
    this.#unsubscribe = changes.subscribe(() => {
      this.#changeCount += 1;
      this.#names.clear();
    });
  }

  /** Returns locations by root task id. Tasks that do not belong to a chat are missing. */
  async locate(rootTaskIds: ReadonlySet<string>): Promise<Map<string, AnswerLocation>> {
    const locations = new Map<string, AnswerLocation>();
    if (rootTaskIds.size === 0) return locations;
    for (const { task_id, ...location } of await this.#store.listRunningAnswers()) {
      if (!rootTaskIds.has(task_id)) continue;
      const name = await this.#findName(location.chat_id);
      if (name !== undefined) locations.set(task_id, { ...location, ...name });
    }
    return locations;
  }

  close(): void {
    this.#unsubscribe();
  }

  async #findName(chatId: string): Promise<ChatName | undefined> {
    const cached = this.#names.get(chatId);
    if (cached !== undefined) return cached;
    const countBefore = this.#changeCount;
    const chat = (await this.#store.getChat(chatId))?.chat;
    const name = chat && { title: chat.title, opening_text: getOpeningText(chat, markdownToText) };
    // Not cached if a chat has changed meanwhile: the name could be outdated.
    if (name === undefined || countBefore !== this.#changeCount) return name;
    const [oldest] = this.#names.keys();
    if (this.#names.size >= maxCachedNames && oldest !== undefined) this.#names.delete(oldest);
    this.#names.set(chatId, name);
    return name;
  }
}
