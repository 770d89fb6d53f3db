import type { AnswerLocation, ChatChange, ChatClient } from "@deltawire/tasks/chats";
import { getOpeningText, findRunningAnswers } from "@deltawire/tasks/chats";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";
import type { FollowedTasks } from "./followed-tasks.ts";
import { SyncedChat, type ChatSyncUpdate } from "./synced-chat.ts";
import { createOpenChat } from "./open-chat.ts";
import type { DraftState, OpenChat } from "./app-store.ts";
import type { Notifier } from "./notifier.ts";

export interface OpenChatsOptions {
  readonly client: ChatClient;
  readonly environment: Pick<BrowserEnvironment, "schedule" | "random" | "newId">;
  readonly notifier: Notifier;
  readonly tasks: FollowedTasks;
  readonly onSent: (chatId: string, draft: DraftState) => void;
  readonly onUnreachable: (chatId: string, key: string) => void;
  readonly navigateToChat: (chatId: string) => void;
}

interface OpenChatEntry {
  readonly openChat: OpenChat;
  readonly syncedChat: SyncedChat;
  useCount: number;
  cancelRelease?: (() => void) | undefined;
  readonly unsubscribe: () => void;
}

/** A released chat stays open this long, in case the user comes back. */
const releaseDelayMs = 10_000;

/** The open chats and the tasks of their running answers. */
export class OpenChats {
  readonly #options: OpenChatsOptions;
  readonly #entries = new Map<string, OpenChatEntry>();
  /** Running answers by task id. */
  readonly #answerLocations = new Map<string, AnswerLocation>();

  constructor(options: OpenChatsOptions) {
    this.#options = options;
  }

  open(chatId: string): OpenChat {
    const entry = this.#entries.get(chatId) ?? this.#create(chatId);
    entry.useCount += 1;
    entry.cancelRelease?.();
    entry.cancelRelease = undefined;
    return entry.openChat;
  }

  /** Returns the location of the answer that a task writes, or undefined if its chat is not open. */
  findAnswerLocation(rootTaskId: string): AnswerLocation | undefined {
    return this.#answerLocations.get(rootTaskId);
  }

  applyChange(change: ChatChange): void {
    if (change.type === "chat.removed") this.#entries.get(change.chat_id)?.syncedChat.markRemoved();
    else void this.#entries.get(change.chat.chat_id)?.syncedChat.loadChangesUntil(change.stamp);
  }

  apply(chatId: string, change: ChatSyncUpdate): void {
    void this.#entries.get(chatId)?.syncedChat.apply(change);
  }

  /** Retries failed loads of chats and changes. Call this when the gateway is reachable again. */
  retryFailedLoads(): void {
    for (const { syncedChat } of this.#entries.values()) void syncedChat.retryFailedLoad();
  }

  /** Reloads all chats. Call this after the gateway's store was replaced, which invalidates all stamps. */
  reset(): void {
    for (const { syncedChat } of this.#entries.values()) void syncedChat.reset();
  }

  close(): void {
    for (const { cancelRelease, unsubscribe } of this.#entries.values()) {
      cancelRelease?.();
      unsubscribe();
    }
    this.#entries.clear();
  }

  #create(chatId: string): OpenChatEntry {
    const { client, notifier } = this.#options;
    const syncedChat = new SyncedChat(chatId, client, notifier);
    const release = () => this.#release(chatId);
    const openChat = createOpenChat({ ...this.#options, chatId, syncedChat, release });
    const unsubscribe = syncedChat.state.subscribe(() => this.#followAnswers(syncedChat));
    const entry: OpenChatEntry = { openChat, syncedChat, useCount: 0, unsubscribe };
    this.#entries.set(chatId, entry);
    void syncedChat.reload();
    return entry;
  }

  #release(chatId: string): void {
    const entry = this.#entries.get(chatId);
    if (entry === undefined) return;
    entry.useCount -= 1;
    if (entry.useCount > 0) return;
    entry.cancelRelease?.();
    entry.cancelRelease = this.#options.environment.schedule(releaseDelayMs, () => {
      this.#entries.delete(chatId);
      entry.unsubscribe();
      for (const [taskId, { chat_id }] of this.#answerLocations)
        if (chat_id === chatId) this.#removeTask(taskId);
    });
  }

  #followAnswers({ ready }: SyncedChat): void {
    if (ready === undefined) return;
    const { tasks } = this.#options;
    const { chat_id, title } = ready.chat;
    const runningAnswers = findRunningAnswers(ready.chat);
    for (const { task_id, node_id, version_id } of runningAnswers) {
      const opening_text = getOpeningText(ready.chat);
      this.#answerLocations.set(task_id, { chat_id, title, opening_text, node_id, version_id });
      tasks.follow(task_id);
    }
    const ids = new Set(runningAnswers.map(({ task_id }) => task_id));
    for (const [taskId, location] of this.#answerLocations)
      if (location.chat_id === chat_id && !ids.has(taskId)) {
        this.#answerLocations.delete(taskId);
        tasks.unfollowSoon(taskId);
      }
  }

  #removeTask(taskId: string): void {
    this.#answerLocations.delete(taskId);
    this.#options.tasks.unfollow(taskId);
  }
}
