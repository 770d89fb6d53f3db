import { describe, expect, test } from "vitest";
import type { ChatListReply, ChatSummary } from "@deltawire/tasks/chats";
import { createChatPages, withTag } from "../../src/list/chat-pages.ts";
import { summary } from "./summary.ts";

describe("chats that are read page by page", () => {
  test("come one page after the other, each chat once", async () => {
    const asked: (string | undefined)[] = [];
    const pages = createChatPages((before) => {
      asked.push(before);
      return Promise.resolve(
        before === undefined ? page(["a", "b"], "b") : page(["b", "c"], undefined),
      );
    });
    expect(pages.state.get()).toEqual({ is: "loading" });
    await pages.readAnew();
    expect(ids(pages.state.get())).toEqual(["a", "b"]);
    await pages.loadMore();
    expect(ids(pages.state.get())).toEqual(["a", "b", "c"]);
    await pages.loadMore();
    expect(asked).toEqual([undefined, "b"]);
  });

  test("two who want more at once ask once", async () => {
    let asked = 0;
    const pages = createChatPages((before) => {
      asked += 1;
      return Promise.resolve(page([`c${asked}`], before === undefined ? "c1" : undefined));
    });
    await pages.readAnew();
    await Promise.all([pages.loadMore(), pages.loadMore()]);
    expect(asked).toBe(2);
  });

  test("a first page that fails is told; a later one leaves what was read", async () => {
    let isBroken = true;
    const pages = createChatPages(() =>
      isBroken ? Promise.reject(new Error("away")) : Promise.resolve(page(["a"], "a")),
    );
    await pages.readAnew();
    expect(pages.state.get()).toEqual({ is: "failed", message: "away" });
    isBroken = false;
    await pages.readAnew();
    isBroken = true;
    await expect(pages.loadMore()).rejects.toThrow("away");
    expect(ids(pages.state.get())).toEqual(["a"]);
  });

  test("one that was restored is no longer among them", async () => {
    const pages = createChatPages(() => Promise.resolve(page(["a", "b"], undefined)));
    await pages.readAnew();
    pages.drop("a");
    expect(ids(pages.state.get())).toEqual(["b"]);
  });
});

describe("chats with a tag", () => {
  const tagged = (chat_id: string, more: Partial<ChatSummary> = {}) =>
    summary({ chat_id, tags: ["work"], ...more });

  test("are as fresh as the page knows them, and those that got the tag since are there", () => {
    const read = [tagged("a", { stamp: 1, title: "old" }), tagged("b", { stamp: 2 })];
    const known = [
      tagged("a", { stamp: 5, title: "new" }),
      summary({ chat_id: "b", stamp: 6 }),
      tagged("c", { stamp: 7 }),
      summary({ chat_id: "d", tags: ["home"] }),
    ];
    const titles = withTag("work", read, known).map(({ chat_id, title }) => [chat_id, title]);
    expect(titles).toEqual([
      ["a", "new"],
      ["c", ""],
    ]);
  });

  test("stand in the order of the list: pinned ones, then the last changed", () => {
    const chats = [
      tagged("old", { updated_at: "2026-01-01T00:00:00Z" }),
      tagged("new", { updated_at: "2026-02-01T00:00:00Z" }),
      tagged("pinned", { pinned: true, updated_at: "2025-01-01T00:00:00Z" }),
    ];
    expect(withTag("work", chats, []).map(({ chat_id }) => chat_id)).toEqual([
      "pinned",
      "new",
      "old",
    ]);
  });
});

function page(chatIds: string[], next: string | undefined): ChatListReply {
  return {
    stamp: 1,
    data: chatIds.map((chat_id) => summary({ chat_id })),
    has_more: next !== undefined,
    next_before: next ?? null,
  };
}

function ids(state: ReturnType<ReturnType<typeof createChatPages>["state"]["get"]>): string[] {
  return state.is === "ready" ? state.chats.map(({ chat_id }) => chat_id) : [state.is];
}
