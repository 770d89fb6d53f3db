import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TaskTree } from "@deltawire/tasks";
import { wrapLines, excerptText, isRightToLeft } from "../../src/tree/chat-tree.ts";
import { getFirstMessageExcerpt } from "../../src/tree/tree-card.tsx";

describe("text on a card", () => {
  test("is wrapped between words, and the last line ends with an ellipsis", () => {
    const lines = wrapLines("What is the weather in Paris today, and tomorrow in Rome?", 15, 2);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe("What is the weather in Paris");
    expect(lines[1]).toMatch(/^today, .*…$/);
  });

  test("is unchanged if it fits", () => {
    expect(wrapLines("Sunny.", 14, 2)).toEqual(["Sunny."]);
    expect(wrapLines("", 14, 2)).toEqual([]);
  });

  test("in Chinese is wrapped anywhere, but no line starts with closing punctuation", () => {
    expect(wrapLines("今天天气很好。我们去公园。", 6.2, 3)).toEqual([
      "今天天气很好。",
      "我们去公园。",
    ]);
  });

  test("is wrapped inside a word that is longer than a line", () => {
    const lines = wrapLines("a".repeat(100), 10, 2);
    expect(lines.every((line) => line.length < 25)).toBe(true);
  });

  test("contains each character once up to its end, and no character is split", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), fc.nat(4), (text, extraLines) => {
        const excerpt = excerptText(text);
        const lines = wrapLines(excerpt, 8, extraLines + 1);
        expect(lines.length).toBeLessThanOrEqual(extraLines + 1);
        const wrapped = lines.join("").replace(/…$/, "").replaceAll(" ", "");
        const isTruncated = lines.at(-1)?.endsWith("…") === true;
        const complete = excerpt.replaceAll(" ", "");
        expect(
          isTruncated ? complete.startsWith(wrapped) : wrapped === complete.replace(/…$/, ""),
        ).toBe(true);
        expect(lines.join("").isWellFormed()).toBe(excerpt.isWellFormed());
      }),
    );
  });

  test("of megabytes is reduced to its first words", () => {
    expect(excerptText(`\n\n  one\n two\t${"three ".repeat(1_000_000)}`, 13)).toBe("one two three");
  });

  test("is right-to-left if its first letter is right-to-left", () => {
    expect(isRightToLeft("1. البحر")).toBe(true);
    expect(isRightToLeft("The word البحر")).toBe(false);
    expect(isRightToLeft("123")).toBe(false);
  });
});

describe("the excerpt of a running answer", () => {
  const createTree = (output: unknown[]) =>
    ({ root_task_id: "t", tasks: { t: { output } } }) as unknown as TaskTree;

  test("is the text of its first message that is not blank", () => {
    const createItem = (text: string) => ({
      type: "message",
      block_list: [{ type: "text", text }],
    });
    const output = [{ type: "reasoning" }, createItem(" "), createItem("Sunny.")];
    expect(getFirstMessageExcerpt(createTree(output))).toBe("Sunny.");
  });

  test("is empty before the first output", () => {
    expect(getFirstMessageExcerpt(undefined)).toBe("");
    expect(getFirstMessageExcerpt(createTree([]))).toBe("");
  });
});
