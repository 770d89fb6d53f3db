/** Markdown as data. Text is text: nothing in it has a meaning any more, HTML included, but for the few tags below. */
export type Block =
  /** `html`: a block of HTML, whose source is its only text. */
  | { type: "paragraph"; inline: Inline[]; html?: true }
  | { type: "heading"; level: HeadingLevel; inline: Inline[] }
  /** `closed` is false while the closing fence has not come. */
  | { type: "code"; language: string; text: string; closed: boolean; marks?: readonly Mark[] }
  | { type: "math"; text: string; closed: boolean }
  | { type: "quote"; blocks: Block[] }
  /** `<details>`; without a `<summary>` that is empty. */
  | { type: "details"; summary: Inline[]; open: boolean; blocks: Block[] }
  /** What a footnote says, where it was written. */
  | { type: "footnote"; label: string; inline: Inline[] }
  | { type: "list"; ordered: boolean; start: number; items: ListItem[] }
  /** A row has as many cells as the head; fewer only if a table would have more empty cells than characters. */
  | { type: "table"; head: Inline[][]; rows: Inline[][][]; sides: Side[] }
  | { type: "rule" };

export type Table = Extract<Block, { type: "table" }>;

export type HeadingLevel = 1 | 2 | 3 | 4 | 5 | 6;

export type Side = "left" | "center" | "right" | undefined;

/** `tight`: no blank line stands before, in or behind it. `checked` is there if the item has a box to tick. */
export interface ListItem {
  blocks: Block[];
  tight: boolean;
  checked?: boolean;
}

/** A half-open range of a text, in UTF-16 units. No Markdown has marks: they are put in where something is pointed out. */
export type Mark = readonly [start: number, end: number];

export type Inline =
  /** `html`: a tag, a declaration or a block of HTML, to be shown as it is written. */
  | { type: "text"; text: string; html?: true }
  | { type: "code"; text: string }
  | { type: "math"; text: string }
  | { type: "strong" | "em" | "del" | "sub" | "sup" | "kbd"; inline: Inline[] }
  /** Of a footnote that the text has. */
  | { type: "footnote"; label: string }
  /** `http:`, `https:` and `mailto:` alone, or a blob of the gateway. `image`: it was written as a picture. */
  | { type: "link"; url: string; title?: string; inline: Inline[]; image?: true }
  /** A link that must not be followed: a browser might run it, or only the writer's machine has the place. */
  | { type: "unlinked"; destination: string; title?: string; inline: Inline[]; image?: true }
  | { type: "mark"; inline: Inline[] }
  | { type: "break" }
  | { type: "cite"; reference: number; resolved: boolean };
