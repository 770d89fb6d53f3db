import { firstWords, type AnswerPlace, type ChatStore } from "@deltawire/tasks/chats";
import { plainText } from "@deltawire/tasks/markdown";
import type { ChatFeed } from "../tasks/follow/chat-follower.ts";

const mostNames = 1000;

type ChatName = Pick<AnswerPlace, "title" | "first_words">;

/** Where in the chats the answers stand that tasks make. */
export class AnswerPlaces {
  readonly #store: Pick<ChatStore, "runningAnswers" | "chat">;
  /** A chat is read whole, so what names it is read once and then updated by changes. */
  readonly #names = new Map<string, ChatName>();
  #changes = 0;
  readonly #unsubscribe: () => void;

  constructor(
    store: Pick<ChatStore, "runningAnswers" | "chat">,
    changes: Pick<ChatFeed, "subscribe">,
  ) {
    this.#store = store;
    this.#unsubscribe = changes.subscribe((change) => {
      this.#changes += 1;
      if (change.type === "chat.removed") this.#names.delete(change.chat_id);
      else if (this.#names.has(change.chat.chat_id)) {
        const { chat_id, title, first_words } = change.chat;
        this.#names.set(chat_id, { title, first_words });
      }
    });
  }

  /** By the root task. Of one that answers in no chat there is none. */
  async of(rootTaskIds: ReadonlySet<string>): Promise<Map<string, AnswerPlace>> {
    const places = new Map<string, AnswerPlace>();
    if (rootTaskIds.size === 0) return places;
    for (const { task_id, ...place } of await this.#store.runningAnswers()) {
      if (!rootTaskIds.has(task_id)) continue;
      const name = await this.#findName(place.chat_id);
      if (name !== undefined) places.set(task_id, { ...place, ...name });
    }
    return places;
  }

  close(): void {
    this.#unsubscribe();
  }

  async #findName(chatId: string): Promise<ChatName | undefined> {
    const known = this.#names.get(chatId);
    if (known !== undefined) return known;
    const before = this.#changes;
    const chat = (await this.#store.chat(chatId))?.chat;
    const name = chat && { title: chat.title, first_words: firstWords(chat, plainText) };
    // One that changed while it was read would never be heard of again.
    if (name === undefined || before !== this.#changes) return name;
    const [oldest] = this.#names.keys();
    if (this.#names.size >= mostNames && oldest !== undefined) this.#names.delete(oldest);
    this.#names.set(chatId, name);
    return name;
  }
}
