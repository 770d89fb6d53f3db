import { unreachable } from "../error.ts";
import { annotate } from "./annotator.ts";
import type { Block, Inline } from "./blocks.ts";
import { withCites } from "./cites.ts";
import { parseMarkdown } from "./growing-markdown.ts";

/**
 * What Markdown says, without its marks: the text of each block, item and row on lines of its own, without citations. It may
 * be an excerpt, of which what defines its links has been cut off.
 */
export function plainText(markdown: string): string {
  const hasCites = markdown.includes("[^");
  const cited = hasCites
    ? withCites(
        markdown,
        annotate(markdown, () => false),
      )
    : markdown;
  return blocksText(parseMarkdown(cited, { isExcerpt: true }));
}

function blocksText(blocks: readonly Block[]): string {
  return blocks
    .map(blockText)
    .filter((text) => text !== "")
    .join("\n");
}

function blockText(block: Block): string {
  switch (block.type) {
    case "paragraph":
      return withoutBars(inlineText(block.inline));
    case "heading":
    case "footnote":
      return inlineText(block.inline);
    case "code":
    case "math":
      return block.text;
    case "quote":
      return blocksText(block.blocks);
    case "details":
      return `${inlineText(block.summary)}\n${blocksText(block.blocks)}`.trim();
    case "list":
      return block.items
        .map(({ blocks }, at) =>
          block.ordered ? `${block.start + at}. ${blocksText(blocks)}` : blocksText(blocks),
        )
        .filter((text) => text !== "")
        .join("\n");
    case "table":
      return [block.head, ...block.rows].map(rowText).join("\n");
    case "rule":
      return "";
    default:
      return unreachable(block);
  }
}

const cellGap = " · ";

function rowText(row: readonly Inline[][]): string {
  const filled = row.findLastIndex((cell) => cell.length > 0) + 1;
  return row.slice(0, filled).map(inlineText).join(cellGap);
}

/** Rows of a table whose head has been cut off. */
function withoutBars(text: string): string {
  if (!text.startsWith("|")) return text;
  return text.replaceAll(/^\|(.*)\|$/gm, (_, row: string) =>
    row
      .split("|")
      .map((cell) => cell.trim())
      .join(cellGap),
  );
}

function inlineText(nodes: readonly Inline[]): string {
  let text = "";
  for (const node of nodes) {
    if (node.type === "text" || node.type === "code" || node.type === "math") text += node.text;
    else if (node.type === "break") text += "\n";
    else if (node.type === "cite" || node.type === "footnote") text = withoutBlank(text);
    else text += inlineText(node.inline);
  }
  return text;
}

function withoutBlank(text: string): string {
  return /\s$/.test(text) ? text.slice(0, -1) : text;
}
