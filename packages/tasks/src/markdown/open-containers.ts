import type { MarkdownBlock, MarkdownInline, ListItem } from "./ast.ts";
import {
  parseListItemStart,
  parseQuote,
  type ListItemStart,
  type MarkdownLine,
} from "./block-starts.ts";
import type { BlockReplacer } from "./block-replacer.ts";
import type { InlinePath } from "./link-references.ts";

/** Maximum depth of quotes, details elements and lists. */
const maxNesting = 12;

interface OpenQuote {
  type: "quote";
  blocks: MarkdownBlock[];
}

type OpenDetails = Extract<MarkdownBlock, { type: "details" }>;

/** `items`: the finished items. `item` and `blocks`: the open item. */
interface OpenList {
  type: "list";
  ordered: boolean;
  start: number;
  items: ListItem[];
  item: ListItemStart;
  blocks: MarkdownBlock[];
  /** True if a blank line separates blocks of the open item, or precedes the item. */
  isLoose: boolean;
  isAfterBlankLine: boolean;
  /** True if the open item has no content yet. */
  isItemEmpty: boolean;
}

/** The open quotes, details elements and lists, outermost first, and the finished blocks. */
export class OpenContainers {
  readonly blocks: MarkdownBlock[];
  readonly #openContainers: (OpenQuote | OpenDetails | OpenList)[];
  /** Number of blocks of the text that precede `blocks`. A branch does not contain them. */
  readonly #precedingCount: number;

  constructor(
    blocks: MarkdownBlock[] = [],
    openContainers: (OpenQuote | OpenDetails | OpenList)[] = [],
    precedingCount = 0,
  ) {
    this.blocks = blocks;
    this.#openContainers = openContainers;
    this.#precedingCount = precedingCount;
  }

