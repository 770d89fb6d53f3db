import type { Block, ListItem } from "./blocks.ts";
import { indentOf, itemOf, type Fence, type ItemStart } from "./line-forms.ts";

type Table = Extract<Block, { type: "table" }>;

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
  | { type: "code"; fence: Fence; text: string; empty: boolean }
  | { type: "math"; closing: string; source: string; text: string }
  | Table;

export const none: Leaf = { type: "none" };

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
