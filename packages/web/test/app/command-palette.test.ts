import { expect, test } from "vitest";
import { filterEntries } from "../../src/app/command-palette.tsx";

const entries = [
  { title: "Show approvals", group: "Approvals" },
  { title: "New chat", group: "Chats" },
  { title: "Keyboard shortcuts", group: "General" },
  { title: "Open upstreams", group: "General", keywords: "codex models" },
];

test("entries match all words of the query, and those whose title starts with its first word come first", () => {
  expect(filterEntries("sh", entries).map(({ title }) => title)).toEqual([
    "Show approvals",
    "Keyboard shortcuts",
  ]);
  expect(filterEntries("gen key", entries)).toHaveLength(1);
  expect(filterEntries("codex", entries)[0]?.title).toBe("Open upstreams");
  expect(filterEntries("nothing like it", entries)).toEqual([]);
});

test("without a query all entries are listed", () => {
  expect(filterEntries("  ", entries)).toEqual(entries);
});