  /** Returns a copy that continues independently and starts without blocks. Finished parts of open blocks are shared. */
  branch(): OpenContainers {
    const openContainers = this.#openContainers.map((container) =>
      container.type === "list"
        ? { ...container, items: [...container.items], blocks: [...container.blocks] }
        : { ...container, blocks: [...container.blocks] },
    );
    return new OpenContainers([], openContainers, this.blocks.length);
  }

  get depth(): number {
    return this.#openContainers.length;
  }

  get canNest(): boolean {
    return this.#openContainers.length < maxNesting;
  }

  /** Returns how many containers a line continues, and the rest of the line inside them. */
  matchLine(line: MarkdownLine, inFence: boolean): { depth: number; rest: MarkdownLine } {
    let rest = line;
    for (const [depth, container] of this.#openContainers.entries()) {
      // A details element continues to its closing tag.
      if (container.type === "details") continue;
      if (container.type === "quote") {
        const quotedLine = parseQuote(rest);
        if (quotedLine === undefined) return { depth, rest };
        rest = quotedLine;
      } else if (!rest.isBlank) {
        // Fenced code in an item continues to its closing fence, even if its lines are not indented.
        if (!inFence && !isInsideItem(container, rest)) return { depth, rest };
        rest = rest.withoutIndent(container.item.contentIndent);
      }
    }
    return { depth: this.#openContainers.length, rest };
  }

  /** True if a line outside of the item at this depth is indented more than its marker. */
  isIndentedBeyondMarker(depth: number, line: MarkdownLine): boolean {
    const list = this.#openContainers[depth];
    return list?.type === "list" && !list.isAfterBlankLine && line.indent > list.item.markerIndent;
  }

  openQuote(): void {
    this.#openContainers.push({ type: "quote", blocks: [] });
  }

  openDetails(open: boolean): void {
    this.#openContainers.push({ type: "details", summary: [], open, blocks: [] });
  }

  /** True if the innermost details element may get its summary now. */
  get awaitsSummary(): boolean {
    const inner = this.#openContainers.at(-1);
    return inner?.type === "details" && inner.summary.length === 0 && inner.blocks.length === 0;
  }

  setSummary(summary: MarkdownInline[]): void {
    const inner = this.#openContainers.at(-1);
    if (inner?.type === "details") inner.summary = summary;
  }

  get hasDetails(): boolean {
    return this.#openContainers.some(({ type }) => type === "details");
  }

  /** Closes the innermost details element and everything in it. */
  closeDetails(): void {
    this.closeTo(this.#openContainers.findLastIndex(({ type }) => type === "details"));
  }

  openList(item: ListItemStart): void {
    const { ordered, start } = item;
    const initialState = {
      items: [],
      blocks: [],
      isLoose: false,
      isAfterBlankLine: false,
      isItemEmpty: true,
    };
    this.#openContainers.push({ type: "list", ordered, start, item, ...initialState });
  }

  /** Opens the next item of the list at this depth and returns it. Undefined if the line does not start one. */
  openNextItem(depth: number, line: MarkdownLine): ListItemStart | undefined {
    const list = this.#openContainers[depth];
    if (list?.type !== "list") return undefined;
    const item = parseListItemStart(line);
    if (item === undefined || item.delimiter !== list.item.delimiter) return undefined;
    this.closeTo(depth + 1);
    list.isLoose ||= list.isAfterBlankLine;
    list.items.push(toListItem(list));
    Object.assign(list, {
      item,
      blocks: [],
      isLoose: list.isAfterBlankLine,
      isAfterBlankLine: false,
      isItemEmpty: true,
    });
    return item;
  }

  closeTo(depth: number): void {
    while (this.#openContainers.length > depth) {
      const container = this.#openContainers.pop();
      if (container?.type === "quote" || container?.type === "details") this.add(container);
      else if (container !== undefined) {
        const { type, ordered, start, items } = container;
        items.push(toListItem(container));
        this.add({ type, ordered, start, items });
      }
    }
  }

  /** Marks the open lists, except those around a quote. */
  markBlankLine(): void {
    const quote = this.#openContainers.findLastIndex(({ type }) => type === "quote");
    for (const container of this.#openContainers.slice(quote + 1))
      if (container.type === "list") container.isAfterBlankLine = true;
  }

  /** Called before a block: a blank line between two blocks of the innermost item makes the item loose. */
  resolveBlankLine(): void {
    const inner = this.#openContainers.at(-1);
    if (inner?.type === "list") inner.isLoose ||= inner.isAfterBlankLine && !inner.isItemEmpty;
    for (const container of this.#openContainers)
      if (container.type === "list") {
        container.isAfterBlankLine = false;
        container.isItemEmpty = false;
      }
  }

  add(block: MarkdownBlock): void {
    (this.#openContainers.at(-1)?.blocks ?? this.blocks).push(block);
  }

  /** The position of the next block. */
  get nextPath(): number[] {
    const innerPath = this.#openContainers.flatMap((container) =>
      container.type === "list"
        ? [container.items.length, container.blocks.length]
        : [container.blocks.length],
    );
    return [this.#precedingCount + this.blocks.length, ...innerPath];
  }

  /** Replaces inline content in a finished block. Returns false if the path leads into the open leaf. */
  replaceInline(path: InlinePath, inline: MarkdownInline[], replacer: BlockReplacer): boolean {
    const index = (path[0] ?? 0) - this.#precedingCount;
    if (index < this.blocks.length) {
      replacer.replaceInBlocks(this.blocks, path.with(0, index), 0, inline);
      return true;
    }
    let depth = 1;
    for (const container of this.#openContainers) {
      if (container.type === "list") {
        if ((path[depth] ?? 0) < container.items.length) {
          replacer.replaceInItems(container.items, path, depth, inline);
          return true;
        }
        depth += 1;
      }
      if ((path[depth] ?? 0) < container.blocks.length) {
        replacer.replaceInBlocks(container.blocks, path, depth, inline);
        return true;
      }
      depth += 1;
    }
    return false;
  }
}

/**
 * True if a line is indented like the text of an item. Models often indent less: two columns for a bullet below a number, and three
 * below a number of several digits. An empty item ends at the second blank line.
 */
function isInsideItem(list: OpenList, line: MarkdownLine): boolean {
  const { item, isAfterBlankLine, isItemEmpty } = list;
  if (isAfterBlankLine && isItemEmpty) return false;
  if (line.indent >= item.contentIndent) return true;
  if (!item.ordered || line.indent < item.markerIndent + 2) return false;
  const next = line.indent < item.markerIndent + 3 ? parseListItemStart(line) : undefined;
  if (line.indent < item.markerIndent + 3 && next?.ordered !== false) return false;
  list.item = { ...item, contentIndent: line.indent };
  return true;
}

function toListItem({ blocks, isLoose, item: { checked } }: OpenList): ListItem {
  return { blocks, tight: !isLoose, ...(checked === undefined ? {} : { checked }) };
}
