import { GrowingMarkdown, type Block } from "@deltawire/tasks/markdown";

const sectionSize = 24;

export interface Section {
  blocks: readonly Block[];
  /** The rank of the last heading before it. */
  above: number;
}

type Changes = ReturnType<GrowingMarkdown["takeChanges"]>;

/** Headings of the page stand above those of a message. */
export const topRank = 2;

/**
 * The blocks of a growing text in sections. A full one stays the same object as its blocks do, so that 24 cost one comparison,
 * and a browser need not lay out those that nobody sees.
 */
export class Sections {
  readonly #markdown = new GrowingMarkdown();
  #full: Section[] = [];

  of(text: string, growing: boolean): readonly Section[] {
    const markdown = this.#markdown;
    markdown.push(text);
    if (!growing) markdown.end();
    const { frozen, open } = markdown;
    this.#renew(frozen, markdown.takeChanges());
    while (frozen.length - this.#full.length * sectionSize >= sectionSize) {
      const from = this.#full.length * sectionSize;
      this.#full.push({ blocks: frozen.slice(from, from + sectionSize), above: this.#rank() });
    }
    const rest = frozen.slice(this.#full.length * sectionSize);
    return [...this.#full, { blocks: [...rest, ...open], above: this.#rank() }];
  }

  /** A text that was rewritten has other blocks from some place on; a block that has got its links, only there. */
  #renew(frozen: readonly Block[], { kept, remade }: Changes): void {
    this.#full.length = Math.min(this.#full.length, Math.floor(kept / sectionSize));
    for (const nth of new Set([...remade].map((block) => Math.floor(block / sectionSize)))) {
      const section = this.#full[nth];
      const from = nth * sectionSize;
      if (section !== undefined)
        this.#full[nth] = { ...section, blocks: frozen.slice(from, from + sectionSize) };
    }
  }

  #rank(): number {
    const last = this.#full.at(-1);
    return last === undefined ? topRank : (ranksOf(last).findLast(isRank) ?? last.above);
  }
}

/** Of the headings among a section's blocks: a heading never skips a rank, whatever a model has written. */
export function ranksOf({ blocks, above }: Section): (number | undefined)[] {
  let last = above;
  return blocks.map((block) => {
    if (block.type !== "heading") return undefined;
    last = Math.min(block.level + topRank, last + 1, 6);
    return last;
  });
}

function isRank(rank: number | undefined): rank is number {
  return rank !== undefined;
}
