import { currentPath } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import { foldedText, guessedHeight, hasNode, placedOn } from "../../src/chat/groups.ts";
import { answered, chatAfter, saying } from "./stage.ts";

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

test("a node is found among those that are placed, and not one of another branch, nor none", () => {
  const placed = placedOn(chat, currentPath(chat));
  expect(hasNode(placed, "node_4")).toBe(true);
  expect(hasNode(placed, "node_3")).toBe(false);
  expect(hasNode(placed, undefined)).toBe(false);
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
  const line = fc.string({ unit: "grapheme", maxLength: 40 });
  let count = 0;
  fc.assert(
    fc.property(fc.array(line, { maxLength: 80, size: "max" }), (lines) => {
      const text = lines.join("\n");
      const folded = foldedText(text);
      if (folded === undefined) return;
      count += 1;
      expect(text.startsWith(folded)).toBe(true);
      expect(text.length - folded.length).toBeGreaterThan(100);
    }),
  );
  expect(count).toBeGreaterThan(10);
});
