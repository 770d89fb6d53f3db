import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import { isUnchanged, diffWords, type DiffPart } from "../../src/tree/word-diff.ts";

describe("a word diff", () => {
  test("contains a replaced word as removed and added, and the rest unchanged", () => {
    expect(diffWords("It is sunny in Paris.", "It is rainy in Paris.")).toEqual([
      { kind: "same", text: "It is " },
      { kind: "removed", text: "sunny" },
      { kind: "added", text: "rainy" },
      { kind: "same", text: " in Paris." },
    ]);
  });

  test("of equal texts has no change", () => {
    expect(isUnchanged(diffWords("one two", "one two"))).toBe(true);
    expect(diffWords("", "")).toEqual([]);
    expect(isUnchanged(diffWords("one two", "one  two"))).toBe(false);
  });

  test("does not split words into letters", () => {
    expect(diffWords("walking", "walked")).toEqual([
      { kind: "removed", text: "walking" },
      { kind: "added", text: "walked" },
    ]);
  });

  test("compares Chinese by characters, as it has no spaces", () => {
    expect(diffWords("今天天气很好", "今天天气不好")).toEqual([
      { kind: "same", text: "今天天气" },
      { kind: "removed", text: "很" },
      { kind: "added", text: "不" },
      { kind: "same", text: "好" },
    ]);
  });

  test("has one change for adjacent replaced words", () => {
    expect(diffWords("a quick brown fox", "a slow white fox")).toEqual([
      { kind: "same", text: "a " },
      { kind: "removed", text: "quick brown" },
      { kind: "added", text: "slow white" },
      { kind: "same", text: " fox" },
    ]);
  });

  test("compares lines if the texts are long, and complete texts if there are too many lines", () => {
    const limits = { words: 100, changes: 4 };
    expect(diffWords("a b c d\nsame\n", "e f g h\nsame\n", limits)).toEqual([
      { kind: "removed", text: "a b c d\n" },
      { kind: "added", text: "e f g h\n" },
      { kind: "same", text: "same\n" },
    ]);
    expect(diffWords("a b c d", "e f g h", { words: 4, changes: 0 })).toEqual([
      { kind: "removed", text: "a b c d" },
      { kind: "added", text: "e f g h" },
    ]);
  });

  test("contains both texts exactly, whatever they are", () => {
    fc.assert(
      fc.property(texts, texts, fc.constantFrom(2, 10, 1000), (before, after, changes) => {
        const parts = diffWords(before, after, { words: 500, changes });
        expect(joinParts(parts, "removed")).toBe(before);
        expect(joinParts(parts, "added")).toBe(after);
        expect(parts.every(({ text }) => text !== "")).toBe(true);
        for (const [index, { kind }] of parts.entries())
          expect(parts[index - 1]?.kind).not.toBe(kind);
      }),
      { numRuns: 500 },
    );
  });

  test("is minimal: an insertion is the only change", () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), word, fc.nat(), (words, added, index) => {
        const longer = words.toSpliced(index % (words.length + 1), 0, added);
        const parts = diffWords(
          words.map(appendLineBreak).join(""),
          longer.map(appendLineBreak).join(""),
        );
        expect(parts.filter(({ kind }) => kind === "removed")).toEqual([]);
        expect(parts.filter(({ kind }) => kind === "added").length).toBe(1);
      }),
    );
  });

  test("of two different texts of a megabyte takes less than 2 s", () => {
    const [before, after] = ["one two three ", "four five six "].map((text) => text.repeat(80_000));
    let parts: ReturnType<typeof diffWords> = [];
    const cpuMs = measureCpuTime(() => (parts = diffWords(before ?? "", after ?? "")));
    expect(parts.map(({ kind }) => kind)).toEqual(["removed", "added"]);
    expect(cpuMs).toBeLessThan(2_000);
  });
});

const word = fc.constantFrom("a", "b", "c", "好", "it's", "naïve");
const texts = fc.oneof(
  fc
    .array(fc.oneof(word, fc.constantFrom(" ", "\n", ".", "  ")), { maxLength: 30 })
    .map((pieces) => pieces.join("")),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 20 }),
);

function appendLineBreak(text: string): string {
  return `${text}\n`;
}

function joinParts(parts: readonly DiffPart[], kind: "removed" | "added"): string {
  return parts
    .filter((part) => part.kind === "same" || part.kind === kind)
    .map(({ text }) => text)
    .join("");
}
