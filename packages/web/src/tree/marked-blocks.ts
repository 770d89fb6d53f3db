import type { Block, Inline, ListItem, Mark } from "@deltawire/tasks/markdown";
import { markedPieces } from "../texts/marked-pieces.ts";
import type { DiffPart } from "./word-diff.ts";

/** The words of Markdown as they are read, one line for each block: what is compared. */
export function wordsIn(blocks: readonly Block[]): string {
  let words = "";
  markedBlocks(blocks, (text) => {
    words += text;
    return none;
  });
  return words;
}

/** Blocks with marks on what only one side says, of which `parts` is what differs in its `wordsIn`. */
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

const none: readonly Mark[] = [];

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

/** Is handed every text in the order of reading, and says what of it is marked. */
type Marks = (text: string) => readonly Mark[];

function markedBlocks(blocks: readonly Block[], marks: Marks): Block[] {
  return blocks.map((block) => markedBlock(block, marks));
}

function markedBlock(block: Block, marks: Marks): Block {
  switch (block.type) {
    case "paragraph":
    case "heading":
      return { ...block, inline: markedLine(block.inline, marks) };
    case "code": {
      const marked = marks(block.text).filter(([start, end]) => start < end);
      marks("\n");
      return marked.length === 0 ? block : { ...block, marks: marked };
    }
    case "math": {
      const [inline] = markedLine([{ type: "math", text: block.text }], marks);
      return inline?.type === "mark" ? { type: "paragraph", inline: [inline] } : block;
    }
    case "quote":
      return { ...block, blocks: markedBlocks(block.blocks, marks) };
    case "list":
      return { ...block, items: block.items.map((item) => markedItem(item, marks)) };
    case "table": {
      const cells = (row: Inline[][]) => row.map((cell) => markedLine(cell, marks));
      return { ...block, head: cells(block.head), rows: block.rows.map(cells) };
    }
    default:
      return block;
  }
}

function markedItem(item: ListItem, marks: Marks): ListItem {
  return { ...item, blocks: markedBlocks(item.blocks, marks) };
}

function markedLine(inline: readonly Inline[], marks: Marks): Inline[] {
  const line = markedInline(inline, marks);
  marks("\n");
  return line;
}

function markedInline(nodes: readonly Inline[], marks: Marks): Inline[] {
  return nodes.flatMap((node): Inline[] => {
    switch (node.type) {
      case "text":
      case "code":
        return markedPieces(node.text, marks(node.text)).map(({ text, marked }) =>
          marked ? { type: "mark", inline: [{ ...node, text }] } : { ...node, text },
        );
      case "math":
        return marks(node.text).length === 0 ? [node] : whole(node);
      case "cite":
        return marks(`[^${node.reference}]`).length === 0 ? [node] : whole(node);
      case "link": {
        const linked = { ...node, inline: markedInline(node.inline, marks) };
        marks(" ");
        return marks(node.url).length === 0 ? [linked] : whole(node);
      }
      case "break":
        marks("\n");
        return [node];
      default:
        return [{ ...node, inline: markedInline(node.inline, marks) }];
    }
  });
}

/** What cannot be marked in part. */
function whole(node: Inline): Inline[] {
  return [{ type: "mark", inline: [node] }];
}
