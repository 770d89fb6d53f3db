import type { AnswerPlace, ChatChange, ChatClient } from "@deltawire/tasks/chats";
import { firstWords, runningAnswers } from "@deltawire/tasks/chats";
import type { World } from "../browser/world.ts";
import type { FollowedTasks } from "./followed-tasks.ts";
import { KeptChat, type Change } from "./kept-chat.ts";
import { createOpenChat } from "./open-chat.ts";
import type { DraftState, OpenChat } from "./page.ts";
import type { Telling } from "./telling.ts";

export interface OpenChatsOptions {
  readonly client: ChatClient;
  readonly world: Pick<World, "schedule" | "random" | "newId">;
  readonly telling: Telling;
  readonly tasks: FollowedTasks;
  readonly onSent: (chatId: string, draft: DraftState) => void;
  readonly onUnreached: (chatId: string, key: string) => void;
  readonly goTo: (chatId: string) => void;
}

interface Shown {
  readonly open: OpenChat;
  readonly kept: KeptChat;
  times: number;
  cancelEnd?: (() => void) | undefined;
  readonly letGo: () => void;
}

/** A chat that was left is kept for those who come back at once. */
const keptForMs = 10_000;

/** The chats that are shown, and the tasks of the answers that run in them. */
export class OpenChats {
  readonly #options: OpenChatsOptions;
  readonly #shown = new Map<string, Shown>();
  readonly #places = new Map<string, AnswerPlace>();

  constructor(options: OpenChatsOptions) {
    this.#options = options;
  }

  open(chatId: string): OpenChat {
    const shown = this.#shown.get(chatId) ?? this.#begin(chatId);
    shown.times += 1;
    shown.cancelEnd?.();
    shown.cancelEnd = undefined;
    return shown.open;
  }

  /** The answer that a task makes. */
  placeOf(rootTaskId: string): AnswerPlace | undefined {
    return this.#places.get(rootTaskId);
  }

  take(change: ChatChange): void {
    if (change.type === "chat.removed") this.#shown.get(change.chat_id)?.kept.removed();
    else void this.#shown.get(change.chat.chat_id)?.kept.catchUp(change.stamp);
  }

  apply(chatId: string, change: Change): void {
    void this.#shown.get(chatId)?.kept.apply(change);
  }

  /** The gateway answers again: what could not be read can be. */
  catchUp(): void {
    for (const { kept } of this.#shown.values()) void kept.catchUp(-1);
  }

  /** The stamps of before count no longer. */
  reset(): void {
    for (const { kept } of this.#shown.values()) void kept.reset();
  }

  close(): void {
    for (const { cancelEnd, letGo } of this.#shown.values()) {
      cancelEnd?.();
      letGo();
    }
    this.#shown.clear();
  }

  #begin(chatId: string): Shown {
    const { client, telling } = this.#options;
    const kept = new KeptChat(chatId, client, telling);
    const release = () => this.#release(chatId);
    const open = createOpenChat({ ...this.#options, chatId, kept, release });
    const letGo = kept.state.subscribe(() => this.#followAnswers(kept));
    const shown: Shown = { open, kept, times: 0, letGo };
    this.#shown.set(chatId, shown);
    void kept.readAnew();
    return shown;
  }

  #release(chatId: string): void {
    const shown = this.#shown.get(chatId);
    if (shown === undefined) return;
    shown.times -= 1;
    if (shown.times > 0) return;
    shown.cancelEnd?.();
    shown.cancelEnd = this.#options.world.schedule(keptForMs, () => {
      this.#shown.delete(chatId);
      shown.letGo();
      for (const [taskId, { chat_id }] of this.#places) if (chat_id === chatId) this.#end(taskId);
    });
  }

  #followAnswers({ ready }: KeptChat): void {
    if (ready === undefined) return;
    const { tasks } = this.#options;
    const { chat_id, title } = ready.chat;
    const running = runningAnswers(ready.chat);
    for (const { task_id, node_id, version_id } of running) {
      const first_words = firstWords(ready.chat);
      this.#places.set(task_id, { chat_id, title, first_words, node_id, version_id });
      tasks.follow(task_id);
    }
    const ids = new Set(running.map(({ task_id }) => task_id));
    for (const [taskId, place] of this.#places)
      if (place.chat_id === chat_id && !ids.has(taskId)) {
        this.#places.delete(taskId);
        tasks.unfollowSoon(taskId);
      }
  }

  #end(taskId: string): void {
    this.#places.delete(taskId);
    this.#options.tasks.unfollow(taskId);
  }
}
