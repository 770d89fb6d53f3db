import { expect, test } from "vitest";
import { found } from "../../src/app/palette.tsx";

const entries = [
  { title: "Show approvals", group: "Approvals" },
  { title: "New chat", group: "Chats" },
  { title: "Keyboard shortcuts", group: "General" },
  { title: "Go to upstreams", group: "General", words: "codex models" },
];

test("every word has to be found somewhere, and titles that begin with the first come first", () => {
  expect(found("sh", entries).map(({ title }) => title)).toEqual([
    "Show approvals",
    "Keyboard shortcuts",
  ]);
  expect(found("gen key", entries)).toHaveLength(1);
  expect(found("codex", entries)[0]?.title).toBe("Go to upstreams");
  expect(found("nothing like it", entries)).toEqual([]);
});

test("without a word all are offered", () => {
  expect(found("  ", entries)).toEqual(entries);
});
