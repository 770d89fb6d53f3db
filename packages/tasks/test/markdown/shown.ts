import { parseMarkdown, type Block, type Inline, type ListItem } from "@deltawire/tasks/markdown";

/** Short to read: tags for what holds something, words for what is text. */
export function shown(markdown: string): string {
  return blocksShown(parseMarkdown(markdown));
}

export function blocksShown(blocks: readonly Block[]): string {
  return blocks.map(blockShown).join(" ");
}

function blockShown(block: Block): string {
  switch (block.type) {
    case "paragraph":
      return `${block.html ? "html" : "p"}(${inlineShown(block.inline)})`;
    case "heading":
      return `h${block.level}(${inlineShown(block.inline)})`;
    case "code":
      return `code${block.closed ? "" : "…"}:${block.language}(${block.text})`;
    case "math":
      return `math${block.closed ? "" : "…"}(${block.text})`;
    case "quote":
      return `quote(${blocksShown(block.blocks)})`;
    case "details":
      return `details${block.open ? "+" : ""}<${inlineShown(block.summary)}>(${blocksShown(block.blocks)})`;
    case "footnote":
      return `note<${block.label}>(${inlineShown(block.inline)})`;
    case "list":
      return `${block.ordered ? `ol${block.start}` : "ul"}(${block.items.map(itemShown).join(" ")})`;
    case "table": {
      const row = (cells: Inline[][]) => cells.map(inlineShown).join("|");
      return `table[${block.sides.map((side) => side?.charAt(0) ?? "-").join("")}](${[block.head, ...block.rows].map(row).join(" / ")})`;
    }
    case "rule":
      return "rule";
    default:
      return block;
  }
}

function itemShown({ blocks, tight, checked }: ListItem): string {
  const box = checked === undefined ? "" : checked ? "[x]" : "[ ]";
  return `${tight ? "-" : "--"}${box}${blocksShown(blocks)}`;
}

function inlineShown(nodes: readonly Inline[]): string {
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
          return `${node.image ? "image" : "a"}<${node.url}>(${inlineShown(node.inline)})`;
        case "unlinked":
          return `no${node.image ? "image" : "a"}<${node.destination}>(${inlineShown(node.inline)})`;
        case "break":
          return "⏎";
        case "cite":
          return `cite${node.resolved ? "" : "?"}${node.reference}`;
        case "footnote":
          return `note${node.label}`;
        default:
          return `${node.type}(${inlineShown(node.inline)})`;
      }
    })
    .join("");
}
