import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupChats, getGroupKey } from "../../src/list/chat-list-rows.tsx";
import { createChatSummary } from "./chat-summary-fixture.ts";

const now = new Date(2026, 10, 15, 9, 30);

describe("grouping chats by day", () => {
  test("puts pinned chats first, and the others by local day", () => {
    const chats = [
      createChatSummary({ chat_id: "p", pinned: true, updated_at: toLocalTime(2025, 0, 1) }),
      createChatSummary({ chat_id: "a", updated_at: toLocalTime(2026, 10, 15, 0, 0) }),
      createChatSummary({ chat_id: "b", updated_at: toLocalTime(2026, 10, 14, 23, 59) }),
      createChatSummary({ chat_id: "c", updated_at: toLocalTime(2026, 10, 14, 0, 0) }),
      createChatSummary({ chat_id: "d", updated_at: toLocalTime(2026, 10, 13, 23, 59) }),
      createChatSummary({ chat_id: "e", updated_at: toLocalTime(2026, 10, 8, 0, 0) }),
      createChatSummary({ chat_id: "f", updated_at: toLocalTime(2026, 10, 7, 23, 59) }),
      createChatSummary({ chat_id: "g", updated_at: toLocalTime(2026, 9, 31) }),
      createChatSummary({ chat_id: "h", updated_at: toLocalTime(2025, 10, 7) }),
    ];
    expect(listGroups(chats)).toEqual([
      ["pinned", "p"],
      ["today", "a"],
      ["yesterday", "b", "c"],
      ["week", "d", "e"],
      ["2026-10", "f"],
      ["2026-9", "g"],
      ["2025-10", "h"],
    ]);
  });

  test("puts a chat with a time in the future under today", () => {
    expect(
      listGroups([createChatSummary({ chat_id: "a", updated_at: toLocalTime(2026, 10, 16) })]),
    ).toEqual([["today", "a"]]);
  });

  test("puts every chat in exactly one group and keeps the order", () => {
    const times = fc.date({ min: new Date(2020, 0), max: new Date(2027, 0), noInvalidDate: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(times, fc.boolean())), (raw) => {
        const chats = raw.map(([date, pinned], index) =>
          createChatSummary({ chat_id: `c${index}`, pinned, updated_at: date.toISOString() }),
        );
        const groups = groupChats(chats, now);
        const ids = groups.flatMap((group) => group.chats.map(({ chat_id }) => chat_id));
        expect(ids.toSorted()).toEqual(chats.map(({ chat_id }) => chat_id).toSorted());
        expect(new Set(groups.map(({ name }) => getGroupKey(name))).size).toBe(groups.length);
        for (const group of groups) {
          const positions = group.chats.map((chat) => chats.indexOf(chat));
          expect(positions).toEqual(positions.toSorted((a, b) => a - b));
        }
      }),
    );
  });
});

function toLocalTime(...parts: [number, number, ...number[]]): string {
  const [year, month, day = 1, hours = 12, minutes = 0] = parts;
  return new Date(year, month, day, hours, minutes).toISOString();
}

function listGroups(chats: Parameters<typeof groupChats>[0]): string[][] {
  return groupChats(chats, now).map(({ name, chats: under }) => [
    getGroupKey(name),
    ...under.map(({ chat_id }) => chat_id),
  ]);
}
