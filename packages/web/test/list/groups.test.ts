import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupChats, groupKey } from "../../src/list/chat-rows.tsx";
import { summary } from "./summary.ts";

const now = new Date(2026, 10, 15, 9, 30);

describe("chats by day", () => {
  test("pinned ones come first, whenever they were changed; the others by the day of the reader", () => {
    const chats = [
      summary({ chat_id: "p", pinned: true, updated_at: local(2025, 0, 1) }),
      summary({ chat_id: "a", updated_at: local(2026, 10, 15, 0, 0) }),
      summary({ chat_id: "b", updated_at: local(2026, 10, 14, 23, 59) }),
      summary({ chat_id: "c", updated_at: local(2026, 10, 14, 0, 0) }),
      summary({ chat_id: "d", updated_at: local(2026, 10, 13, 23, 59) }),
      summary({ chat_id: "e", updated_at: local(2026, 10, 8, 0, 0) }),
      summary({ chat_id: "f", updated_at: local(2026, 10, 7, 23, 59) }),
      summary({ chat_id: "g", updated_at: local(2026, 9, 31) }),
      summary({ chat_id: "h", updated_at: local(2025, 10, 7) }),
    ];
    expect(shown(chats)).toEqual([
      ["pinned", "p"],
      ["today", "a"],
      ["yesterday", "b", "c"],
      ["week", "d", "e"],
      ["2026-10", "f"],
      ["2026-9", "g"],
      ["2025-10", "h"],
    ]);
  });

  test("a chat from a clock that runs ahead is of today", () => {
    expect(shown([summary({ chat_id: "a", updated_at: local(2026, 10, 16) })])).toEqual([
      ["today", "a"],
    ]);
  });

  test("every chat is in one group, and within a group in the order in which it came", () => {
    const times = fc.date({ min: new Date(2020, 0), max: new Date(2027, 0), noInvalidDate: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(times, fc.boolean())), (raw) => {
        const chats = raw.map(([date, pinned], index) =>
          summary({ chat_id: `c${index}`, pinned, updated_at: date.toISOString() }),
        );
        const groups = groupChats(chats, now);
        const ids = groups.flatMap((group) => group.chats.map(({ chat_id }) => chat_id));
        expect(ids.toSorted()).toEqual(chats.map(({ chat_id }) => chat_id).toSorted());
        expect(new Set(groups.map(({ of }) => groupKey(of))).size).toBe(groups.length);
        for (const group of groups) {
          const places = group.chats.map((chat) => chats.indexOf(chat));
          expect(places).toEqual(places.toSorted((one, other) => one - other));
        }
      }),
    );
  });
});

function local(...parts: [number, number, ...number[]]): string {
  const [year, month, day = 1, hours = 12, minutes = 0] = parts;
  return new Date(year, month, day, hours, minutes).toISOString();
}

function shown(chats: Parameters<typeof groupChats>[0]): string[][] {
  return groupChats(chats, now).map(({ of, chats: under }) => [
    groupKey(of),
    ...under.map(({ chat_id }) => chat_id),
  ]);
}
