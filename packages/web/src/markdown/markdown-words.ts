import type { Block, Inline, ListItem, Mark } from "@deltawire/tasks/markdown";
import { addressOf } from "../texts/address.ts";
import { markedPieces, textPieces } from "../texts/text-pieces.ts";

/** What a text of a block is for those who read: `end` stands behind all that is drawn in one line. */
type Role = "words" | "code" | "formula" | "picture" | "cite" | "address" | "break" | "end";

/** Is handed every text in the order of reading, and says what of it is marked. */
export type Marks = (text: string, role: Role) => readonly Mark[];

/** The words of blocks as they are compared, one line for each block: with where links lead and what is cited. */
export function comparedWords(blocks: readonly Block[]): string {
  let words = "";
  markedBlocks(blocks, (text) => {
    words += text;
    return none;
  });
  return words;
}

/** The words of blocks as they are drawn, in pieces that stand apart. A formula is one: it is drawn in other characters. */
export function drawnWords(blocks: readonly Block[]): string[] {
  const pieces: string[] = [];
  let line = "";
  markedBlocks(blocks, (text, role) => {
    if (role === "words" || role === "break") line += text;
    else if (role === "code") pieces.push(...textPieces(text).pieces);
    else if (role === "formula") pieces.push(text);
    else if (role === "end") {
      pieces.push(line);
      line = "";
    }
    return none;
  });
  return pieces.filter((piece) => piece !== "");
}

const none: readonly Mark[] = [];

export function markedBlocks(blocks: readonly Block[], marks: Marks): Block[] {
  return blocks.map((block) => markedBlock(block, marks));
}

function markedBlock(block: Block, marks: Marks): Block {
  switch (block.type) {
    case "paragraph":
    case "heading":
    case "footnote":
      return { ...block, inline: markedLine(block.inline, marks) };
    case "code": {
      const marked = marks(block.text, "code").filter(([start, end]) => start < end);
      marks("\n", "end");
      return marked.length === 0 ? block : { ...block, marks: marked };
    }
    case "math": {
      const [inline] = markedLine([{ type: "math", text: block.text }], marks);
      return inline?.type === "mark" ? { type: "paragraph", inline: [inline] } : block;
    }
    case "quote":
      return { ...block, blocks: markedBlocks(block.blocks, marks) };
    case "details": {
      const summary = markedLine(block.summary, marks);
      return { ...block, summary, blocks: markedBlocks(block.blocks, marks) };
    }
    case "list":
      return { ...block, items: block.items.map((item) => markedItem(item, marks)) };
    case "table": {
      const cells = (row: Inline[][]) => row.map((cell) => markedLine(cell, marks));
      return { ...block, head: cells(block.head), rows: block.rows.map(cells) };
    }
    default:
      return block;
  }
}

function markedItem(item: ListItem, marks: Marks): ListItem {
  return { ...item, blocks: markedBlocks(item.blocks, marks) };
}

function markedLine(inline: readonly Inline[], marks: Marks): Inline[] {
  const line = markedInline(inline, marks, "words");
  marks("\n", "end");
  return line;
}

function markedInline(nodes: readonly Inline[], marks: Marks, role: "words" | "picture"): Inline[] {
  return nodes.flatMap((node): Inline[] => {
    switch (node.type) {
      case "text":
      case "code": {
        const marked = marks(node.text, role);
        if (marked.length === 0) return [node];
        return markedPieces(node.text, marked).map((piece) => {
          const cut = { ...node, text: piece.text };
          return piece.marked ? { type: "mark", inline: [cut] } : cut;
        });
      }
      case "math":
        return marks(node.text, "formula").length === 0 ? [node] : whole(node);
      case "cite":
        return marks(`[^${node.reference}]`, "cite").length === 0 ? [node] : whole(node);
      case "footnote":
        return marks(`[^${node.label}]`, "cite").length === 0 ? [node] : whole(node);
      case "link":
      case "unlinked": {
        const within = isPicture(node) ? "picture" : role;
        const linked = { ...node, inline: markedInline(node.inline, marks, within) };
        const address = node.type === "link" ? node.url : node.destination;
        marks(" ", "address");
        return marks(address, "address").length === 0 ? [linked] : whole(node);
      }
      case "break":
        marks("\n", "break");
        return [node];
      default:
        return [{ ...node, inline: markedInline(node.inline, marks, role) }];
    }
  });
}

/** Drawn as such: of those elsewhere the name is read, as a link. */
function isPicture(node: Inline & { type: "link" | "unlinked" }): boolean {
  return node.type === "link" && node.image === true && addressOf(node.url).is === "here";
}

/** What cannot be marked in part. */
function whole(node: Inline): Inline[] {
  return [{ type: "mark", inline: [node] }];
}
