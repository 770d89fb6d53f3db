import type { ChatListReply, ChatSummary } from "@deltawire/tasks/chats";
import { cell, type Cell } from "../cell.ts";
import type { ListState } from "../state/page.ts";

/** Chats that the page's own list does not hold: those with a tag, those that were deleted. */
export interface ChatPages {
  readonly state: Cell<ListState>;
  /** Rejects where the gateway does not answer; what was read stays. */
  loadMore(): Promise<true>;
  readAnew(): Promise<void>;
  /** The same while what was read before stays in sight. */
  refresh(): Promise<void>;
  /** It is no longer one of them. */
  readonly drop: (chatId: string) => void;
}

export function createChatPages(
  read: (before: string | undefined) => Promise<ChatListReply>,
): ChatPages {
  const state = cell<ListState>({ is: "loading" });
  let next: string | undefined;
  let reading: Promise<void> | undefined;

  const readPage = async (known: readonly ChatSummary[], before: string | undefined) => {
    try {
      const { data, has_more, next_before } = await read(before);
      next = next_before ?? undefined;
      const ids = new Set(known.map(({ chat_id }) => chat_id));
      const chats = [...known, ...data.filter(({ chat_id }) => !ids.has(chat_id))];
      state.set({ is: "ready", chats, hasMore: has_more && next !== undefined });
    } catch (error) {
      if (known.length > 0) throw error;
      state.set({ is: "failed", message: error instanceof Error ? error.message : String(error) });
    }
  };
  const onceAtATime = (work: () => Promise<void>): Promise<void> => {
    reading ??= work().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  return {
    state,
    readAnew: () =>
      onceAtATime(() => {
        state.set({ is: "loading" });
        return readPage([], undefined);
      }),
    refresh: () => onceAtATime(() => readPage([], undefined)),
    async loadMore() {
      const now = state.get();
      if (now.is === "ready" && now.hasMore) await onceAtATime(() => readPage(now.chats, next));
      return true;
    },
    drop(chatId) {
      const now = state.get();
      if (now.is !== "ready" || !now.chats.some(({ chat_id }) => chat_id === chatId)) return;
      state.set({ ...now, chats: now.chats.filter(({ chat_id }) => chat_id !== chatId) });
    },
  };
}

/**
 * The chats with a tag: those that were read, each as fresh as the page knows it, and those that got the tag since.
 * Pinned ones first, then the last changed first.
 */
export function withTag(
  tag: string,
  read: readonly ChatSummary[],
  known: readonly ChatSummary[],
): ChatSummary[] {
  const freshest = new Map(read.map((chat) => [chat.chat_id, chat]));
  for (const chat of known) {
    const other = freshest.get(chat.chat_id);
    if (other === undefined || other.stamp < chat.stamp) freshest.set(chat.chat_id, chat);
  }
  return [...freshest.values()]
    .filter(({ tags }) => tags.includes(tag))
    .toSorted(
      (one, other) =>
        Number(other.pinned) - Number(one.pinned) ||
        (one.updated_at < other.updated_at ? 1 : one.updated_at > other.updated_at ? -1 : 0),
    );
}
