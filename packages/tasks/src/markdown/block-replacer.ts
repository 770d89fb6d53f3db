import type { MarkdownBlock, MarkdownInline, ListItem, TableBlock } from "./ast.ts";
import type { InlinePath } from "./link-references.ts";

/**
 * Replaces inline content in blocks that may have been published: the parents of the content are copied, everything else stays
 * the same object. Each parent is copied once per replacer.
 */
export class BlockReplacer {
  readonly #copies = new Set<object>();

  replaceInBlocks(
    blocks: MarkdownBlock[],
    path: InlinePath,
    depth: number,
    inline: MarkdownInline[],
  ): void {
    const index = path[depth] ?? 0;
    const block = blocks[index];
    if (block !== undefined) blocks[index] = this.#replaceInBlock(block, path, depth + 1, inline);
  }

  replaceInItems(
    items: ListItem[],
    path: InlinePath,
    depth: number,
    inline: MarkdownInline[],
  ): void {
    const index = path[depth] ?? 0;
    const item = items[index];
    if (item === undefined) return;
    const partCopy = this.#copyOnce(item, () => ({ ...item, blocks: [...item.blocks] }));
    this.replaceInBlocks(partCopy.blocks, path, depth + 1, inline);
    items[index] = partCopy;
  }

  replaceInTable(
    table: TableBlock,
    path: InlinePath,
    depth: number,
    inline: MarkdownInline[],
  ): TableBlock {
    const partCopy = this.#copyOnce(table, () => ({ ...table, rows: [...table.rows] }));
    const [row = 0, cell = 0] = path.slice(depth);
    const cells = row === 0 ? partCopy.head : (partCopy.rows[row - 1] ?? []);
    const cellsCopy = this.#copyOnce(cells, () => [...cells]);
    cellsCopy[cell] = inline;
    if (row === 0) partCopy.head = cellsCopy;
    else partCopy.rows[row - 1] = cellsCopy;
    return partCopy;
  }

  #replaceInBlock(
    block: MarkdownBlock,
    path: InlinePath,
    depth: number,
    inline: MarkdownInline[],
  ): MarkdownBlock {
    switch (block.type) {
      case "paragraph":
      case "heading":
      case "footnote":
        return { ...block, inline };
      case "quote":
      case "details": {
        const partCopy = this.#copyOnce(block, () => ({ ...block, blocks: [...block.blocks] }));
        this.replaceInBlocks(partCopy.blocks, path, depth, inline);
        return partCopy;
      }
      case "list": {
        const partCopy = this.#copyOnce(block, () => ({ ...block, items: [...block.items] }));
        this.replaceInItems(partCopy.items, path, depth, inline);
        return partCopy;
      }
      case "table":
        return this.replaceInTable(block, path, depth, inline);
      default:
        return block;
    }
  }

  #copyOnce<Part extends object>(part: Part, copy: () => Part): Part {
    if (this.#copies.has(part)) return part;
    const partCopy = copy();
    this.#copies.add(partCopy);
    return partCopy;
  }
}
