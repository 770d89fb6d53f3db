import { ChatClient, type ChatListReply } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { cell } from "../../src/cell.ts";
import { createChatList } from "../../src/state/chat-list.ts";
import type { Route } from "../../src/browser/route.ts";
import { createTelling } from "../../src/state/telling.ts";
import { createToasts } from "../../src/state/toasts.ts";
import { stateWords } from "../../src/state/words.ts";
import { summary } from "../list/summary.ts";

test("a list that was read before the feed began is read again, though a later change is heard first", async () => {
  const chats = ["chat_1", "chat_2", "chat_3"].map((chat_id, at) =>
    summary({ chat_id, stamp: at + 1 }),
  );
  const known = { stamp: 1 };
  const list = createChatList({
    client: clientOf(() => ({
      stamp: known.stamp,
      data: chats.filter(({ stamp }) => stamp <= known.stamp),
      has_more: false,
      next_before: null,
    })),
    telling: createTelling(createToasts(), () => stateWords.en),
    router: routerAt({ is: "new" }),
    onChanged: () => undefined,
  });
  await list.readAnew();
  known.stamp = 3;
  const caughtUp = list.catchUp(2);
  const [, , third] = chats;
  if (third !== undefined) list.take({ type: "chat.changed", stamp: 3, chat: third });
  await caughtUp;
  const state = list.state.get();
  const shown = state.is === "ready" ? state.chats.map(({ chat_id }) => chat_id) : [];
  expect(shown.toSorted()).toEqual(["chat_1", "chat_2", "chat_3"]);
});

test("a deletion that is taken back leads to the chat again, for whoever looked at it and is at the start", async () => {
  const undone = async (before: Route, then: Route) => {
    const toasts = createToasts();
    const router = routerAt(before);
    const list = createChatList({
      client: clientOf(() => ({ stamp: 1, data: [], has_more: false, next_before: null })),
      telling: createTelling(toasts, () => stateWords.en),
      router,
      onChanged: () => undefined,
    });
    await list.remove("chat_1");
    router.go(then);
    toasts.all.get()[0]?.action?.run();
    await new Promise((resolve) => setTimeout(resolve, 0));
    return router.route.get();
  };
  const chat: Route = { is: "chat", chatId: "chat_1" };
  expect(await undone(chat, { is: "new" })).toEqual(chat);
  expect(await undone(chat, { is: "upstreams" })).toEqual({ is: "upstreams" });
  expect(await undone({ is: "new" }, { is: "new" })).toEqual({ is: "new" });
});

function routerAt(start: Route) {
  const route = cell<Route>(start);
  return { route, go: (next: Route) => route.set(next) };
}

/** Asks a gateway that knows nothing but its list. */
function clientOf(list: () => ChatListReply): ChatClient {
  return new ChatClient({
    base: "",
    fetch: async () => Response.json(list()),
  });
}
