import { assertNever } from "../error.ts";
import { annotateCitations } from "./citation-annotator.ts";
import type { MarkdownBlock, MarkdownInline } from "./ast.ts";
import { markCitations } from "./citation-marks.ts";
import { parseMarkdown } from "./streaming-markdown.ts";

/**
 * Returns the plain text of Markdown without citations; each block, list item and table row is on a separate line. The Markdown
 * may be an excerpt without its link definitions.
 */
export function markdownToText(markdown: string): string {
  const hasCites = markdown.includes("[^");
  const markedText = hasCites
    ? markCitations(
        markdown,
        annotateCitations(markdown, () => false),
      )
    : markdown;
  return blocksToText(parseMarkdown(markedText, { isExcerpt: true }));
}

function blocksToText(blocks: readonly MarkdownBlock[]): string {
  return blocks
    .map(blockToText)
    .filter((text) => text !== "")
    .join("\n");
}

function blockToText(block: MarkdownBlock): string {
  switch (block.type) {
    case "paragraph":
      return stripTableBars(inlineToText(block.inline));
    case "heading":
    case "footnote":
      return inlineToText(block.inline);
    case "code":
    case "math":
      return block.text;
    case "quote":
      return blocksToText(block.blocks);
    case "details":
      return `${inlineToText(block.summary)}\n${blocksToText(block.blocks)}`.trim();
    case "list":
      return block.items
        .map(({ blocks }, index) =>
          block.ordered ? `${block.start + index}. ${blocksToText(blocks)}` : blocksToText(blocks),
        )
        .filter((text) => text !== "")
        .join("\n");
    case "table":
      return [block.head, ...block.rows].map(rowToText).join("\n");
    case "rule":
      return "";
    default:
      return assertNever(block);
  }
}

const cellSeparator = " · ";

function rowToText(row: readonly MarkdownInline[][]): string {
  const cellCount = row.findLastIndex((cell) => cell.length > 0) + 1;
  return row.slice(0, cellCount).map(inlineToText).join(cellSeparator);
}

/** Formats table rows of an excerpt that does not include the head of the table. */
function stripTableBars(text: string): string {
  if (!text.startsWith("|")) return text;
  return text.replaceAll(/^\|(.*)\|$/gm, (_, row: string) =>
    row
      .split("|")
      .map((cell) => cell.trim())
      .join(cellSeparator),
  );
}

function inlineToText(nodes: readonly MarkdownInline[]): string {
  let text = "";
  for (const node of nodes) {
    if (node.type === "text" || node.type === "code" || node.type === "math") text += node.text;
    else if (node.type === "break") text += "\n";
    else if (node.type === "cite" || node.type === "footnote") text = trimOneSpace(text);
    else text += inlineToText(node.inline);
  }
  return text;
}

function trimOneSpace(text: string): string {
  return /\s$/.test(text) ? text.slice(0, -1) : text;
}
