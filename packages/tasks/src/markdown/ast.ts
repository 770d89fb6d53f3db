/** Parsed Markdown. Text is plain text, including HTML; only the few tags below are parsed. */
export type MarkdownBlock =
  /** `html`: an HTML block, with its source as text. */
  | { type: "paragraph"; inline: MarkdownInline[]; html?: true }
  | { type: "heading"; level: HeadingLevel; inline: MarkdownInline[] }
  /** `closed` is false until the closing fence. */
  | { type: "code"; language: string; text: string; closed: boolean; marks?: readonly MarkRange[] }
  | { type: "math"; text: string; closed: boolean }
  | { type: "quote"; blocks: MarkdownBlock[] }
  /** `<details>`. The summary is empty if there is no `<summary>`. */
  | { type: "details"; summary: MarkdownInline[]; open: boolean; blocks: MarkdownBlock[] }
  /** The definition of a footnote, at its position in the text. */
  | { type: "footnote"; label: string; inline: MarkdownInline[] }
  | { type: "list"; ordered: boolean; start: number; items: ListItem[] }
  /** Rows have as many cells as the head; fewer only if the table would have more empty cells than characters. */
  | { type: "table"; head: MarkdownInline[][]; rows: MarkdownInline[][][]; align: ColumnAlign[] }
  | { type: "rule" };

export type TableBlock = Extract<MarkdownBlock, { type: "table" }>;

export type HeadingLevel = 1 | 2 | 3 | 4 | 5 | 6;

export type ColumnAlign = "left" | "center" | "right" | undefined;

/** `tight`: no blank lines before, in or after the item. `checked`: set if the item has a checkbox. */
export interface ListItem {
  blocks: MarkdownBlock[];
  tight: boolean;
  checked?: boolean;
}

/** A half-open range of the text to be highlighted, in UTF-16 units. Not created by the parser. */
export type MarkRange = readonly [start: number, end: number];

export type MarkdownInline =
  /** `html`: the source of a tag, a declaration or an HTML block. */
  | { type: "text"; text: string; html?: true }
  | { type: "code"; text: string }
  | { type: "math"; text: string }
  | { type: "strong" | "em" | "del" | "sub" | "sup" | "kbd"; inline: MarkdownInline[] }
  /** A reference to a footnote that is defined in the text. */
  | { type: "footnote"; label: string }
  /** A link to an `http:`, `https:` or `mailto:` URL or to a blob of the gateway. `image`: written as an image. */
  | { type: "link"; url: string; title?: string; inline: MarkdownInline[]; image?: true }
  /**
   * A link to any other destination, which must not be rendered as a link: a browser might execute it, or it is local to the
   * author.
   */
  | {
      type: "unlinked";
      destination: string;
      title?: string;
      inline: MarkdownInline[];
      image?: true;
    }
  | { type: "mark"; inline: MarkdownInline[] }
  | { type: "break" }
  | { type: "cite"; reference: number; resolved: boolean };
