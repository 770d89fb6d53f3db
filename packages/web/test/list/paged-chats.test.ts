import { describe, expect, test } from "vitest";
import type { ChatListReply, ChatSummary } from "@deltawire/tasks/chats";
import { createPagedChats, mergeTaggedChats } from "../../src/list/paged-chats.ts";
import { createChatSummary } from "./chat-summary-fixture.ts";

describe("paged chats", () => {
  test("are loaded page by page, each chat once", async () => {
    const requests: (string | undefined)[] = [];
    const pages = createPagedChats((before) => {
      requests.push(before);
      return Promise.resolve(
        before === undefined ? createPage(["a", "b"], "b") : createPage(["b", "c"], undefined),
      );
    });
    expect(pages.state.get()).toEqual({ status: "loading" });
    await pages.reload();
    expect(listIds(pages.state.get())).toEqual(["a", "b"]);
    await pages.loadMore();
    expect(listIds(pages.state.get())).toEqual(["a", "b", "c"]);
    await pages.loadMore();
    expect(requests).toEqual([undefined, "b"]);
  });

  test("are requested once by concurrent calls", async () => {
    let requests = 0;
    const pages = createPagedChats((before) => {
      requests += 1;
      return Promise.resolve(createPage([`c${requests}`], before === undefined ? "c1" : undefined));
    });
    await pages.reload();
    await Promise.all([pages.loadMore(), pages.loadMore()]);
    expect(requests).toBe(2);
  });

  test("have an error if the first page fails, and stay loaded if a later page fails", async () => {
    let isBroken = true;
    const pages = createPagedChats(() =>
      isBroken ? Promise.reject(new Error("away")) : Promise.resolve(createPage(["a"], "a")),
    );
    await pages.reload();
    expect(pages.state.get()).toEqual({ status: "failed", message: "away" });
    isBroken = false;
    await pages.reload();
    isBroken = true;
    await expect(pages.loadMore()).rejects.toThrow("away");
    expect(listIds(pages.state.get())).toEqual(["a"]);
  });

  test("do not contain a chat that was removed from them", async () => {
    const pages = createPagedChats(() => Promise.resolve(createPage(["a", "b"], undefined)));
    await pages.reload();
    pages.remove("a");
    expect(listIds(pages.state.get())).toEqual(["b"]);
  });
});

describe("chats with a tag", () => {
  const createTaggedChat = (chat_id: string, overrides: Partial<ChatSummary> = {}) =>
    createChatSummary({ chat_id, tags: ["work"], ...overrides });

  test("are merged from both lists: the newest version of each chat counts", () => {
    const read = [
      createTaggedChat("a", { stamp: 1, title: "old" }),
      createTaggedChat("b", { stamp: 2 }),
    ];
    const known = [
      createTaggedChat("a", { stamp: 5, title: "new" }),
      createChatSummary({ chat_id: "b", stamp: 6 }),
      createTaggedChat("c", { stamp: 7 }),
      createChatSummary({ chat_id: "d", tags: ["home"] }),
    ];
    const titles = mergeTaggedChats("work", read, known).map(({ chat_id, title }) => [
      chat_id,
      title,
    ]);
    expect(titles).toEqual([
      ["a", "new"],
      ["c", ""],
    ]);
  });

  test("are sorted like the list: pinned ones first, then by the last change", () => {
    const chats = [
      createTaggedChat("old", { updated_at: "2026-01-01T00:00:00Z" }),
      createTaggedChat("new", { updated_at: "2026-02-01T00:00:00Z" }),
      createTaggedChat("pinned", { pinned: true, updated_at: "2025-01-01T00:00:00Z" }),
    ];
    expect(mergeTaggedChats("work", chats, []).map(({ chat_id }) => chat_id)).toEqual([
      "pinned",
      "new",
      "old",
    ]);
  });
});

function createPage(chatIds: string[], next: string | undefined): ChatListReply {
  return {
    stamp: 1,
    data: chatIds.map((chat_id) => createChatSummary({ chat_id })),
    has_more: next !== undefined,
    next_before: next ?? null,
  };
}

function listIds(state: ReturnType<ReturnType<typeof createPagedChats>["state"]["get"]>): string[] {
  return state.status === "ready" ? state.chats.map(({ chat_id }) => chat_id) : [state.status];
}
