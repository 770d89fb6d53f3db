import { currentPath } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  foldedText,
  groupsOf,
  groupSize,
  groupWith,
  guessedHeight,
  placedOn,
} from "../../src/chat/groups.ts";
import { answered, chatAfter, saying } from "./stage.ts";

test("groups hold all nodes in order, five in each but the last", () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), (items) => {
      const groups = groupsOf(items);
      expect(groups.flat()).toEqual(items);
      for (const group of groups.slice(0, -1)) expect(group).toHaveLength(groupSize);
      expect(groups.at(-1)?.length ?? 1).toBeGreaterThan(0);
    }),
  );
});

const chat = chatAfter(
  { type: "add_message", parent: null, message: { text: "one" } },
  { type: "add_answer", parent: "node_1", answer: { ...answered, output: saying("first") } },
  { type: "add_message", parent: "node_2", message: { text: "two" } },
  { type: "add_message", parent: "node_2", message: { text: "instead" } },
);

test("a node knows what stands above and below it, and its branches", () => {
  const placed = placedOn(chat, currentPath(chat));
  expect(placed.map(({ node }) => node.node_id)).toEqual(["node_1", "node_2", "node_4"]);
  expect(placed.map(({ branches }) => branches)).toEqual([
    ["node_1"],
    ["node_2"],
    ["node_3", "node_4"],
  ]);
  expect(placed[1]?.above?.node_id).toBe("node_1");
  expect(placed[1]?.below?.node_id).toBe("node_4");
});

test("the group of a node is found, and none of a node on another branch", () => {
  const path = currentPath(chat);
  expect(groupWith(path, "node_4")).toBe(0);
  expect(groupWith(path, "node_3")).toBe(-1);
});

test("a long answer is guessed to be higher than a short one", () => {
  const long = chatAfter(
    { type: "add_message", parent: null, message: { text: "one" } },
    {
      type: "add_answer",
      parent: "node_1",
      answer: { ...answered, output: saying("line\n".repeat(400)) },
    },
  );
  expect(guessedHeight(currentPath(long))).toBeGreaterThan(9000);
  expect(guessedHeight(currentPath(chat))).toBeLessThan(600);
});

test("a text of twenty lines is shown whole, one of sixty is folded at a line", () => {
  expect(foldedText("a\n".repeat(20).trim())).toBeUndefined();
  const sixty = Array.from({ length: 60 }, (_, line) => `line ${line}`).join("\n");
  const folded = foldedText(sixty);
  expect(folded?.split("\n")).toHaveLength(20);
  expect(folded?.endsWith("line 19")).toBe(true);
});

test("one endless line is folded too, and not within a character", () => {
  const folded = foldedText("😀".repeat(5000));
  expect(folded?.length).toBeLessThan(2000);
  expect(folded?.isWellFormed()).toBe(true);
  expect(foldedText(`x${"😀".repeat(5000)}`)?.isWellFormed()).toBe(true);
});

test("what is folded is the beginning of the text, and worth the button", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { maxLength: 80 }), (lines) => {
      const text = lines.join("\n");
      const folded = foldedText(text);
      if (folded === undefined) return;
      expect(text.startsWith(folded)).toBe(true);
      expect(text.length - folded.length).toBeGreaterThan(100);
    }),
  );
});
