import type { Block, Inline, ListItem, Table } from "./blocks.ts";
import type { Place } from "./references.ts";

/**
 * Puts other text into blocks that somebody may have seen: what holds it is made anew, all beside it stays the same object.
 * Texts that are put in by one of these share what it has made.
 */
export class MadeAnew {
  readonly #made = new Set<object>();

  inBlocks(blocks: Block[], place: Place, depth: number, inline: Inline[]): void {
    const nth = place[depth] ?? 0;
    const block = blocks[nth];
    if (block !== undefined) blocks[nth] = this.#block(block, place, depth + 1, inline);
  }

  inItems(items: ListItem[], place: Place, depth: number, inline: Inline[]): void {
    const nth = place[depth] ?? 0;
    const item = items[nth];
    if (item === undefined) return;
    const made = this.#once(item, () => ({ ...item, blocks: [...item.blocks] }));
    this.inBlocks(made.blocks, place, depth + 1, inline);
    items[nth] = made;
  }

  table(table: Table, place: Place, depth: number, inline: Inline[]): Table {
    const made = this.#once(table, () => ({ ...table, rows: [...table.rows] }));
    const [row = 0, cell = 0] = place.slice(depth);
    const cells = row === 0 ? made.head : (made.rows[row - 1] ?? []);
    const anew = this.#once(cells, () => [...cells]);
    anew[cell] = inline;
    if (row === 0) made.head = anew;
    else made.rows[row - 1] = anew;
    return made;
  }

  #block(block: Block, place: Place, depth: number, inline: Inline[]): Block {
    switch (block.type) {
      case "paragraph":
      case "heading":
      case "footnote":
        return { ...block, inline };
      case "quote":
      case "details": {
        const made = this.#once(block, () => ({ ...block, blocks: [...block.blocks] }));
        this.inBlocks(made.blocks, place, depth, inline);
        return made;
      }
      case "list": {
        const made = this.#once(block, () => ({ ...block, items: [...block.items] }));
        this.inItems(made.items, place, depth, inline);
        return made;
      }
      case "table":
        return this.table(block, place, depth, inline);
      default:
        return block;
    }
  }

  #once<Part extends object>(part: Part, copy: () => Part): Part {
    if (this.#made.has(part)) return part;
    const made = copy();
    this.#made.add(made);
    return made;
  }
}
