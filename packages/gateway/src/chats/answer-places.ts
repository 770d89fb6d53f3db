import type { AnswerPlace, ChatStore } from "@deltawire/tasks/chats";
import type { ChatFeed } from "./chat-follower.ts";

const mostTitles = 1000;

/** Where in the chats the answers stand that tasks make. */
export class AnswerPlaces {
  readonly #store: Pick<ChatStore, "runningAnswers" | "chat">;
  /** A chat is read whole, so its title is read once and then heard of. */
  readonly #titles = new Map<string, string>();
  #changes = 0;
  readonly #unsubscribe: () => void;

  constructor(
    store: Pick<ChatStore, "runningAnswers" | "chat">,
    changes: Pick<ChatFeed, "subscribe">,
  ) {
    this.#store = store;
    this.#unsubscribe = changes.subscribe((change) => {
      this.#changes += 1;
      if (change.type === "chat.removed") this.#titles.delete(change.chat_id);
      else if (this.#titles.has(change.chat.chat_id))
        this.#titles.set(change.chat.chat_id, change.chat.title);
    });
  }

  /** By the root task. Of one that answers in no chat there is none. */
  async of(rootTaskIds: ReadonlySet<string>): Promise<Map<string, AnswerPlace>> {
    const places = new Map<string, AnswerPlace>();
    if (rootTaskIds.size === 0) return places;
    for (const { task_id, ...place } of await this.#store.runningAnswers()) {
      if (!rootTaskIds.has(task_id)) continue;
      const title = await this.#titleOf(place.chat_id);
      if (title !== undefined) places.set(task_id, { ...place, title });
    }
    return places;
  }

  close(): void {
    this.#unsubscribe();
  }

  async #titleOf(chatId: string): Promise<string | undefined> {
    const known = this.#titles.get(chatId);
    if (known !== undefined) return known;
    const before = this.#changes;
    const title = (await this.#store.chat(chatId))?.chat.title;
    // One that changed while it was read would never be heard of again.
    if (title === undefined || before !== this.#changes) return title;
    const [oldest] = this.#titles.keys();
    if (this.#titles.size >= mostTitles && oldest !== undefined) this.#titles.delete(oldest);
    this.#titles.set(chatId, title);
    return title;
  }
}
