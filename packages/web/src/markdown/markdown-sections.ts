import { StreamingMarkdown, type MarkdownBlock } from "@deltawire/tasks/markdown";

const blocksPerSection = 24;

export interface MarkdownSection {
  blocks: readonly MarkdownBlock[];
  /** HTML level of the last heading before the section. */
  previousRank: number;
}

type MarkdownChanges = ReturnType<StreamingMarkdown["takeChanges"]>;

/** HTML level of the page's lowest headings. Those of a message are below it. */
export const baseHeadingRank = 2;

/**
 * Splits the blocks of growing text into sections. A full section stays the same object, so that 24 blocks cost one
 * comparison and the browser can skip the layout of sections that are not visible.
 */
export class MarkdownSections {
  readonly #markdown = new StreamingMarkdown();
  #fullSections: MarkdownSection[] = [];

  update(text: string, isStreaming: boolean): readonly MarkdownSection[] {
    const markdown = this.#markdown;
    markdown.push(text);
    if (!isStreaming) markdown.end();
    const { frozenBlocks, openBlocks } = markdown;
    this.#applyChanges(frozenBlocks, markdown.takeChanges());
    while (frozenBlocks.length - this.#fullSections.length * blocksPerSection >= blocksPerSection) {
      const start = this.#fullSections.length * blocksPerSection;
      this.#fullSections.push({
        blocks: frozenBlocks.slice(start, start + blocksPerSection),
        previousRank: this.#getLastRank(),
      });
    }
    const remainingBlocks = frozenBlocks.slice(this.#fullSections.length * blocksPerSection);
    return [
      ...this.#fullSections,
      { blocks: [...remainingBlocks, ...openBlocks], previousRank: this.#getLastRank() },
    ];
  }

  /** Drops sections after the first rewritten block, and replaces sections in which blocks changed, for example by link definitions. */
  #applyChanges(
    frozenBlocks: readonly MarkdownBlock[],
    { unchangedCount, changedIndexes }: MarkdownChanges,
  ): void {
    this.#fullSections.length = Math.min(
      this.#fullSections.length,
      Math.floor(unchangedCount / blocksPerSection),
    );
    for (const index of new Set(
      [...changedIndexes].map((block) => Math.floor(block / blocksPerSection)),
    )) {
      const section = this.#fullSections[index];
      const start = index * blocksPerSection;
      if (section !== undefined)
        this.#fullSections[index] = {
          ...section,
          blocks: frozenBlocks.slice(start, start + blocksPerSection),
        };
    }
  }

  #getLastRank(): number {
    const lastSection = this.#fullSections.at(-1);
    return lastSection === undefined
      ? baseHeadingRank
      : (getHeadingRanks(lastSection).findLast(isRank) ?? lastSection.previousRank);
  }
}

/** Returns the HTML levels of a section's headings, undefined for other blocks. Never skips a level, even if the model does. */
export function getHeadingRanks({ blocks, previousRank }: MarkdownSection): (number | undefined)[] {
  let lastRank = previousRank;
  return blocks.map((block) => {
    if (block.type !== "heading") return undefined;
    lastRank = Math.min(block.level + baseHeadingRank, lastRank + 1, 6);
    return lastRank;
  });
}

function isRank(rank: number | undefined): rank is number {
  return rank !== undefined;
}
