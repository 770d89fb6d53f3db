import type { Block, ListItem } from "./blocks.ts";
import type { Definition } from "./definitions.ts";
import { indentOf, itemOf, type Fence, type ItemStart } from "./line-forms.ts";

export type Table = Extract<Block, { type: "table" }>;

interface Quote {
  type: "quote";
  blocks: Block[];
}

/** The last item is open, `blocks` are its. */
export interface List {
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

export type Container = Quote | List;

export type Leaf =
  | { type: "none" }
  /** `last` is where its last line begins. */
  | { type: "paragraph"; text: string; last: number }
  /** `text` is what a paragraph begins with if no more of it comes. */
  | { type: "definition"; definition: Definition; text: string }
  | { type: "code"; fence: Fence; text: string; empty: boolean }
  | { type: "math"; closing: string; source: string; text: string }
  | Table;

export const none: Leaf = { type: "none" };

export function paragraphOf(text: string): Leaf & { type: "paragraph" } {
  return { type: "paragraph", text, last: text.lastIndexOf("\n") + 1 };
}

/** What might define something, as what it is if it does not. */
export function asParagraph(leaf: Leaf): Leaf {
  return leaf.type === "definition" && leaf.text !== "" ? paragraphOf(leaf.text) : leaf;
}

/** Where in them the next block comes to stand. */
export function placeIn(containers: readonly Container[]): number[] {
  return containers.flatMap((one) =>
    one.type === "list" ? [one.items.length, one.blocks.length] : [one.blocks.length],
  );
}

/** What stands further in than an item's mark is the item's; after a blank line it must be clearly so. */
export function isInside({ item, blank }: List, line: string): boolean {
  const indent = indentOf(line);
  const clearly = Math.min(item.inner, item.own + 2);
  return indent >= clearly || (indent > item.own && !blank && itemOf(line) === undefined);
}

export function itemFrom({ blocks, loose, item: { checked } }: List): ListItem {
  return { blocks, tight: !loose, ...(checked === undefined ? {} : { checked }) };
}

/** While a text grows, a last line that looks like the head of a table is not shown before the next one tells. */
export function withoutHead(text: string, last: number): string {
  return text.slice(last).trimStart().startsWith("|") ? text.slice(0, Math.max(0, last - 1)) : text;
}
