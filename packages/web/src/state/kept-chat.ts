import {
  applyPatch,
  ChatApiError,
  chatUsage,
  type ChatClient,
  type ChatPatch,
  type ChatReply,
} from "@deltawire/tasks/chats";
import type { Usage } from "@deltawire/tasks";
import { cell, type Cell } from "../cell.ts";
import type { OpenChatState } from "./page.ts";
import { textOf, type Telling } from "./telling.ts";

export type ReadyChat = Extract<OpenChatState, { is: "ready" }>;

/** What the gateway answers to any change: the part of the chat that it touched. */
export interface Change extends ChatPatch {
  readonly from: number;
  readonly usage?: Usage;
  readonly deleted_at?: string;
}

/**
 * A chat as the gateway has it, brought from stamp to stamp. It never goes back: of two replies that come in the wrong
 * order the older is not used.
 */
export class KeptChat {
  readonly #chatId: string;
  readonly #client: ChatClient;
  readonly #telling: Telling;
  readonly #state = cell<OpenChatState>({ is: "loading" });
  /** The highest stamp that it is known to have. */
  #wanted = -1;
  /** One after the other. */
  #lastRead: Promise<void> = Promise.resolve();

  constructor(chatId: string, client: ChatClient, telling: Telling) {
    this.#chatId = chatId;
    this.#client = client;
    this.#telling = telling;
  }

  get state(): Cell<OpenChatState> {
    return this.#state;
  }

  get ready(): ReadyChat | undefined {
    const state = this.#state.get();
    return state.is === "ready" ? state : undefined;
  }

  /** As a whole, whatever is known of it. */
  readAnew(): Promise<void> {
    return this.#inTurn(async () => this.#begin(await this.#client.open(this.#chatId)));
  }

  /** The stamps of before count no longer: the gateway has another past. */
  reset(): Promise<void> {
    return this.#inTurn(async () => {
      const reply = await this.#client.open(this.#chatId);
      this.#wanted = -1;
      this.#show(reply);
    });
  }

  /** It has come to this stamp, as somebody tells. Resolves when it is shown, or could not be read. */
  catchUp(stamp: number): Promise<void> {
    this.#wanted = Math.max(this.#wanted, stamp);
    return this.#inTurn(async () => {
      const { ready } = this;
      if (ready === undefined) {
        if (this.#state.get().is === "failed") this.#begin(await this.#client.open(this.#chatId));
        return;
      }
      if (ready.stamp >= this.#wanted) return;
      const reply = await this.#client.openSince(this.#chatId, ready.stamp);
      if (!("from" in reply)) return this.#begin(reply);
      // A change of our own came between: that and this make one that has to be asked for again.
      if (!this.#patch(reply)) void this.catchUp(reply.stamp);
    });
  }

  /** What a change of our own has made of it. */
  async apply(change: Change): Promise<void> {
    this.#wanted = Math.max(this.#wanted, change.stamp);
    if (!this.#patch(change)) await this.catchUp(change.stamp);
  }

  /** For good. */
  removed(): void {
    this.#state.set({ is: "missing" });
  }

  #inTurn(read: () => Promise<void>): Promise<void> {
    this.#lastRead = this.#lastRead.then(read).catch((failure: unknown) => this.#failed(failure));
    return this.#lastRead;
  }

  #failed(failure: unknown): void {
    if (failure instanceof ChatApiError && failure.status === 404) return this.removed();
    // What is shown stays: the connection says that it may be old.
    if (this.ready === undefined)
      this.#state.set({ is: "failed", message: textOf(failure, this.#telling.words()) });
  }

  #begin(reply: ChatReply): void {
    if (reply.stamp >= (this.ready?.stamp ?? -1)) this.#show(reply);
  }

  #show({ chat, stamp, usage, deleted_at }: ChatReply): void {
    this.#state.set({ is: "ready", chat, stamp, usage, deletedAt: deleted_at });
  }

  /** False: it is not of what is known here. */
  #patch(change: Change): boolean {
    const { ready } = this;
    if (ready === undefined) return false;
    const { from, stamp, deleted_at } = change;
    if (stamp < ready.stamp) return true;
    if (from !== ready.stamp) return stamp === ready.stamp;
    const chat = applyPatch(ready.chat, change);
    this.#show({
      chat,
      stamp,
      usage: change.usage ?? chatUsage(chat),
      ...(deleted_at === undefined ? {} : { deleted_at }),
    });
    return true;
  }
}
