import type { MarkdownBlock, MarkdownInline, ListItem, MarkRange } from "@deltawire/tasks/markdown";
import { classifyUrl } from "../text/classify-url.ts";
import { splitByMarks, splitText } from "../text/split-text.ts";

/** The kind of text passed to a `MarkCallback`. `end` follows the text of each block. */
type TextRole = "text" | "code" | "formula" | "image" | "cite" | "url" | "break" | "end";

/** Called with every text in reading order. Returns the ranges to mark in the text. */
export type MarkCallback = (text: string, role: TextRole) => readonly MarkRange[];

/** Returns the text of blocks for comparison, one line per block, including link URLs and citations. */
export function blocksToComparableText(blocks: readonly MarkdownBlock[]): string {
  let result = "";
  markBlocks(blocks, (text) => {
    result += text;
    return noMarks;
  });
  return result;
}

/** Returns the rendered text of blocks in pieces. A formula is a separate piece, because it is rendered with different characters. */
export function blocksToRenderedText(blocks: readonly MarkdownBlock[]): string[] {
  const pieces: string[] = [];
  let line = "";
  markBlocks(blocks, (text, role) => {
    if (role === "text" || role === "break") line += text;
    else if (role === "code") pieces.push(...splitText(text).pieces);
    else if (role === "formula") pieces.push(text);
    else if (role === "end") {
      pieces.push(line);
      line = "";
    }
    return noMarks;
  });
  return pieces.filter((piece) => piece !== "");
}

const noMarks: readonly MarkRange[] = [];

/** Returns the blocks, with the ranges that `getMarks` returns marked. */
export function markBlocks(
  blocks: readonly MarkdownBlock[],
  getMarks: MarkCallback,
): MarkdownBlock[] {
  return blocks.map((block) => markBlock(block, getMarks));
}

function markBlock(block: MarkdownBlock, getMarks: MarkCallback): MarkdownBlock {
  switch (block.type) {
    case "paragraph":
    case "heading":
    case "footnote":
      return { ...block, inline: markLine(block.inline, getMarks) };
    case "code": {
      const marks = getMarks(block.text, "code").filter(([start, end]) => start < end);
      getMarks("\n", "end");
      return marks.length === 0 ? block : { ...block, marks };
    }
    case "math": {
      const [inline] = markLine([{ type: "math", text: block.text }], getMarks);
      return inline?.type === "mark" ? { type: "paragraph", inline: [inline] } : block;
    }
    case "quote":
      return { ...block, blocks: markBlocks(block.blocks, getMarks) };
    case "details": {
      const summary = markLine(block.summary, getMarks);
      return { ...block, summary, blocks: markBlocks(block.blocks, getMarks) };
    }
    case "list":
      return { ...block, items: block.items.map((item) => markListItem(item, getMarks)) };
    case "table": {
      const markRow = (row: MarkdownInline[][]) => row.map((cell) => markLine(cell, getMarks));
      return { ...block, head: markRow(block.head), rows: block.rows.map(markRow) };
    }
    default:
      return block;
  }
}

function markListItem(item: ListItem, getMarks: MarkCallback): ListItem {
  return { ...item, blocks: markBlocks(item.blocks, getMarks) };
}

function markLine(inline: readonly MarkdownInline[], getMarks: MarkCallback): MarkdownInline[] {
  const line = markInline(inline, getMarks, "text");
  getMarks("\n", "end");
  return line;
}

function markInline(
  nodes: readonly MarkdownInline[],
  getMarks: MarkCallback,
  role: "text" | "image",
): MarkdownInline[] {
  return nodes.flatMap((node): MarkdownInline[] => {
    switch (node.type) {
      case "text":
      case "code": {
        const marks = getMarks(node.text, role);
        if (marks.length === 0) return [node];
        return splitByMarks(node.text, marks).map((piece) => {
          const part = { ...node, text: piece.text };
          return piece.isMarked ? { type: "mark", inline: [part] } : part;
        });
      }
      case "math":
        return getMarks(node.text, "formula").length === 0 ? [node] : wrapInMark(node);
      case "cite":
        return getMarks(`[^${node.reference}]`, "cite").length === 0 ? [node] : wrapInMark(node);
      case "footnote":
        return getMarks(`[^${node.label}]`, "cite").length === 0 ? [node] : wrapInMark(node);
      case "link":
      case "unlinked": {
        const innerRole = isLocalImage(node) ? "image" : role;
        const markedLink = { ...node, inline: markInline(node.inline, getMarks, innerRole) };
        const url = node.type === "link" ? node.url : node.destination;
        getMarks(" ", "url");
        return getMarks(url, "url").length === 0 ? [markedLink] : wrapInMark(node);
      }
      case "break":
        getMarks("\n", "break");
        return [node];
      default:
        return [{ ...node, inline: markInline(node.inline, getMarks, role) }];
    }
  });
}

/** True if the node is rendered as an image. External images are rendered as links with their alt text. */
function isLocalImage(node: MarkdownInline & { type: "link" | "unlinked" }): boolean {
  return node.type === "link" && node.image === true && classifyUrl(node.url).type === "local";
}

/** For nodes that cannot be marked in part. */
function wrapInMark(node: MarkdownInline): MarkdownInline[] {
  return [{ type: "mark", inline: [node] }];
}
