import type { MarkdownInline } from "./ast.ts";
import { inlineTags, type InlineTag } from "./html-patterns.ts";

/** Maximum number of open delimiters. Limits the depth of the result. */
const maxOpenRuns = 16;

/** A run of asterisks, underscores or tildes, or a tag. */
export interface DelimiterRun {
  type: "run";
  /** The delimiter character, or the name of the tag. */
  delimiter: string;
  /** The source text. */
  source: string;
  count: number;
  canOpen: boolean;
  canClose: boolean;
  /** True if, in streaming text, the run looks like the start of emphasis whose end has not arrived yet. */
  looksLikeOpener: boolean;
}

/** Inline nodes, and delimiter runs that are not matched yet. */
export type InlinePiece = MarkdownInline | DelimiterRun;

/** Classifies a run of asterisks, underscores or tildes by the characters next to it. Returns undefined for plain text. */
export function createDelimiterRun(
  source: string,
  characterBefore: string,
  characterAfter: string,
): DelimiterRun | undefined {
  const char = source.charAt(0);
  const { length: count } = source;
  if (count > (char === "~" ? 2 : maxOpenRuns)) return undefined;
  const [kindBefore, kindAfter] = [
    classifyCharacter(characterBefore),
    classifyCharacter(characterAfter),
  ];
  // `2*3` is a product.
  if (kindBefore === "digit" && kindAfter === "digit") return undefined;
  const { opens: canOpen, closes: canClose } = computeFlanking(
    char,
    characterBefore,
    kindBefore,
    kindAfter,
  );
  if (!canOpen && !canClose) return undefined;
  const looksLikeOpener =
    !isWordCharacter(characterBefore, kindBefore) &&
    (isWordCharacter(characterAfter, kindAfter) || count > 1);
  return { type: "run", delimiter: char, source, count, canOpen, canClose, looksLikeOpener };
}

/** Creates a run for an inline tag: `sub` opens, `/sub` closes the innermost open `sub`. */
export function createTagRun(tag: string, source: string): DelimiterRun {
  const canClose = tag.startsWith("/");
  const delimiter = canClose ? tag.slice(1) : tag;
  return {
    type: "run",
    delimiter,
    source,
    count: 1,
    canOpen: !canClose,
    canClose,
    looksLikeOpener: true,
  };
}

/**
 * Returns whether a run can open or close emphasis. These are the rules of CommonMark with two exceptions for what models write:
 * emphasis may start directly after a letter of a script without spaces, and it may end after punctuation that a word directly
 * follows.
 */
function computeFlanking(
  char: string,
  characterBefore: string,
  kindBefore: CharacterKind,
  kindAfter: CharacterKind,
): { opens: boolean; closes: boolean } {
  const [isPunctuationBefore, isPunctuationAfter] = [
    kindBefore === "punctuation",
    kindAfter === "punctuation",
  ];
  const isLeftFlanking =
    kindAfter !== "whitespace" &&
    (!isPunctuationAfter || kindBefore === "whitespace" || isPunctuationBefore);
  const isRightFlanking =
    kindBefore !== "whitespace" &&
    (!isPunctuationBefore || kindAfter === "whitespace" || isPunctuationAfter);
  if (char === "_")
    return {
      opens: isLeftFlanking && (!isRightFlanking || isPunctuationBefore),
      closes: isRightFlanking && (!isLeftFlanking || isPunctuationAfter),
    };
  return {
    opens: isLeftFlanking || (isPunctuationAfter && unspacedScripts.test(characterBefore)),
    closes: isRightFlanking || (isPunctuationBefore && closingPunctuation.test(characterBefore)),
  };
}

const unspacedScripts =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const closingPunctuation = /[.,:;!?)\]}%\p{Pe}\p{Pf}。，、；：！？…]/u;

type CharacterKind = "whitespace" | "punctuation" | "digit" | "letter";

function classifyCharacter(character: string): CharacterKind {
  const code = character.charCodeAt(0);
  if (code < 128) return asciiCharacterKinds[code] ?? "letter";
  if (character === "" || /^\s/.test(character)) return "whitespace";
  return /^[\p{P}\p{S}]/u.test(character) ? "punctuation" : "letter";
}

