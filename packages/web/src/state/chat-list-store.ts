import type {
  ChangeReply,
  ChatChange,
  ChatClient,
  ChatSummary,
  UserEdit,
} from "@deltawire/tasks/chats";
import { createCell } from "../cell.ts";
import { editAtRevision } from "./retry-requests.ts";
import type { ChatListStore, ChatListState } from "./app-store.ts";
import type { Router } from "../browser/hash-router.ts";
import { formatError, type Notifier } from "./notifier.ts";

export interface ChatListStoreOptions {
  readonly client: ChatClient;
  readonly notifier: Notifier;
  readonly router: Pick<Router, "route" | "navigate">;
  /** Called when a chat was changed from the list, so that the open chat is updated immediately. */
  readonly onChange: (chatId: string, reply: ChangeReply) => void;
}

export interface ManagedChatListStore extends ChatListStore {
  /** Applies a change from the event stream. */
  applyChange(change: ChatChange): void;
  /** Reloads the list if it is older than this stamp. */
  reloadIfOlderThan(stamp: number): Promise<void>;
  /** Loads the chats that changed last. For use without an event stream. */
  refresh(): Promise<void>;
  /** Drops all stamps and reloads the list. Call this after the gateway's store was replaced. */
  reset(): Promise<void>;
}

const pageSize = 50;

/** The list is loaded once. Later changes come from the event stream. */
export function createChatListStore({
  client,
  notifier,
  router,
  onChange,
}: ChatListStoreOptions): ManagedChatListStore {
  const state = createCell<ChatListState>({ status: "loading" });
  let chats = new Map<string, ChatSummary>();
  /** Stamps of removed chats: a page that was requested earlier may still contain them. */
  const removedStamps = new Map<string, number>();
  let nextCursor: string | undefined;
  let loadedStamp = -1;
  let loading: Promise<void> | undefined;

  const publish = () =>
    state.set({
      status: "ready",
      chats: [...chats.values()].toSorted(compareChats),
      hasMore: nextCursor !== undefined,
    });

  const put = (chat: ChatSummary) => {
    const { chat_id, stamp, deleted_at } = chat;
    const knownStamp = Math.max(chats.get(chat_id)?.stamp ?? -1, removedStamps.get(chat_id) ?? -1);
    if (stamp < knownStamp) return;
    if (deleted_at === undefined) {
      chats.set(chat_id, chat);
      removedStamps.delete(chat_id);
    } else drop(chat_id, stamp);
  };
  const drop = (chatId: string, stamp: number) => {
    chats.delete(chatId);
    removedStamps.set(chatId, stamp);
  };

  const load = async () => {
    try {
      const reply = await client.list({ limit: Math.min(100, Math.max(pageSize, chats.size)) });
      // Changes from the event stream may be newer than the reply.
      const newerChats = [...chats.values()].filter(({ stamp }) => stamp > reply.stamp);
      chats = new Map();
      for (const [chatId, stamp] of removedStamps)
        if (stamp <= reply.stamp) removedStamps.delete(chatId);
      for (const chat of [...reply.data, ...newerChats]) put(chat);
      nextCursor = reply.next_before ?? undefined;
      loadedStamp = reply.stamp;
      publish();
    } catch (failure) {
      if (state.get().status !== "ready")
        state.set({ status: "failed", message: formatError(failure, notifier.getMessages()) });
    }
  };
  /** Concurrent calls share one request. */
  const reload = () => (loading ??= load().finally(() => (loading = undefined)));

  const edit = async (chatId: string, change: UserEdit): Promise<boolean> => {
    const reply = await notifier.attempt(() =>
      editAtRevision(chats.get(chatId)?.revision ?? 0, {
        post: (revision) => client.applyEdits(chatId, { revision, edits: [change] }),
        isRebasable: true,
      }),
    );
    if (reply !== undefined) onChange(chatId, reply);
    return reply !== undefined;
  };

  const restore = async (chatId: string): Promise<boolean> =>
    (await notifier.attempt(() => client.restore(chatId))) !== undefined;

  /** Waits for a running request, whose reply may be too old for the caller, and then sends another. */
  const reloadAfterCurrent = async () => {
    await loading;
    await reload();
  };

  return {
    state,
    reload: reloadAfterCurrent,
    async reloadIfOlderThan(stamp) {
      await loading;
      if (loadedStamp < stamp) await reload();
    },
    async refresh() {
      if (state.get().status !== "ready") return reloadAfterCurrent();
      const reply = await client.list({ limit: pageSize }).catch(() => undefined);
      for (const chat of reply?.data ?? []) put(chat);
      publish();
    },
    async reset() {
      await loading;
      chats.clear();
      removedStamps.clear();
      await reload();
    },
    applyChange(change) {
      if (change.type === "chat.removed") drop(change.chat_id, change.stamp);
      else put(change.chat);
      if (state.get().status === "ready") publish();
    },
    async loadMore() {
      const cursor = nextCursor;
      if (cursor === undefined) return true;
      const reply = await notifier.attempt(() => client.list({ limit: pageSize, before: cursor }));
      if (reply === undefined) return false;
      // The list was reloaded meanwhile, or this page was requested twice.
      if (cursor !== nextCursor) return true;
      nextCursor = reply.next_before ?? undefined;
      for (const chat of reply.data) put(chat);
      publish();
      return true;
    },
    rename: (chatId, title) => edit(chatId, { type: "rename", title }),
    pin: (chatId, value) => edit(chatId, { type: "pin_chat", value }),
    tag: (chatId, tags) => edit(chatId, { type: "tag", tags }),
    async remove(chatId) {
      const title = chats.get(chatId)?.title ?? "";
      const route = router.route.get();
      const wasShown = "chatId" in route && route.chatId === chatId;
      const isDone = await notifier.attempt(async () => {
        await client.remove(chatId);
        return true;
      });
      if (isDone !== true) return false;
      const { undo, chatDeleted } = notifier.getMessages();
      const undoRemoval = async () => {
        const isRestored = await restore(chatId);
        if (isRestored && wasShown && router.route.get().type === "new")
          router.navigate({ type: "chat", chatId });
      };
      const action = { label: undo, run: () => void undoRemoval() };
      notifier.toasts.show({ kind: "info", text: chatDeleted(title), action });
      return true;
    },
    restore,
  };
}

/** Sorts like the gateway: pinned chats first, then the most recently changed ones. */
function compareChats(a: ChatSummary, b: ChatSummary): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  if (a.updated_at !== b.updated_at) return a.updated_at < b.updated_at ? 1 : -1;
  return b.created_at.localeCompare(a.created_at);
}
