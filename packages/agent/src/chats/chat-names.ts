import { ChatError } from "./chat-error.ts";
import type { ChatRecords } from "./chat-records.ts";
import { nameChat, type Naming } from "./name-chat.ts";

/** Names chats after their answers, each once at a time. */
export class ChatNames {
  readonly #records: ChatRecords;
  readonly #parts: Naming;
  readonly #naming = new Map<string, { done: Promise<void>; stop: AbortController }>();
  #isClosed = false;

  constructor(records: ChatRecords, parts: Naming) {
    this.#records = records;
    this.#parts = parts;
  }

  isNaming(chatId: string): boolean {
    return this.#naming.has(chatId);
  }

  begin(chatId: string): void {
    if (this.#isClosed || this.#naming.has(chatId)) return;
    const stop = new AbortController();
    this.#naming.set(chatId, { done: this.#name(chatId, stop.signal), stop });
  }

  /** A name in the making is given up: it is made anew after the next answer. */
  async stop(chatId: string): Promise<void> {
    const naming = this.#naming.get(chatId);
    naming?.stop.abort();
    await naming?.done;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#naming.keys(), (chatId) => this.stop(chatId)));
  }

  async #name(chatId: string, signal: AbortSignal): Promise<void> {
    try {
      // What is masked may have changed since the answer ended, and cannot from now on.
      const now = await this.#records.open(chatId, { deleted: true });
      const edit = await nameChat(now, this.#parts, signal);
      if (edit !== undefined) await this.#records.edit(chatId, [edit]);
    } catch (error) {
      // Somebody has named it meanwhile, or it is gone.
      if (!(error instanceof ChatError))
        this.#parts.options.onFailure("a chat could not be named", error);
    } finally {
      this.#naming.delete(chatId);
    }
  }
}
