import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../../test/work-time.ts";
import { isSameText, wordDiff, type DiffPart } from "../../src/tree/word-diff.ts";

describe("what differs between two texts", () => {
  test("a word that was replaced is gone and new, and the rest is the same", () => {
    expect(wordDiff("It is sunny in Paris.", "It is rainy in Paris.")).toEqual([
      { kind: "same", text: "It is " },
      { kind: "gone", text: "sunny" },
      { kind: "new", text: "rainy" },
      { kind: "same", text: " in Paris." },
    ]);
  });

  test("texts that are the same have no change", () => {
    expect(isSameText(wordDiff("one two", "one two"))).toBe(true);
    expect(wordDiff("", "")).toEqual([]);
    expect(isSameText(wordDiff("one two", "one  two"))).toBe(false);
  });

  test("words are not cut into letters", () => {
    expect(wordDiff("walking", "walked")).toEqual([
      { kind: "gone", text: "walking" },
      { kind: "new", text: "walked" },
    ]);
  });

  test("Chinese is compared by characters, as nothing stands between its words", () => {
    expect(wordDiff("今天天气很好", "今天天气不好")).toEqual([
      { kind: "same", text: "今天天气" },
      { kind: "gone", text: "很" },
      { kind: "new", text: "不" },
      { kind: "same", text: "好" },
    ]);
  });

  test("words that were replaced side by side are one change, not one for each", () => {
    expect(wordDiff("a quick brown fox", "a slow white fox")).toEqual([
      { kind: "same", text: "a " },
      { kind: "gone", text: "quick brown" },
      { kind: "new", text: "slow white" },
      { kind: "same", text: " fox" },
    ]);
  });

  test("texts that differ in more words than may be compared are compared by lines, then as wholes", () => {
    const limits = { words: 100, changes: 4 };
    expect(wordDiff("a b c d\nsame\n", "e f g h\nsame\n", limits)).toEqual([
      { kind: "gone", text: "a b c d\n" },
      { kind: "new", text: "e f g h\n" },
      { kind: "same", text: "same\n" },
    ]);
    expect(wordDiff("a b c d", "e f g h", { words: 4, changes: 0 })).toEqual([
      { kind: "gone", text: "a b c d" },
      { kind: "new", text: "e f g h" },
    ]);
  });

  test("both texts can be read out of the changes, to the letter, whatever they are", () => {
    fc.assert(
      fc.property(texts, texts, fc.constantFrom(2, 10, 1000), (before, after, changes) => {
        const parts = wordDiff(before, after, { words: 500, changes });
        expect(textOf(parts, "gone")).toBe(before);
        expect(textOf(parts, "new")).toBe(after);
        expect(parts.every(({ text }) => text !== "")).toBe(true);
        for (const [index, { kind }] of parts.entries())
          expect(parts[index - 1]?.kind).not.toBe(kind);
      }),
      { numRuns: 500 },
    );
  });

  test("no shorter way is missed: what is added to a text is all that is new", () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), word, fc.nat(), (words, added, place) => {
        const more = words.toSpliced(place % (words.length + 1), 0, added);
        const parts = wordDiff(words.map(lined).join(""), more.map(lined).join(""));
        expect(parts.filter(({ kind }) => kind === "gone")).toEqual([]);
        expect(parts.filter(({ kind }) => kind === "new").length).toBe(1);
      }),
    );
  });

  test("two different texts of a megabyte are told apart at once", () => {
    const [before, after] = ["one two three ", "four five six "].map((text) => text.repeat(80_000));
    let parts: ReturnType<typeof wordDiff> = [];
    const took = workTime(() => (parts = wordDiff(before ?? "", after ?? "")));
    expect(parts.map(({ kind }) => kind)).toEqual(["gone", "new"]);
    expect(took).toBeLessThan(2_000);
  });
});

const word = fc.constantFrom("a", "b", "c", "好", "it's", "naïve");
const texts = fc.oneof(
  fc
    .array(fc.oneof(word, fc.constantFrom(" ", "\n", ".", "  ")), { maxLength: 30 })
    .map((all) => all.join("")),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 20 }),
);

function lined(text: string): string {
  return `${text}\n`;
}

function textOf(parts: readonly DiffPart[], kind: "gone" | "new"): string {
  return parts
    .filter((part) => part.kind === "same" || part.kind === kind)
    .map(({ text }) => text)
    .join("");
}
