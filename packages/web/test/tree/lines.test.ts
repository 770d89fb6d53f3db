import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TaskTree } from "@deltawire/tasks";
import { cutLines, firstWords, isRightToLeft } from "../../src/tree/tree-of.ts";
import { firstSaid } from "../../src/tree/card.tsx";

describe("words on a card", () => {
  test("are broken between words, and the last line tells that there is more", () => {
    const lines = cutLines("What is the weather in Paris today, and tomorrow in Rome?", 15, 2);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe("What is the weather in Paris");
    expect(lines[1]).toMatch(/^today, .*…$/);
  });

  test("a text that fits is left as it is", () => {
    expect(cutLines("Sunny.", 14, 2)).toEqual(["Sunny."]);
    expect(cutLines("", 14, 2)).toEqual([]);
  });

  test("Chinese is broken anywhere, but no line begins with what closes a sentence", () => {
    expect(cutLines("今天天气很好。我们去公园。", 6.2, 3)).toEqual([
      "今天天气很好。",
      "我们去公园。",
    ]);
  });

  test("a word that is longer than a line is cut", () => {
    const lines = cutLines("a".repeat(100), 10, 2);
    expect(lines.every((line) => line.length < 25)).toBe(true);
  });

  test("no words come twice or are lost before the end, and no character is cut in two", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), fc.nat(4), (text, most) => {
        const line = firstWords(text);
        const lines = cutLines(line, 8, most + 1);
        expect(lines.length).toBeLessThanOrEqual(most + 1);
        const said = lines.join("").replace(/…$/, "").replaceAll(" ", "");
        const isCut = lines.at(-1)?.endsWith("…") === true;
        const whole = line.replaceAll(" ", "");
        expect(isCut ? whole.startsWith(said) : said === whole.replace(/…$/, "")).toBe(true);
        expect(lines.join("").isWellFormed()).toBe(line.isWellFormed());
      }),
    );
  });

  test("of megabytes the first words are found at once, on one line", () => {
    expect(firstWords(`\n\n  one\n two\t${"three ".repeat(1_000_000)}`, 13)).toBe("one two three");
  });

  test("a text is written from the right if its first letter is", () => {
    expect(isRightToLeft("1. البحر")).toBe(true);
    expect(isRightToLeft("The word البحر")).toBe(false);
    expect(isRightToLeft("123")).toBe(false);
  });
});

describe("the first words of an answer that runs", () => {
  const treeWith = (output: unknown[]) =>
    ({ root_task_id: "t", tasks: { t: { output } } }) as unknown as TaskTree;

  test("are those of its first message that says something", () => {
    const said = (text: string) => ({ type: "message", block_list: [{ type: "text", text }] });
    expect(firstSaid(treeWith([{ type: "reasoning" }, said(" "), said("Sunny.")]))).toBe("Sunny.");
  });

  test("are none before anything is known", () => {
    expect(firstSaid(undefined)).toBe("");
    expect(firstSaid(treeWith([]))).toBe("");
  });
});
