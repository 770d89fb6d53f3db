import type { Block, Inline, ListItem } from "./blocks.ts";
import {
  indentOf,
  isBlank,
  itemOf,
  quotedIn,
  withoutIndent,
  type ItemStart,
} from "./line-forms.ts";
import type { MadeAnew } from "./made-anew.ts";
import type { Place } from "./references.ts";

/** Quotes, folds and lists within one another, to any depth that a person would read. */
const deepest = 12;

interface Quote {
  type: "quote";
  blocks: Block[];
}

type Details = Extract<Block, { type: "details" }>;

/** The last item is open, `blocks` are its. */
interface List {
  type: "list";
  ordered: boolean;
  start: number;
  items: ListItem[];
  item: ItemStart;
  blocks: Block[];
  loose: boolean;
  /** Blank lines have come since the last line that was not. */
  blank: boolean;
}

/** The quotes, folds and lists that are open, each in the one before it, and the blocks that are finished before and in them. */
export class OpenContainers {
  readonly blocks: Block[];
  readonly #open: (Quote | Details | List)[];
  /** How many blocks stand before these. */
  readonly #before: number;

  constructor(blocks: Block[] = [], open: (Quote | Details | List)[] = [], before = 0) {
    this.blocks = blocks;
    this.#open = open;
    this.#before = before;
  }

  /** Goes on from here on its own, with no blocks yet. What is finished within what is open is shared. */
  branch(): OpenContainers {
    const open = this.#open.map((one) =>
      one.type === "list"
        ? { ...one, items: [...one.items], blocks: [...one.blocks] }
        : { ...one, blocks: [...one.blocks] },
    );
    return new OpenContainers([], open, this.blocks.length);
  }

  get depth(): number {
    return this.#open.length;
  }

  get mayNest(): boolean {
    return this.#open.length < deepest;
  }

  /** How many of them a line is in, and what of it stands there. */
  around(line: string, inFence: boolean): { depth: number; rest: string } {
    let rest = line;
    for (const [depth, container] of this.#open.entries()) {
      // A fold goes on to its closing tag.
      if (container.type === "details") continue;
      if (container.type === "quote") {
        const quoted = quotedIn(rest);
        if (quoted === undefined) return { depth, rest };
        rest = quoted;
      } else if (!isBlank(rest)) {
        // Code in an item goes on to its closing fence, however far out models write its lines.
        if (!inFence && !isInside(container, rest)) return { depth, rest };
        rest = withoutIndent(rest, container.item.inner);
      }
    }
    return { depth: this.#open.length, rest };
  }

  openQuote(): void {
    this.#open.push({ type: "quote", blocks: [] });
  }

  openDetails(open: boolean): void {
    this.#open.push({ type: "details", summary: [], open, blocks: [] });
  }

  /** True if the next thing may be what the innermost fold is called. */
  get awaitsSummary(): boolean {
    const inner = this.#open.at(-1);
    return inner?.type === "details" && inner.summary.length === 0 && inner.blocks.length === 0;
  }

  setSummary(summary: Inline[]): void {
    const inner = this.#open.at(-1);
    if (inner?.type === "details") inner.summary = summary;
  }

  get hasDetails(): boolean {
    return this.#open.some(({ type }) => type === "details");
  }

  /** The innermost fold, and all that is open in it. */
  closeDetails(): void {
    this.closeTo(this.#open.findLastIndex(({ type }) => type === "details"));
  }

  openList(item: ItemStart): void {
    const { ordered, start } = item;
    const empty = { items: [], blocks: [], loose: false, blank: false };
    this.#open.push({ type: "list", ordered, start, item, ...empty });
  }

  /** The next item, if the line begins one, of the list at this depth, which the line is no longer inside of. */
  nextItem(depth: number, line: string): ItemStart | undefined {
    const list = this.#open[depth];
    if (list?.type !== "list") return undefined;
    const item = itemOf(line);
    if (item === undefined || item.ordered !== list.ordered) return undefined;
    this.closeTo(depth + 1);
    list.loose ||= list.blank;
    list.items.push(itemFrom(list));
    Object.assign(list, { item, blocks: [], loose: list.blank, blank: false });
    return item;
  }

  closeTo(depth: number): void {
    while (this.#open.length > depth) {
      const container = this.#open.pop();
      if (container?.type === "quote" || container?.type === "details") this.add(container);
      else if (container !== undefined) {
        const { type, ordered, start, items } = container;
        items.push(itemFrom(container));
        this.add({ type, ordered, start, items });
      }
    }
  }

  noteBlank(): void {
    for (const one of this.#open) if (one.type === "list") one.blank = true;
  }

  /** A block after a blank line makes an item loose if both are directly in it. */
  settleBlank(): void {
    const inner = this.#open.at(-1);
    if (inner?.type === "list") inner.loose ||= inner.blank && inner.blocks.length > 0;
    for (const one of this.#open) if (one.type === "list") one.blank = false;
  }

  add(block: Block): void {
    (this.#open.at(-1)?.blocks ?? this.blocks).push(block);
  }

  /** Where the next block comes to stand. */
  get nextPlace(): number[] {
    const within = this.#open.flatMap((one) =>
      one.type === "list" ? [one.items.length, one.blocks.length] : [one.blocks.length],
    );
    return [this.#before + this.blocks.length, ...within];
  }

  /** Other text in what is finished. False: the place is in the leaf that is open in them. */
  remake(place: Place, inline: Inline[], anew: MadeAnew): boolean {
    const nth = (place[0] ?? 0) - this.#before;
    if (nth < this.blocks.length) {
      anew.inBlocks(this.blocks, place.with(0, nth), 0, inline);
      return true;
    }
    let depth = 1;
    for (const one of this.#open) {
      if (one.type === "list") {
        if ((place[depth] ?? 0) < one.items.length) {
          anew.inItems(one.items, place, depth, inline);
          return true;
        }
        depth += 1;
      }
      if ((place[depth] ?? 0) < one.blocks.length) {
        anew.inBlocks(one.blocks, place, depth, inline);
        return true;
      }
      depth += 1;
    }
    return false;
  }
}

/** What stands further in than an item's mark is the item's; after a blank line it must be clearly so. */
function isInside({ item, blank }: List, line: string): boolean {
  const indent = indentOf(line);
  const clearly = Math.min(item.inner, item.own + 2);
  return indent >= clearly || (indent > item.own && !blank && itemOf(line) === undefined);
}

function itemFrom({ blocks, loose, item: { checked } }: List): ListItem {
  return { blocks, tight: !loose, ...(checked === undefined ? {} : { checked }) };
}
