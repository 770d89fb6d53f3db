import type { Block, Inline, ListItem } from "./blocks.ts";
import { itemOf, quotedIn, type ItemStart, type Line } from "./line-forms.ts";
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
  /** Nothing has been written in the item yet. */
  empty: boolean;
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
  around(line: Line, inFence: boolean): { depth: number; rest: Line } {
    let rest = line;
    for (const [depth, container] of this.#open.entries()) {
      // A fold goes on to its closing tag.
      if (container.type === "details") continue;
      if (container.type === "quote") {
        const quoted = quotedIn(rest);
        if (quoted === undefined) return { depth, rest };
        rest = quoted;
      } else if (!rest.isBlank) {
        // Code in an item goes on to its closing fence, however far out models write its lines.
        if (!inFence && !isInside(container, rest)) return { depth, rest };
        rest = rest.without(container.item.inner);
      }
    }
    return { depth: this.#open.length, rest };
  }

  /** Whether a line stands further in than the mark of the item at this depth, which it is not inside of. */
  isFurtherIn(depth: number, line: Line): boolean {
    const list = this.#open[depth];
    return list?.type === "list" && !list.blank && line.indent > list.item.own;
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
    const begun = { items: [], blocks: [], loose: false, blank: false, empty: true };
    this.#open.push({ type: "list", ordered, start, item, ...begun });
  }

  /** The next item, if the line begins one, of the list at this depth, which the line is no longer inside of. */
  nextItem(depth: number, line: Line): ItemStart | undefined {
    const list = this.#open[depth];
    if (list?.type !== "list") return undefined;
    const item = itemOf(line);
    if (item === undefined || item.delimiter !== list.item.delimiter) return undefined;
    this.closeTo(depth + 1);
    list.loose ||= list.blank;
    list.items.push(itemFrom(list));
    Object.assign(list, { item, blocks: [], loose: list.blank, blank: false, empty: true });
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

  /** A blank line in a quote is none of the lists around it. */
  noteBlank(): void {
    const quote = this.#open.findLastIndex(({ type }) => type === "quote");
    for (const one of this.#open.slice(quote + 1)) if (one.type === "list") one.blank = true;
  }

  /** A block after a blank line makes an item loose if both are directly in it. */
  settleBlank(): void {
    const inner = this.#open.at(-1);
    if (inner?.type === "list") inner.loose ||= inner.blank && !inner.empty;
    for (const one of this.#open)
      if (one.type === "list") {
        one.blank = false;
        one.empty = false;
      }
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

/**
 * What stands as far in as an item's text is the item's. Models often write less: two columns before a bullet below a number,
 * and three below a number of several digits. An item that begins with a blank line and goes on with another is over.
 */
function isInside(list: List, line: Line): boolean {
  const { item, blank, empty } = list;
  if (blank && empty) return false;
  if (line.indent >= item.inner) return true;
  if (!item.ordered || line.indent < item.own + 2) return false;
  const next = line.indent < item.own + 3 ? itemOf(line) : undefined;
  if (line.indent < item.own + 3 && next?.ordered !== false) return false;
  list.item = { ...item, inner: line.indent };
  return true;
}

function itemFrom({ blocks, loose, item: { checked } }: List): ListItem {
  return { blocks, tight: !loose, ...(checked === undefined ? {} : { checked }) };
}
