import { ChatClient, type ChatListReply } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { createCell } from "../../src/cell.ts";
import { createChatListStore } from "../../src/state/chat-list-store.ts";
import type { HashRoute } from "../../src/browser/hash-router.ts";
import { createNotifier } from "../../src/state/notifier.ts";
import { createToastStore } from "../../src/state/toast-store.ts";
import { stateMessages } from "../../src/state/messages.ts";
import { createChatSummary } from "../list/chat-summary-fixture.ts";

test("a list that is older than the event stream is loaded again, even if a newer change arrives first", async () => {
  const chats = ["chat_1", "chat_2", "chat_3"].map((chat_id, index) =>
    createChatSummary({ chat_id, stamp: index + 1 }),
  );
  const known = { stamp: 1 };
  const list = createChatListStore({
    client: createTestClient(() => ({
      stamp: known.stamp,
      data: chats.filter(({ stamp }) => stamp <= known.stamp),
      has_more: false,
      next_before: null,
    })),
    notifier: createNotifier(createToastStore(), () => stateMessages.en),
    router: createTestRouter({ type: "new" }),
    onChange: () => undefined,
  });
  await list.reload();
  known.stamp = 3;
  const reloaded = list.reloadIfOlderThan(2);
  const [, , third] = chats;
  if (third !== undefined) list.applyChange({ type: "chat.changed", stamp: 3, chat: third });
  await reloaded;
  const state = list.state.get();
  const shown = state.status === "ready" ? state.chats.map(({ chat_id }) => chat_id) : [];
  expect(shown.toSorted()).toEqual(["chat_1", "chat_2", "chat_3"]);
});

test("undoing a deletion opens the chat again if it was open before and the start page is still shown", async () => {
  const routeAfterUndo = async (before: HashRoute, then: HashRoute) => {
    const toasts = createToastStore();
    const router = createTestRouter(before);
    const list = createChatListStore({
      client: createTestClient(() => ({ stamp: 1, data: [], has_more: false, next_before: null })),
      notifier: createNotifier(toasts, () => stateMessages.en),
      router,
      onChange: () => undefined,
    });
    await list.remove("chat_1");
    router.navigate(then);
    toasts.all.get()[0]?.action?.run();
    await new Promise((resolve) => setTimeout(resolve, 0));
    return router.route.get();
  };
  const chat: HashRoute = { type: "chat", chatId: "chat_1" };
  expect(await routeAfterUndo(chat, { type: "new" })).toEqual(chat);
  expect(await routeAfterUndo(chat, { type: "upstreams" })).toEqual({ type: "upstreams" });
  expect(await routeAfterUndo({ type: "new" }, { type: "new" })).toEqual({ type: "new" });
});

function createTestRouter(start: HashRoute) {
  const route = createCell<HashRoute>(start);
  return { route, navigate: (next: HashRoute) => route.set(next) };
}

/** A client of a gateway that replies to every request with a list. */
function createTestClient(list: () => ChatListReply): ChatClient {
  return new ChatClient({
    baseUrl: "",
    fetch: async () => Response.json(list()),
  });
}
