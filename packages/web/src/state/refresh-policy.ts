import type { EventClient } from "@deltawire/tasks";
import type { ChatFeedHandlers } from "@deltawire/tasks/chats";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";
import type { Session } from "./app-store.ts";
import type { ManagedApprovalStore } from "./approval-store.ts";
import type { ManagedChatListStore } from "./chat-list-store.ts";
import type { ChoicesLoader } from "./choices-loader.ts";
import type { ConnectionOptions } from "./connection.ts";
import type { OpenChats } from "./open-chats.ts";

export interface RefreshPolicyOptions {
  readonly environment: Pick<BrowserEnvironment, "schedule">;
  readonly session: Pick<Session, "state">;
  readonly events: Pick<EventClient, "connection">;
  readonly chatList: ManagedChatListStore;
  readonly chats: Pick<OpenChats, "reset" | "retryFailedLoads">;
  readonly approvals: Pick<ManagedApprovalStore, "reload">;
  readonly choicesLoader: Pick<ChoicesLoader, "reload">;
}

export interface RefreshPolicy {
  /** Handlers that load data when the session opens, and when the event stream is live, including after a reconnect. */
  readonly connection: Pick<ConnectionOptions, "onOpen" | "onLive">;
  /** Handlers that load data when the chat feed starts, reports changed approvals, or has missed changes (a reset). */
  readonly chatFeed: Required<Pick<ChatFeedHandlers, "onReset" | "onEvent">>;
  /** Stops polling. */
  close(): void;
}

/** Interval for polling what the event stream does not report. While the stream is suspended, the chat list is polled, too. */
const pollIntervalMs = 20_000;

/**
 * Decides what the page reloads, and when. After a reconnect the event stream resumes and reports the missed changes of
 * chats, so a loaded list and loaded chats stay, and only failed loads are retried. Changes of approvals and choices are not
 * replayed, so both are reloaded.
 */
export function createRefreshPolicy(options: RefreshPolicyOptions): RefreshPolicy {
  const { environment, session, events, chatList, chats, approvals, choicesLoader } = options;
  /** Stamp at which the chat feed started. */
  let feedStartStamp: number | undefined;

  let cancelPoll: () => void;
  const schedulePoll = () => {
    cancelPoll = environment.schedule(pollIntervalMs, () => {
      schedulePoll();
      poll();
    });
  };
  const poll = () => {
    if (session.state.get().status !== "open") return;
    const { state } = events.connection;
    const isSuspended = state === "suspended";
    if (isSuspended || chatList.state.get().status === "failed") void chatList.refresh();
    if (!isSuspended && state !== "live") return;
    void approvals.reload();
    chats.retryFailedLoads();
  };
  schedulePoll();

  return {
    connection: {
      onOpen() {
        if (chatList.state.get().status !== "ready") void chatList.reload();
        chats.retryFailedLoads();
      },
      onLive() {
        chats.retryFailedLoads();
        void approvals.reload();
        void choicesLoader.reload();
      },
    },
    chatFeed: {
      onReset() {
        void chatList.reset();
        chats.reset();
        void approvals.reload();
      },
      onEvent(event) {
        if (event.type === "approvals.changed") void approvals.reload();
        // The approval shows the title of its chat, which may have changed.
        if (event.type === "chat.changed" && event.chat.waiting > 0) void approvals.reload();
        if (event.type !== "chats.opened") return;
        feedStartStamp ??= event.head;
        // If the list was loaded before the stream started, it may lack changes in between.
        void chatList.reloadIfOlderThan(feedStartStamp);
      },
    },
    close: () => cancelPoll(),
  };
}
