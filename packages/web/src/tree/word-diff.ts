import type { MarkdownBlock, MarkRange } from "@deltawire/tasks/markdown";
import { markBlocks } from "../markdown/markdown-text.ts";

export interface DiffPart {
  /** `removed` is only in the first text, `added` only in the second. */
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

export interface DiffLimits {
  /**
   * Maximum number of words in both texts. If it is exceeded, lines are compared instead of words. If the lines
   * exceed it too, all text counts as changed.
   */
  readonly words: number;
  /** Maximum number of changed words or lines, with the same fallback. */
  readonly changes: number;
}

/** 20,000 words with 1,200 changes take about 60 ms and 6 MB. */
const defaultLimits: DiffLimits = { words: 20_000, changes: 1_200 };

/**
 * Compares two texts by words. All `same` and `removed` parts joined are exactly the first text, all `same` and `added`
 * parts the second.
 */
export function diffWords(
  before: string,
  after: string,
  limits: DiffLimits = defaultLimits,
): DiffPart[] {
  const parts =
    diffTokens(splitWords(before), splitWords(after), limits) ??
    diffTokens(splitLines(before), splitLines(after), limits) ??
    replaceText(before, after);
  return absorbSpaces(mergeParts(parts));
}

/** True if both texts are equal. */
export function isUnchanged(parts: readonly DiffPart[]): boolean {
  return parts.every(({ kind }) => kind === "same");
}

/** Matches words, whitespace, and every other character separately: punctuation, and scripts without spaces. */
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}_]+?(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[^\p{L}\p{M}\p{N}_]|$)|\s+|[^]/gu;

function splitWords(text: string): string[] {
  return text.match(wordPattern) ?? [];
}

function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function replaceText(before: string, after: string): DiffPart[] {
  return [
    { kind: "removed", text: before },
    { kind: "added", text: after },
  ];
}

/** Returns undefined if a limit is exceeded. */
function diffTokens(
  before: readonly string[],
  after: readonly string[],
  limits: DiffLimits,
): DiffPart[] | undefined {
  let prefixLength = 0;
  while (
    prefixLength < before.length &&
    prefixLength < after.length &&
    before[prefixLength] === after[prefixLength]
  )
    prefixLength += 1;
  let suffixLength = 0;
  const maxSuffixLength = Math.min(before.length, after.length) - prefixLength;
  while (
    suffixLength < maxSuffixLength &&
    before[before.length - 1 - suffixLength] === after[after.length - 1 - suffixLength]
  )
    suffixLength += 1;
  const middle = shortestEdit(
    before.slice(prefixLength, before.length - suffixLength),
    after.slice(prefixLength, after.length - suffixLength),
    limits,
  );
  if (middle === undefined) return undefined;
  const toSamePart = (texts: readonly string[]): DiffPart => ({
    kind: "same",
    text: texts.join(""),
  });
  return [
    toSamePart(before.slice(0, prefixLength)),
    ...middle,
    toSamePart(before.slice(before.length - suffixLength)),
  ];
}

/** Myers, "An O(ND) difference algorithm and its variations", 1986. Stores the furthest rows of each step for `backtrack`. */
function shortestEdit(
  before: readonly string[],
  after: readonly string[],
  limits: DiffLimits,
): DiffPart[] | undefined {
  const [rows, columns] = [before.length, after.length];
  if (rows + columns > limits.words) return undefined;
  const maxSteps = Math.min(rows + columns, limits.changes);
  const furthest = new Int32Array(2 * maxSteps + 3);
  /** Index of diagonal 0. */
  const zeroIndex = maxSteps + 1;
  const steps: Int32Array[] = [];
  const rowOn = (diagonal: number) => furthest[zeroIndex + diagonal] ?? 0;
  for (let step = 0; step <= maxSteps; step += 1) {
    for (let diagonal = -step; diagonal <= step; diagonal += 2) {
      const isInsertion =
        diagonal === -step || (diagonal !== step && rowOn(diagonal - 1) < rowOn(diagonal + 1));
      let row = isInsertion ? rowOn(diagonal + 1) : rowOn(diagonal - 1) + 1;
      while (row < rows && row - diagonal < columns && before[row] === after[row - diagonal])
        row += 1;
      furthest[zeroIndex + diagonal] = row;
      if (row >= rows && row - diagonal >= columns) return backtrack(before, after, steps, step);
    }
    steps.push(furthest.slice(zeroIndex - step, zeroIndex + step + 1));
  }
  return undefined;
}

