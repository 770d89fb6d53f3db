import { GrowingMarkdown, type Block } from "@deltawire/tasks/markdown";

const sectionSize = 24;

export interface Section {
  blocks: readonly Block[];
  /** The rank of the last heading before it. */
  above: number;
}

/** Headings of the page stand above those of a message. */
export const topRank = 2;

/**
 * The blocks of a growing text in sections. A full one is the same object for ever, so that 24 blocks cost one comparison,
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
    this.#forgetChanged(frozen);
    while (frozen.length - this.#full.length * sectionSize >= sectionSize) {
      const from = this.#full.length * sectionSize;
      this.#full.push({ blocks: frozen.slice(from, from + sectionSize), above: this.#rank() });
    }
    const rest = frozen.slice(this.#full.length * sectionSize);
    return [...this.#full, { blocks: [...rest, ...open], above: this.#rank() }];
  }

  /** A text that was rewritten has other blocks from some place on. */
  #forgetChanged(frozen: readonly Block[]): void {
    for (let last = this.#full.at(-1); last !== undefined; last = this.#full.at(-1)) {
      const end = this.#full.length * sectionSize - 1;
      if (last.blocks.at(-1) === frozen[end]) return;
      this.#full.pop();
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
