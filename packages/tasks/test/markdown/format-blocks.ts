import {
  parseMarkdown,
  type MarkdownBlock,
  type MarkdownInline,
  type ListItem,
} from "@deltawire/tasks/markdown";

/** Formats Markdown compactly for comparison: `p(a em(b))`. */
export function formatMarkdown(markdown: string): string {
  return formatBlocks(parseMarkdown(markdown));
}

export function formatBlocks(blocks: readonly MarkdownBlock[]): string {
  return blocks.map(formatBlock).join(" ");
}

function formatBlock(block: MarkdownBlock): string {
  switch (block.type) {
    case "paragraph":
      return `${block.html ? "html" : "p"}(${formatInline(block.inline)})`;
    case "heading":
      return `h${block.level}(${formatInline(block.inline)})`;
    case "code":
      return `code${block.closed ? "" : "…"}:${block.language}(${block.text})`;
    case "math":
      return `math${block.closed ? "" : "…"}(${block.text})`;
    case "quote":
      return `quote(${formatBlocks(block.blocks)})`;
    case "details":
      return `details${block.open ? "+" : ""}<${formatInline(block.summary)}>(${formatBlocks(block.blocks)})`;
    case "footnote":
      return `note<${block.label}>(${formatInline(block.inline)})`;
    case "list":
      return `${block.ordered ? `ol${block.start}` : "ul"}(${block.items.map(formatItem).join(" ")})`;
    case "table": {
      const row = (cells: MarkdownInline[][]) => cells.map(formatInline).join("|");
      return `table[${block.align.map((side) => side?.charAt(0) ?? "-").join("")}](${[block.head, ...block.rows].map(row).join(" / ")})`;
    }
    case "rule":
      return "rule";
    default:
      return block;
  }
}

function formatItem({ blocks, tight, checked }: ListItem): string {
  const box = checked === undefined ? "" : checked ? "[x]" : "[ ]";
  return `${tight ? "-" : "--"}${box}${formatBlocks(blocks)}`;
}

function formatInline(nodes: readonly MarkdownInline[]): string {
  return nodes
    .map((node) => {
      switch (node.type) {
        case "text":
          return node.text;
        case "code":
          return `\`${node.text}\``;
        case "math":
          return `$${node.text}$`;
        case "link":
          return `${node.image ? "image" : "a"}<${node.url}>(${formatInline(node.inline)})`;
        case "unlinked":
          return `no${node.image ? "image" : "a"}<${node.destination}>(${formatInline(node.inline)})`;
        case "break":
          return "⏎";
        case "cite":
          return `cite${node.resolved ? "" : "?"}${node.reference}`;
        case "footnote":
          return `note${node.label}`;
        default:
          return `${node.type}(${formatInline(node.inline)})`;
      }
    })
    .join("");
}