/** `steps[n]` has the furthest rows on the diagonals -n to n after n changes. */
function backtrack(
  before: readonly string[],
  after: readonly string[],
  steps: readonly Int32Array[],
  changes: number,
): DiffPart[] {
  const parts: DiffPart[] = [];
  let row = before.length;
  let column = after.length;
  for (let step = changes; step > 0; step -= 1) {
    const diagonal = row - column;
    const rowOn = (other: number) => steps[step - 1]?.[other + step - 1] ?? -1;
    const isInsertion =
      diagonal === -step || (diagonal !== step && rowOn(diagonal - 1) < rowOn(diagonal + 1));
    const diagonalBefore = isInsertion ? diagonal + 1 : diagonal - 1;
    const rowBefore = rowOn(diagonalBefore);
    const columnBefore = rowBefore - diagonalBefore;
    const sameStart = isInsertion ? rowBefore : rowBefore + 1;
    if (row > sameStart) parts.push({ kind: "same", text: before.slice(sameStart, row).join("") });
    parts.push(
      isInsertion
        ? { kind: "added", text: after[columnBefore] ?? "" }
        : { kind: "removed", text: before[rowBefore] ?? "" },
    );
    row = rowBefore;
    column = columnBefore;
  }
  if (row > 0) parts.push({ kind: "same", text: before.slice(0, row).join("") });
  return parts.toReversed();
}

/** Merges adjacent parts of the same kind, and puts removed text before added text. */
function mergeParts(parts: readonly DiffPart[]): DiffPart[] {
  const result: DiffPart[] = [];
  let [removed, added] = ["", ""];
  const flush = () => {
    if (removed !== "") result.push({ kind: "removed", text: removed });
    if (added !== "") result.push({ kind: "added", text: added });
    [removed, added] = ["", ""];
  };
  for (const { kind, text } of parts) {
    if (text === "") continue;
    if (kind === "removed") removed += text;
    else if (kind === "added") added += text;
    else {
      const last = result.at(-1);
      if (removed === "" && added === "" && last?.kind === "same")
        result[result.length - 1] = { kind, text: last.text + text };
      else {
        flush();
        result.push({ kind, text });
      }
    }
  }
  flush();
  return result;
}

/** Marks a space between two replaced words as replaced; otherwise a changed sentence would be split into single words. */
function absorbSpaces(parts: readonly DiffPart[]): DiffPart[] {
  return mergeParts(
    parts.flatMap((part, index): DiffPart[] => {
      const isAbsorbed =
        part.kind === "same" &&
        index > 0 &&
        index < parts.length - 1 &&
        /^[^\S\n]+$/.test(part.text) &&
        isBetweenReplacements(parts, index);
      return isAbsorbed
        ? [
            { kind: "removed", text: part.text },
            { kind: "added", text: part.text },
          ]
        : [part];
    }),
  );
}

/** True if words were replaced on both sides of the part. */
function isBetweenReplacements(parts: readonly DiffPart[], index: number): boolean {
  const isLeftReplaced = parts[index - 1]?.kind === "added" && parts[index - 2]?.kind === "removed";
  const isRightReplaced =
    parts[index + 1]?.kind === "removed" && parts[index + 2]?.kind === "added";
  return isLeftReplaced && isRightReplaced;
}

/** Marks the text in `blocks` that only one side has. `parts` must be a diff of their `blocksToComparableText`. */
export function markDifferences(
  blocks: readonly MarkdownBlock[],
  parts: readonly DiffPart[],
  side: "removed" | "added",
): MarkdownBlock[] {
  const ranges = getChangedRanges(parts, side);
  let offset = 0;
  let rangeIndex = 0;
  return markBlocks(blocks, (text) => {
    const [textStart, textEnd] = [offset, offset + text.length];
    offset = textEnd;
    const marks: MarkRange[] = [];
    while ((ranges[rangeIndex]?.[1] ?? Infinity) <= textStart) rangeIndex += 1;
    for (let next = rangeIndex; (ranges[next]?.[0] ?? Infinity) < textEnd; next += 1) {
      const [start, end] = ranges[next] ?? [0, 0];
      marks.push([Math.max(start, textStart) - textStart, Math.min(end, textEnd) - textStart]);
    }
    return marks;
  });
}

/** Returns the ranges in the text of one side that the other side lacks. */
function getChangedRanges(parts: readonly DiffPart[], side: "removed" | "added"): MarkRange[] {
  const ranges: MarkRange[] = [];
  let offset = 0;
  for (const { kind, text } of parts) {
    if (kind !== "same" && kind !== side) continue;
    if (kind === side) ranges.push([offset, offset + text.length]);
    offset += text.length;
  }
  return ranges;
}
