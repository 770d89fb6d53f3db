import type { Inline } from "./blocks.ts";
import { inlineTags, type InlineTag } from "./html-forms.ts";

/** So many stars, underscores and tildes may be open at once, which bounds how deep the result can be. */
const mostOpen = 16;

/** Which stands as text at `at` until its partner comes. */
interface Run {
  at: number;
  /** A star, an underscore or a tilde, or the name of a tag. */
  char: string;
  count: number;
  /** It looks like the beginning of emphasis without its partner. */
  plain: boolean;
}

interface Bracket {
  at: number;
  image: boolean;
  /** Where its label begins in the text; undefined once that has a bracket in it. */
  label: number | undefined;
}

/** Inline nodes as they come, with what is still open among them. */
export class InlineNodes {
  #nodes: Inline[] = [];
  readonly #runs: Run[] = [];
  readonly #brackets: Bracket[] = [];
  /** A link holds no link: of the brackets so many are text already. */
  #dead = 0;

  add(node: Inline): void {
    this.#nodes.push(node);
  }

  text(text: string): void {
    if (text !== "") this.#nodes.push({ type: "text", text });
  }

  /** Stars, underscores or tildes between two characters. They close what they can, and open with what is left. */
  run(run: string, before: string, after: string): void {
    const char = run.charAt(0);
    let { length: count } = run;
    const touches = { before: before.trim() !== "", after: after.trim() !== "" };
    const word = { before: isWord(before), after: isWord(after) };
    // `a_b` is a name, `2*3` is a product.
    const closes = touches.before && !(char === "_" && word.after);
    const opens = touches.after && !(char === "_" && word.before);
    if (count > 3 || (char === "~" && count !== 2) || (isDigit(before) && isDigit(after))) {
      this.text(run);
      return;
    }
    if (closes) count -= this.#closeAll(char, count);
    if (count === 0) return;
    this.text(char.repeat(count));
    if (!opens) return;
    if (this.#runs.length === mostOpen) this.#runs.shift();
    const plain = !word.before && (word.after || count > 1);
    this.#runs.push({ at: this.#nodes.length - 1, char, count, plain });
  }

  /** `sub` opens, `/sub` closes the nearest one that is open; `written` is how it stands in the text. */
  tag(tag: string, written: string): void {
    if (tag.startsWith("/")) {
      const name = tag.slice(1);
      if (this.#hasOpen(name, 1)) this.#close(name, 1);
      else this.text(written);
      return;
    }
    this.text(written);
    if (this.#runs.length === mostOpen) this.#runs.shift();
    this.#runs.push({ at: this.#nodes.length - 1, char: tag, count: 1, plain: true });
  }

  /** What came since the bracket, and itself, is another node. */
  replaceBracket(node: Inline): void {
    const bracket = this.#brackets.at(-1);
    if (bracket === undefined) return;
    this.dropBracket();
    while ((this.#runs.at(-1)?.at ?? -1) > bracket.at) this.#runs.pop();
    this.#nodes.splice(bracket.at);
    this.#nodes.push(node);
  }

  openBracket(bracket: string, label: number): void {
    const outer = this.#brackets.at(-1);
    if (outer !== undefined) outer.label = undefined;
    this.text(bracket);
    this.#brackets.push({ at: this.#nodes.length - 1, image: bracket.startsWith("!"), label });
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
  closeBracket(url: string): void {
    const bracket = this.#brackets.at(-1);
    if (bracket === undefined) return;
    this.dropBracket();
    while ((this.#runs.at(-1)?.at ?? -1) > bracket.at) this.#runs.pop();
    const inside = joined(this.#nodes.splice(bracket.at + 1));
    this.#nodes.pop();
    if (bracket.image) {
      const text = textOf(inside) || url;
      this.#nodes.push({ type: "link", url, inline: [{ type: "text", text }], image: true });
    } else {
      this.#dead = this.#brackets.length;
      const inline = withoutLinks(inside);
      this.#nodes.push({
        type: "link",
        url,
        inline: inline.length > 0 ? inline : [{ type: "text", text: url }],
      });
    }
  }

  /** All. While it is `growing`, what is open is shown as if it were closed here. */
  end(growing: boolean): Inline[] {
    if (growing) this.#closeOpen();
    return joined(this.#nodes);
  }

  #closeOpen(): void {
    for (let run = this.#runs.at(-1); run !== undefined; run = this.#runs.at(-1)) {
      if (run.plain && run.count < 3) this.#close(run.char, run.count);
      else this.#runs.pop();
    }
  }

  /** As many as find a partner, of so many. */
  #closeAll(char: string, count: number): number {
    let closed = 0;
    for (;;) {
      const left = count - closed;
      const size = [2, 1].find((one) => one <= left && this.#hasOpen(char, one));
      if (size === undefined) return closed;
      this.#close(char, size);
      closed += size;
    }
  }

  #hasOpen(char: string, size: number): boolean {
    return this.#runs.some((run) => run.char === char && fits(run, size));
  }

  /** With the nearest partner. What was opened between them stays text. */
  #close(char: string, size: number): void {
    const place = this.#runs.findLastIndex((run) => run.char === char && fits(run, size));
    const run = this.#runs[place];
    if (run === undefined) return;
    const inline = joined(this.#nodes.splice(run.at + 1));
    this.#runs.length = place + 1;
    while ((this.#brackets.at(-1)?.at ?? -1) > run.at) this.dropBracket();
    run.count -= size;
    this.#nodes.pop();
    if (run.count === 0) this.#runs.pop();
    else this.text(char.repeat(run.count));
    if (inline.length > 0) this.#nodes.push({ type: typeOf(char, size), inline });
  }
}

/** A run of three has one and two in it. */
function fits({ count }: Run, size: number): boolean {
  return count === size || count === 3;
}

function typeOf(char: string, size: number): "strong" | "em" | "del" | InlineTag {
  const tag = inlineTags.find((name) => name === char);
  if (tag !== undefined) return tag;
  if (char === "~") return "del";
  return size === 2 ? "strong" : "em";
}

function isWord(character: string): boolean {
  return /[\p{L}\p{N}_]/u.test(character);
}

function isDigit(character: string): boolean {
  return /\d/.test(character);
}

/** Texts that stand side by side are one. What is left of the characters of cites goes. */
function joined(nodes: readonly Inline[]): Inline[] {
  const out: Inline[] = [];
  let text = "";
  const settle = () => {
    const clean = text.replaceAll(/[\u{FDD0}-\u{FDD2}]/gu, "");
    if (clean !== "") out.push({ type: "text", text: clean });
    text = "";
  };
  for (const node of nodes) {
    if (node.type === "text") text += node.text;
    else {
      settle();
      out.push(node);
    }
  }
  settle();
  return out;
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

function withoutLinks(nodes: readonly Inline[]): Inline[] {
  return joined(
    nodes.flatMap((node): Inline[] => {
      if (node.type === "link") return withoutLinks(node.inline);
      if (!("inline" in node)) return [node];
      return [{ ...node, inline: withoutLinks(node.inline) }];
    }),
  );
}
