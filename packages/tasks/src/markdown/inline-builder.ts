import type { MarkdownInline } from "./ast.ts";
import { mergeTexts, resolveRuns, type InlinePiece, type DelimiterRun } from "./emphasis.ts";
import { isLinkable, type LinkTarget } from "./link-target.ts";

interface OpenBracket {
  pieceIndex: number;
  isImage: boolean;
  /** Position of the label in the text. Undefined if the label contains a bracket. */
  labelStart: number | undefined;
}

/** Collects inline nodes and open brackets. */
export class InlineBuilder {
  readonly #pieces: InlinePiece[] = [];
  readonly #brackets: OpenBracket[] = [];
  /** Number of open brackets that cannot become links, because links cannot be nested. */
  #inactiveCount = 0;

  add(node: MarkdownInline): void {
    this.#pieces.push(node);
  }

  addText(text: string): void {
    if (text !== "") this.#pieces.push({ type: "text", text });
  }

  addRun(run: DelimiterRun): void {
    this.#pieces.push(run);
  }

  /** Replaces the innermost open bracket and everything after it with a node. */
  replaceBracket(node: MarkdownInline): void {
    const bracket = this.#brackets.at(-1);
    if (bracket === undefined) return;
    this.dropBracket();
    this.#pieces.length = bracket.pieceIndex;
    this.#pieces.push(node);
  }

  openBracket(bracket: string, labelStart: number): void {
    const outer = this.#brackets.at(-1);
    if (outer !== undefined) outer.labelStart = undefined;
    this.#brackets.push({
      pieceIndex: this.#pieces.length,
      isImage: bracket.startsWith("!"),
      labelStart,
    });
    this.addText(bracket);
  }

  /** Position of the label of the innermost open bracket. Undefined if there is none, or if the label contains a bracket. */
  get labelStart(): number | undefined {
    return this.#brackets.at(-1)?.labelStart;
  }

  /** True if the innermost open bracket can become a link or an image. */
  get isBracketOpen(): boolean {
    const image = this.#brackets.at(-1)?.isImage;
    return image === true || (image === false && this.#brackets.length > this.#inactiveCount);
  }

  /** Closes the innermost open bracket, which remains text. */
  dropBracket(): void {
    this.#brackets.pop();
    this.#inactiveCount = Math.min(this.#inactiveCount, this.#brackets.length);
  }

  /** Turns everything since the innermost open bracket into a link or image. */
  closeBracket(target: LinkTarget): void {
    const bracket = this.#brackets.at(-1);
    if (bracket === undefined) return;
    this.dropBracket();
    const innerNodes = resolveRuns(this.#pieces.splice(bracket.pieceIndex + 1));
    this.#pieces.pop();
    if (bracket.isImage) {
      const text = nodesToText(innerNodes) || target.destination;
      this.#pieces.push({ ...createLink(target, text), image: true });
    } else {
      this.#inactiveCount = this.#brackets.length;
      const inline = unwrapLinks(innerNodes);
      const link = createLink(target, inline.length > 0 ? "" : target.destination);
      if (inline.length > 0) link.inline = inline;
      this.#pieces.push(link);
    }
  }

  /** Returns all nodes. `isStreaming`: open emphasis is shown as if it were closed at the end. */
  end(isStreaming: boolean): MarkdownInline[] {
    return resolveRuns(this.#pieces, isStreaming);
  }
}

type Link = MarkdownInline & { type: "link" | "unlinked" };

export function createLink({ destination, title }: LinkTarget, text: string): Link {
  const inline: MarkdownInline[] = text === "" ? [] : [{ type: "text", text }];
  const link: Link = isLinkable(destination)
    ? { type: "link", url: destination, inline }
    : { type: "unlinked", destination, inline };
  return title === undefined ? link : { ...link, title };
}

/** Returns the plain text. */
function nodesToText(nodes: readonly MarkdownInline[]): string {
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
          return nodesToText(node.inline);
      }
    })
    .join("");
}

/** Removes links inside a link: autolinks become text, images are not linked. */
function unwrapLinks(nodes: MarkdownInline[]): MarkdownInline[] {
  if (nodes.length === 1 && nodes[0]?.type === "text") return nodes;
  return mergeTexts(
    nodes.flatMap((node): MarkdownInline[] => {
      if (!("inline" in node)) return [node];
      const inline = unwrapLinks(node.inline);
      if (node.type !== "link") return [{ ...node, inline }];
      const { url, title, image } = node;
      if (!image) return inline;
      const titleField = title === undefined ? {} : { title };
      return [{ type: "unlinked", destination: url, inline, image, ...titleField }];
    }),
  );
}
