import type { ChatListReply, ChatSummary } from "@deltawire/tasks/chats";
import { createCell, type Cell } from "../cell.ts";
import type { ChatListState } from "../state/app-store.ts";

/** A paged list of chats in addition to the main list: chats with a tag, or deleted chats. */
export interface PagedChats {
  readonly state: Cell<ChatListState>;
  /** Rejects if the request fails. The chats loaded so far stay in the list. */
  loadMore(): Promise<true>;
  reload(): Promise<void>;
  /** Like `reload`, but the loaded chats stay visible meanwhile. */
  refresh(): Promise<void>;
  /** Removes a chat from the list. */
  readonly remove: (chatId: string) => void;
}

export function createPagedChats(
  request: (cursor: string | undefined) => Promise<ChatListReply>,
): PagedChats {
  const state = createCell<ChatListState>({ status: "loading" });
  let nextCursor: string | undefined;
  let loading: Promise<void> | undefined;

  const loadPage = async (previous: readonly ChatSummary[], cursor: string | undefined) => {
    try {
      const { data, has_more, next_before } = await request(cursor);
      nextCursor = next_before ?? undefined;
      const ids = new Set(previous.map(({ chat_id }) => chat_id));
      const chats = [...previous, ...data.filter(({ chat_id }) => !ids.has(chat_id))];
      state.set({ status: "ready", chats, hasMore: has_more && nextCursor !== undefined });
    } catch (error) {
      if (previous.length > 0) throw error;
      state.set({
        status: "failed",
        message: error instanceof Error ? error.message : String(error),
      });
    }
  };
  /** While a request is running, waits for it instead of starting another. */
  const runExclusive = (load: () => Promise<void>): Promise<void> => {
    loading ??= load().finally(() => {
      loading = undefined;
    });
    return loading;
  };

  return {
    state,
    reload: () =>
      runExclusive(() => {
        state.set({ status: "loading" });
        return loadPage([], undefined);
      }),
    refresh: () => runExclusive(() => loadPage([], undefined)),
    async loadMore() {
      const current = state.get();
      if (current.status === "ready" && current.hasMore)
        await runExclusive(() => loadPage(current.chats, nextCursor));
      return true;
    },
    remove(chatId) {
      const current = state.get();
      if (current.status !== "ready" || !current.chats.some(({ chat_id }) => chat_id === chatId))
        return;
      state.set({ ...current, chats: current.chats.filter(({ chat_id }) => chat_id !== chatId) });
    },
  };
}

/**
 * Merges the chats loaded for a tag with those of the main list, which may be newer or may have been tagged since. Pinned
 * chats come first, then the most recently changed ones.
 */
export function mergeTaggedChats(
  tag: string,
  taggedChats: readonly ChatSummary[],
  mainChats: readonly ChatSummary[],
): ChatSummary[] {
  const newest = new Map(taggedChats.map((chat) => [chat.chat_id, chat]));
  for (const chat of mainChats) {
    const other = newest.get(chat.chat_id);
    if (other === undefined || other.stamp < chat.stamp) newest.set(chat.chat_id, chat);
  }
  return [...newest.values()]
    .filter(({ tags }) => tags.includes(tag))
    .toSorted(
      (a, b) =>
        Number(b.pinned) - Number(a.pinned) ||
        (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0),
    );
}
