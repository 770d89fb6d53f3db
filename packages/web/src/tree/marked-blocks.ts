import type { Block, Mark } from "@deltawire/tasks/markdown";
import { markedBlocks } from "../markdown/markdown-words.ts";
import type { DiffPart } from "./word-diff.ts";

/** Blocks with marks on what only one side says, of which `parts` is what differs in its `comparedWords`. */
export function withMarks(
  blocks: readonly Block[],
  parts: readonly DiffPart[],
  side: "gone" | "new",
): Block[] {
  const ahead = rangesOf(parts, side);
  let at = 0;
  let first = 0;
  return markedBlocks(blocks, (text) => {
    const [from, to] = [at, at + text.length];
    at = to;
    const marks: Mark[] = [];
    while ((ahead[first]?.[1] ?? Infinity) <= from) first += 1;
    for (let next = first; (ahead[next]?.[0] ?? Infinity) < to; next += 1) {
      const [start, end] = ahead[next] ?? [0, 0];
      marks.push([Math.max(start, from) - from, Math.min(end, to) - from]);
    }
    return marks;
  });
}

/** Where the text of one side has what the other lacks. */
function rangesOf(parts: readonly DiffPart[], side: "gone" | "new"): Mark[] {
  const ranges: Mark[] = [];
  let at = 0;
  for (const { kind, text } of parts) {
    if (kind !== "same" && kind !== side) continue;
    if (kind === side) ranges.push([at, at + text.length]);
    at += text.length;
  }
  return ranges;
}