const asciiCharacterKinds = Array.from({ length: 128 }, (_, code): CharacterKind => {
  const character = String.fromCharCode(code);
  if (/\s/.test(character)) return "whitespace";
  if (/\d/.test(character)) return "digit";
  return /[!-/:-@[-`{-~]/.test(character) ? "punctuation" : "letter";
});

function isWordCharacter(character: string, kind: CharacterKind): boolean {
  return kind === "digit" || character === "_" || (kind === "letter" && character > " ");
}

interface OpenDelimiterRun extends DelimiterRun {
  /** Index of its text in `nodes`. */
  nodeIndex: number;
  /** Increases with each opened run. */
  order: number;
  /** Number of unmatched characters. */
  remaining: number;
}

/** Matches the runs; unmatched ones become text. `isStreaming`: open emphasis is shown as if it were closed at the end. */
export function resolveRuns(pieces: readonly InlinePiece[], isStreaming = false): MarkdownInline[] {
  if (pieces.every(isInlineNode)) return mergeTexts(pieces);
  const resolver = new RunResolver();
  for (const piece of pieces) {
    if (piece.type === "run") resolver.addRun(piece);
    else resolver.nodes.push(piece);
  }
  if (isStreaming) resolver.closeOpenRuns();
  return mergeTexts(resolver.nodes);
}

function isInlineNode(piece: InlinePiece): piece is MarkdownInline {
  return piece.type !== "run";
}

class RunResolver {
  nodes: MarkdownInline[] = [];
  #openRuns: OpenDelimiterRun[] = [];
  #nextOrder = 0;
  /**
   * By kind of closing run, the lowest `order` of a run that can match it (`openers_bottom` in CommonMark). Keeps the search
   * linear.
   */
  readonly #openersBottoms = new Map<string, number>();

  addRun(run: DelimiterRun): void {
    const remaining = run.count - (run.canClose ? this.#matchClosingRun(run) : 0);
    if (remaining === 0) return;
    this.#addText(remaining === run.count ? run.source : run.delimiter.repeat(remaining));
    if (!run.canOpen) return;
    this.#nextOrder += 1;
    this.#openRuns.push({
      ...run,
      nodeIndex: this.nodes.length - 1,
      order: this.#nextOrder,
      remaining,
    });
    while (this.#openCount() > maxOpenRuns) this.#openRuns.shift();
  }

  /** Closes the open runs that look like openers. */
  closeOpenRuns(): void {
    for (let run = this.#openRuns.at(-1); run !== undefined; run = this.#openRuns.at(-1)) {
      if (run.looksLikeOpener && run.remaining < 3)
        this.#close(this.#openRuns.length - 1, run.remaining);
      else this.#openRuns.pop();
    }
  }

  /** Matches a closing run with open runs. Returns the number of matched characters. */
  #matchClosingRun(run: DelimiterRun): number {
    const kind = `${run.delimiter}${run.canOpen ? "o" : ""}${run.count % 3}`;
    let closedCount = 0;
    while (closedCount < run.count) {
      const bottom = this.#openersBottoms.get(kind) ?? 0;
      const unmatched = run.count - closedCount;
      const openIndex = this.#openRuns.findLastIndex(
        (open) => open.order < bottom || isPartner(open, run, unmatched),
      );
      const partner = this.#openRuns[openIndex];
      if (partner === undefined || partner.order < bottom) {
        this.#openersBottoms.set(kind, this.#nextOrder + 1);
        break;
      }
      const size = run.delimiter === "~" ? unmatched : Math.min(2, unmatched, partner.remaining);
      this.#close(openIndex, size);
      closedCount += size;
    }
    return closedCount;
  }

  /** Closes `size` characters of an open run. Runs that were opened after it become text. */
  #close(openIndex: number, size: number): void {
    const run = this.#openRuns[openIndex];
    if (run === undefined) return;
    const inline = mergeTexts(this.nodes.splice(run.nodeIndex + 1));
    this.nodes.pop();
    this.#openRuns.length = openIndex + 1;
    run.remaining -= size;
    if (run.remaining === 0) this.#openRuns.pop();
    else this.#addText(run.delimiter.repeat(run.remaining));
    if (inline.length > 0) this.nodes.push({ type: getNodeType(run.delimiter, size), inline });
  }

  #openCount(): number {
    let count = 0;
    for (const { remaining } of this.#openRuns) count += remaining;
    return count;
  }

  #addText(text: string): void {
    this.nodes.push({ type: "text", text });
  }
}

/** True if two runs match. By the "multiple of 3" rule of CommonMark, the inner run of `*foo**bar*` has no partner. */
function isPartner(open: OpenDelimiterRun, run: DelimiterRun, unmatched: number): boolean {
  if (open.delimiter !== run.delimiter) return false;
  if (run.delimiter === "~") return open.remaining === unmatched;
  const canOpenAndClose = open.canClose || run.canOpen;
  return (
    !canOpenAndClose ||
    (open.count + run.count) % 3 !== 0 ||
    (open.count % 3 === 0 && run.count % 3 === 0)
  );
}

function getNodeType(delimiter: string, size: number): "strong" | "em" | "del" | InlineTag {
  const tag = inlineTags.find((name) => name === delimiter);
  if (tag !== undefined) return tag;
  if (delimiter === "~") return "del";
  return size === 2 ? "strong" : "em";
}

/** Joins adjacent text nodes. */
export function mergeTexts(nodes: readonly MarkdownInline[]): MarkdownInline[] {
  const mergedNodes: MarkdownInline[] = [];
  let last: (MarkdownInline & { type: "text" }) | undefined;
  for (const node of nodes) {
    if (node.type !== "text" || node.html) {
      mergedNodes.push(node);
      last = undefined;
    } else if (last !== undefined) last.text += node.text;
    else if (node.text !== "") {
      last = { type: "text", text: node.text };
      mergedNodes.push(last);
    }
  }
  return mergedNodes;
}
