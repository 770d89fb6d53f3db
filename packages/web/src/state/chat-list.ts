import type {
  ChangedReply,
  ChatChange,
  ChatClient,
  ChatSummary,
  PersonEdit,
} from "@deltawire/tasks/chats";
import { cell } from "../cell.ts";
import { editAt } from "./asking.ts";
import type { ChatList, ListState } from "./page.ts";
import type { Router } from "../browser/route.ts";
import { textOf, type Telling } from "./telling.ts";

export interface ChatListOptions {
  readonly client: ChatClient;
  readonly telling: Telling;
  readonly router: Pick<Router, "route" | "go">;
  /** A chat was changed from the list: whoever shows it can have it at once. */
  readonly onChanged: (chatId: string, reply: ChangedReply) => void;
}

export interface KeptChatList extends ChatList {
  /** What the feed of changes tells. */
  take(change: ChatChange): void;
  /** What is shown must not be older than this. */
  catchUp(stamp: number): Promise<void>;
  /** What has changed most lately, while no feed tells of it. */
  look(): Promise<void>;
  /** The stamps of before count no longer: the gateway has another past. */
  reset(): Promise<void>;
}

const pageSize = 50;

/** Read once, and kept by what the feed tells from then on. */
export function createChatList({
  client,
  telling,
  router,
  onChanged,
}: ChatListOptions): KeptChatList {
  const state = cell<ListState>({ is: "loading" });
  let chats = new Map<string, ChatSummary>();
  /** Ones that are gone, with the stamps of that: a page that was asked for before may still have them. */
  const gone = new Map<string, number>();
  let nextBefore: string | undefined;
  let readAt = -1;
  let reading: Promise<void> | undefined;

  const show = () =>
    state.set({
      is: "ready",
      chats: [...chats.values()].toSorted(inOrder),
      hasMore: nextBefore !== undefined,
    });

  const put = (chat: ChatSummary) => {
    const { chat_id, stamp, deleted_at } = chat;
    const known = Math.max(chats.get(chat_id)?.stamp ?? -1, gone.get(chat_id) ?? -1);
    if (stamp < known) return;
    if (deleted_at === undefined) {
      chats.set(chat_id, chat);
      gone.delete(chat_id);
    } else drop(chat_id, stamp);
  };
  const drop = (chatId: string, stamp: number) => {
    chats.delete(chatId);
    gone.set(chatId, stamp);
  };

  const read = async () => {
    try {
      const reply = await client.list({ limit: Math.min(100, Math.max(pageSize, chats.size)) });
      // What came by the feed meanwhile is newer than the page.
      const later = [...chats.values()].filter(({ stamp }) => stamp > reply.stamp);
      chats = new Map();
      for (const [chatId, stamp] of gone) if (stamp <= reply.stamp) gone.delete(chatId);
      for (const chat of [...reply.data, ...later]) put(chat);
      nextBefore = reply.next_before ?? undefined;
      readAt = reply.stamp;
      show();
    } catch (failure) {
      if (state.get().is !== "ready")
        state.set({ is: "failed", message: textOf(failure, telling.words()) });
    }
  };
  /** One at a time: who asks meanwhile gets the same. */
  const readAnew = () => (reading ??= read().finally(() => (reading = undefined)));

  const edit = async (chatId: string, change: PersonEdit): Promise<boolean> => {
    const reply = await telling.attempt(() =>
      editAt(chats.get(chatId)?.revision ?? 0, {
        post: (revision) => client.edits(chatId, { revision, edits: [change] }),
        isLasting: true,
      }),
    );
    if (reply !== undefined) onChanged(chatId, reply);
    return reply !== undefined;
  };

  const restore = async (chatId: string): Promise<boolean> =>
    (await telling.attempt(() => client.restore(chatId))) !== undefined;

  /** One that is under way may have been asked before what made somebody ask now. */
  const readLater = async () => {
    await reading;
    await readAnew();
  };

  return {
    state,
    readAnew: readLater,
    async catchUp(stamp) {
      await reading;
      if (readAt < stamp) await readAnew();
    },
    async look() {
      if (state.get().is !== "ready") return readLater();
      const reply = await client.list({ limit: pageSize }).catch(() => undefined);
      for (const chat of reply?.data ?? []) put(chat);
      show();
    },
    async reset() {
      await reading;
      chats.clear();
      gone.clear();
      await readAnew();
    },
    take(change) {
      if (change.type === "chat.removed") drop(change.chat_id, change.stamp);
      else put(change.chat);
      if (state.get().is === "ready") show();
    },
    async loadMore() {
      const before = nextBefore;
      if (before === undefined) return true;
      const reply = await telling.attempt(() => client.list({ limit: pageSize, before }));
      if (reply === undefined) return false;
      // Meanwhile the list was read anew, or this was asked for twice.
      if (before !== nextBefore) return true;
      nextBefore = reply.next_before ?? undefined;
      for (const chat of reply.data) put(chat);
      show();
      return true;
    },
    rename: (chatId, title) => edit(chatId, { type: "rename", title }),
    pin: (chatId, value) => edit(chatId, { type: "pin_chat", value }),
    tag: (chatId, tags) => edit(chatId, { type: "tag", tags }),
    async remove(chatId) {
      const title = chats.get(chatId)?.title ?? "";
      const route = router.route.get();
      const wasShown = "chatId" in route && route.chatId === chatId;
      const isDone = await telling.attempt(async () => {
        await client.remove(chatId);
        return true;
      });
      if (isDone !== true) return false;
      const { undo, chatDeleted } = telling.words();
      const takeBack = async () => {
        const isBack = await restore(chatId);
        if (isBack && wasShown && router.route.get().is === "new")
          router.go({ is: "chat", chatId });
      };
      const action = { label: undo, run: () => void takeBack() };
      telling.toasts.show({ kind: "info", text: chatDeleted(title), action });
      return true;
    },
    restore,
  };
}

/** Pinned ones first, then the last changed first; as the gateway has them. */
function inOrder(one: ChatSummary, other: ChatSummary): number {
  if (one.pinned !== other.pinned) return one.pinned ? -1 : 1;
  if (one.updated_at !== other.updated_at) return one.updated_at < other.updated_at ? 1 : -1;
  return other.created_at.localeCompare(one.created_at);
}
