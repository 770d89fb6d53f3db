import type { Inline } from "./blocks.ts";
import { joined, pairRuns, type Piece, type Run } from "./emphasis.ts";
import { isLinkable, type Target } from "./link-target.ts";

interface Bracket {
  at: number;
  image: boolean;
  /** Where its label begins in the text; undefined once that has a bracket in it. */
  label: number | undefined;
}

/** Inline nodes as they come, with the brackets that are still open among them. */
export class InlineNodes {
  readonly #pieces: Piece[] = [];
  readonly #brackets: Bracket[] = [];
  /** A link holds no link: of the brackets so many are text already. */
  #dead = 0;

  add(node: Inline): void {
    this.#pieces.push(node);
  }

  text(text: string): void {
    if (text !== "") this.#pieces.push({ type: "text", text });
  }

  addRun(run: Run): void {
    this.#pieces.push(run);
  }

  /** What came since the bracket, and itself, is another node. */
  replaceBracket(node: Inline): void {
    const bracket = this.#brackets.at(-1);
    if (bracket === undefined) return;
    this.dropBracket();
    this.#pieces.length = bracket.at;
    this.#pieces.push(node);
  }

  openBracket(bracket: string, label: number): void {
    const outer = this.#brackets.at(-1);
    if (outer !== undefined) outer.label = undefined;
    this.#brackets.push({ at: this.#pieces.length, image: bracket.startsWith("!"), label });
    this.text(bracket);
  }

  get labelFrom(): number | undefined {
    return this.#brackets.at(-1)?.label;
  }

  get bracketIsOpen(): boolean {
    const image = this.#brackets.at(-1)?.image;
    return image === true || (image === false && this.#brackets.length > this.#dead);
  }

  dropBracket(): void {
    this.#brackets.pop();
    this.#dead = Math.min(this.#dead, this.#brackets.length);
  }

  /** What came since the bracket is a link. */
  closeBracket(target: Target): void {
    const bracket = this.#brackets.at(-1);
    if (bracket === undefined) return;
    this.dropBracket();
    const inside = pairRuns(this.#pieces.splice(bracket.at + 1));
    this.#pieces.pop();
    if (bracket.image) {
      const text = textOf(inside) || target.destination;
      this.#pieces.push({ ...linkTo(target, text), image: true });
    } else {
      this.#dead = this.#brackets.length;
      const inline = withoutLinks(inside);
      const link = linkTo(target, inline.length > 0 ? "" : target.destination);
      if (inline.length > 0) link.inline = inline;
      this.#pieces.push(link);
    }
  }

  /** All. While it is `growing`, what is open is shown as if it were closed here. */
  end(growing: boolean): Inline[] {
    return pairRuns(this.#pieces, growing);
  }
}

type Link = Inline & { type: "link" | "unlinked" };

export function linkTo({ destination, title }: Target, text: string): Link {
  const inline: Inline[] = text === "" ? [] : [{ type: "text", text }];
  const link: Link = isLinkable(destination)
    ? { type: "link", url: destination, inline }
    : { type: "unlinked", destination, inline };
  return title === undefined ? link : { ...link, title };
}

/** The words alone. */
function textOf(nodes: readonly Inline[]): string {
  return nodes
    .map((node) => {
      switch (node.type) {
        case "text":
        case "code":
        case "math":
          return node.text;
        case "break":
          return " ";
        case "cite":
          return `[^${node.reference}]`;
        case "footnote":
          return `[^${node.label}]`;
        default:
          return textOf(node.inline);
      }
    })
    .join("");
}

/** What stands in a link leads nowhere else: an address is text, a picture is not followed. */
function withoutLinks(nodes: Inline[]): Inline[] {
  if (nodes.length === 1 && nodes[0]?.type === "text") return nodes;
  return joined(
    nodes.flatMap((node): Inline[] => {
      if (!("inline" in node)) return [node];
      const inline = withoutLinks(node.inline);
      if (node.type !== "link") return [{ ...node, inline }];
      const { url, title, image } = node;
      if (!image) return inline;
      const titled = title === undefined ? {} : { title };
      return [{ type: "unlinked", destination: url, inline, image, ...titled }];
    }),
  );
}
