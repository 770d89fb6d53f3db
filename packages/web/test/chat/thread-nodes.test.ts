import { currentPath } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  truncateLongText,
  estimateNodesHeight,
  containsNode,
  toThreadNodes,
} from "../../src/chat/thread-nodes.ts";
import { completedAnswer, buildChat, createMessageOutput } from "./chat-fixture.ts";

const chat = buildChat(
  { type: "add_message", parent: null, message: { text: "one" } },
  {
    type: "add_answer",
    parent: "node_1",
    answer: { ...completedAnswer, output: createMessageOutput("first") },
  },
  { type: "add_message", parent: "node_2", message: { text: "two" } },
  { type: "add_message", parent: "node_2", message: { text: "instead" } },
);

test("a thread node has its neighbors and siblings", () => {
  const threadNodes = toThreadNodes(chat, currentPath(chat));
  expect(threadNodes.map(({ node }) => node.node_id)).toEqual(["node_1", "node_2", "node_4"]);
  expect(threadNodes.map(({ siblingIds }) => siblingIds)).toEqual([
    ["node_1"],
    ["node_2"],
    ["node_3", "node_4"],
  ]);
  expect(threadNodes[1]?.previousNode?.node_id).toBe("node_1");
  expect(threadNodes[1]?.nextNode?.node_id).toBe("node_4");
});

test("thread nodes contain the nodes on the path, not those of other branches", () => {
  const threadNodes = toThreadNodes(chat, currentPath(chat));
  expect(containsNode(threadNodes, "node_4")).toBe(true);
  expect(containsNode(threadNodes, "node_3")).toBe(false);
  expect(containsNode(threadNodes, undefined)).toBe(false);
});

test("a long answer has a greater estimated height than a short one", () => {
  const long = buildChat(
    { type: "add_message", parent: null, message: { text: "one" } },
    {
      type: "add_answer",
      parent: "node_1",
      answer: { ...completedAnswer, output: createMessageOutput("line\n".repeat(400)) },
    },
  );
  expect(estimateNodesHeight(currentPath(long))).toBeGreaterThan(9000);
  expect(estimateNodesHeight(currentPath(chat))).toBeLessThan(600);
});

test("text of twenty lines is shown completely, text of sixty is cut at a line break", () => {
  expect(truncateLongText("a\n".repeat(20).trim())).toBeUndefined();
  const sixty = Array.from({ length: 60 }, (_, line) => `line ${line}`).join("\n");
  const truncated = truncateLongText(sixty);
  expect(truncated?.split("\n")).toHaveLength(20);
  expect(truncated?.endsWith("line 19")).toBe(true);
});

test("a long line is cut, but not inside a character", () => {
  const truncated = truncateLongText("😀".repeat(5000));
  expect(truncated?.length).toBeLessThan(2000);
  expect(truncated?.isWellFormed()).toBe(true);
  expect(truncateLongText(`x${"😀".repeat(5000)}`)?.isWellFormed()).toBe(true);
});

test("cut text is the start of the text, and omits more than 100 characters", () => {
  const line = fc.string({ unit: "grapheme", maxLength: 40 });
  let count = 0;
  fc.assert(
    fc.property(fc.array(line, { maxLength: 80, size: "max" }), (lines) => {
      const text = lines.join("\n");
      const truncated = truncateLongText(text);
      if (truncated === undefined) return;
      count += 1;
      expect(text.startsWith(truncated)).toBe(true);
      expect(text.length - truncated.length).toBeGreaterThan(100);
    }),
  );
  expect(count).toBeGreaterThan(10);
});
