import { findAutolinks, type Autolink } from "./autolinks.ts";
import type { MarkdownInline } from "./ast.ts";
import { restoreMarkers, citationPattern, parseCitation } from "./citation-marks.ts";
import { createDelimiterRun, createTagRun } from "./emphasis.ts";
import { BacktickRuns } from "./backtick-runs.ts";
import { entityPattern, decodeEntity } from "./entities.ts";
import { parseFootnoteLabel, footnoteKey } from "./footnotes.ts";
import { tagPattern, commentClosing, commentOpening, inlineTagPattern } from "./html-patterns.ts";
import { InlineBuilder, createLink } from "./inline-builder.ts";
import { parseBrackets, normalizeLabel } from "./link-labels.ts";
import { parseInlineTarget, type LinkTarget } from "./link-target.ts";
import { completeTail } from "./streaming-tail.ts";

/** Returns the target of a label. `isLink`: the syntax around the label can only be that of a link. */
export type ResolveLabel = (label: string, isLink?: boolean) => LinkTarget | undefined;

/** Parses the text of a block. `isStreaming`: unfinished syntax at the end is shown as if it were complete. */
export function parseInline(
  source: string,
  isStreaming: boolean,
  resolveLabel: ResolveLabel,
): MarkdownInline[] {
  const text = isStreaming ? completeTail(source) : source;
  if (!specialCharacters.test(text)) return text === "" ? [] : [{ type: "text", text }];
  return new InlineParser(text, isStreaming, resolveLabel).parse();
}

/** Texts without these characters need no parsing: most table cells and many paragraphs. */
const specialCharacters = /[`\\[\]<*_~$&@\uFDD0-\uFDD2]|:\/\/|[wW]{3}\.|[ \t]\n/;

/** By ASCII code: true for characters that may start or end syntax. */
const isSpecialCharacter = Array.from({ length: 128 }, (_, code) =>
  "`\\![]<*_~$&\n".includes(String.fromCharCode(code)),
);

/**
 * Parses text in one pass from left to right. Searches for closing delimiters start at increasing positions, so that the time
 * is linear for any input.
 */
class InlineParser {
  readonly #text: string;
  readonly #isStreaming: boolean;
  readonly #resolveLabel: ResolveLabel;
  readonly #nodes = new InlineBuilder();
  #searches: Map<string, ForwardSearch> | undefined;
  #codeRuns: BacktickRuns | undefined;
  /** Everything before this position has become nodes. */
  #consumed = 0;

  constructor(text: string, isStreaming: boolean, resolveLabel: ResolveLabel) {
    this.#text = text;
    this.#isStreaming = isStreaming;
    this.#resolveLabel = resolveLabel;
  }

  parse(): MarkdownInline[] {
    const text = this.#text;
    const autolinks = findAutolinks(text)[Symbol.iterator]();
    let autolink = autolinks.next().value;
    for (let position = 0; position < text.length;) {
      while (autolink !== undefined && autolink.start < position) autolink = autolinks.next().value;
      const code = text.charCodeAt(position);
      if (autolink?.start === position) position = this.#readAutolink(autolink);
      else if (code < 128 ? isSpecialCharacter[code] : code >= 0xfdd0 && code <= 0xfdd2)
        position = this.#readSpecial(position, text.charAt(position));
      else position += 1;
    }
    this.#flushText(text.length);
    return this.#nodes.end(this.#isStreaming);
  }

  /** Handles a special character. Returns the position to continue at. */
  #readSpecial(position: number, char: string): number {
    switch (char) {
      case "`":
        return this.#readCode(position);
      case "\\":
        return this.#readEscape(position);
      case "!":
        return this.#text.charAt(position + 1) === "["
          ? this.#openBracket(position, "![")
          : position + 1;
      case "[":
        return this.#openBracket(position, "[");
      case "]":
        return this.#closeBracket(position);
      case "<":
        return this.#readAngle(position);
      case "*":
      case "_":
      case "~":
        return this.#readRun(position, char);
      case "$":
        return this.#readDollars(position);
      case "&":
        return this.#readEntity(position);
      case "\n":
        return this.#readLineEnd(position);
      default:
        return this.#readCite(position);
    }
  }

  /** Adds the text between the last node and a position. */
  #flushText(position: number): void {
    if (position > this.#consumed) this.#nodes.addText(this.#text.slice(this.#consumed, position));
    this.#consumed = position;
  }

  #add(node: MarkdownInline, position: number, end: number): number {
    this.#flushText(position);
    this.#nodes.add(node);
    this.#consumed = end;
    return end;
  }

  #readAutolink({ start, end, url, text }: Autolink): number {
    return this.#add(createLink({ destination: url }, text), start, end);
  }

  #readCode(position: number): number {
    const text = this.#text;
    let from = position;
    while (text.charAt(from) === "`") from += 1;
    this.#codeRuns ??= new BacktickRuns(text);
    const end = this.#codeRuns.findNext(from - position, from);
    if (end === undefined) return from;
    const code = restoreMarkers(stripPadding(text.slice(from, end)));
    return this.#add({ type: "code", text: code }, position, end + from - position);
  }

  #readEscape(position: number): number {
    const escapedCharacter = this.#text.charAt(position + 1);
    if (escapedCharacter === "\n") return this.#add({ type: "break" }, position, position + 2);
    if (!escapableCharacter.test(escapedCharacter)) return position + 1;
    const formula =
      escapedCharacter === "("
        ? this.#findFormula(position + 2, String.raw`\)`)
        : escapedCharacter === "["
          ? toFormula(this.#findFormula(position + 2, String.raw`\]`))
          : undefined;
    if (formula !== undefined) return this.#addFormula(formula, position, 2);
    this.#flushText(position);
    this.#consumed = position + 1;
    return position + 2;
  }

  #readDollars(position: number): number {
    if (this.#text.charAt(position + 1) === "$") {
      const formula = this.#findFormula(position + 2, "$$");
      return formula === undefined ? position + 2 : this.#addFormula(formula, position, 2);
    }
    const formula = this.#findDollarFormula(position + 1);
    return formula === undefined ? position + 1 : this.#addFormula(formula, position, 1);
  }

  #addFormula(formula: string, position: number, delimiterLength: number): number {
    const end = position + formula.length + 2 * delimiterLength;
    return this.#add({ type: "math", text: restoreMarkers(formula.trim()) }, position, end);
  }

  #findFormula(from: number, closing: string): string | undefined {
    const end = this.#findNext(closing, from);
    const formula = end === undefined ? "" : this.#text.slice(from, end);
    return formula.trim() === "" ? undefined : formula;
  }

  /** Finds a formula between `$`: no spaces next to the `$` inside, no word characters outside. `$5 or 6$` is money. */
  #findDollarFormula(from: number): string | undefined {
    const text = this.#text;
    const end = this.#findNext("$", from);
    if (end === undefined || /[\w$\\]/.test(text.charAt(from - 2))) return undefined;
    const formula = text.slice(from, end);
    if (formula === "" || formula !== formula.trim() || formula.endsWith("\\")) return undefined;
    if (/[\w$]/.test(text.charAt(end + 1))) return undefined;
    return /^\d/.test(formula) && /[A-Za-z]{3}/.test(formula) && !/[\\^_={}]/.test(formula)
      ? undefined
      : formula;
  }

  #readAngle(position: number): number {
    const [match = "", scheme, mail, br, tag, html, comment, declaration] =
      matchAt(angleRegExp, this.#text, position) ?? [];
    const end = position + match.length;
    if (scheme !== undefined) {
      const url = restoreMarkers(scheme);
      return this.#add(createLink({ destination: url }, url), position, end);
    }
    if (mail !== undefined)
      return this.#add(createLink({ destination: `mailto:${mail}` }, mail), position, end);
    if (br !== undefined) return this.#add({ type: "break" }, position, end);
    if (tag !== undefined) {
      this.#flushText(position);
      this.#nodes.addRun(createTagRun(tag.toLowerCase(), match));
      this.#consumed = end;
      return end;
    }
    if (html !== undefined) return this.#addHtml(position, end);
    if (comment !== undefined) return this.#readComment(position);
    return declaration === undefined ? position + 1 : this.#readDeclaration(position, declaration);
  }

  #addHtml(position: number, end: number): number {
    const text = restoreMarkers(this.#text.slice(position, end));
    return this.#add({ type: "text", text, html: true }, position, end);
  }

  #readComment(position: number): number {
    // `<!-->` and `<!--->` are complete comments.
    const closing = this.#findNext(commentClosing, position + 2);
    if (closing === undefined && !this.#isStreaming) return position + commentOpening.length;
    this.#flushText(position);
    this.#consumed = closing === undefined ? this.#text.length : closing + commentClosing.length;
    return this.#consumed;
  }

  #readDeclaration(position: number, opening: string): number {
    const closing = opening === "<?" ? "?>" : opening === "<![CDATA[" ? "]]>" : ">";
    const end = this.#findNext(closing, position + opening.length);
    return end === undefined
      ? position + opening.length
      : this.#addHtml(position, end + closing.length);
  }

  #readRun(position: number, char: string): number {
    const text = this.#text;
    let end = position + 1;
    while (text.charAt(end) === char) end += 1;
    const run = createDelimiterRun(
      text.slice(position, end),
      characterBefore(text, position),
      characterAt(text, end),
    );
    if (run === undefined) return end;
    this.#flushText(position);
    this.#nodes.addRun(run);
    this.#consumed = end;
    return end;
  }

  #readEntity(position: number): number {
    const [match, entity] = matchAt(entityRegExp, this.#text, position) ?? [];
    if (match === undefined || entity === undefined) return position + 1;
    return this.#add(
      { type: "text", text: decodeEntity(entity) },
      position,
      position + match.length,
    );
  }

  /** Two spaces before a line ending make a hard break; other trailing spaces are removed. */
  #readLineEnd(position: number): number {
    const text = this.#text;
    let contentEnd = position;
    while (contentEnd > this.#consumed && /[ \t]/.test(text.charAt(contentEnd - 1)))
      contentEnd -= 1;
    if (text.endsWith("  ", position) && contentEnd < position - 1)
      return this.#add({ type: "break" }, contentEnd, position + 1);
    if (contentEnd < position) {
      this.#flushText(contentEnd);
      this.#consumed = position;
    }
    return position + 1;
  }

  /** Reads a citation. An unresolved number may refer to a footnote. Incomplete citation marks are removed. */
  #readCite(position: number): number {
    const cite = matchAt(citationRegExp, this.#text, position)?.[0];
    if (cite === undefined) {
      this.#flushText(position);
      this.#consumed = position + 1;
      return position + 1;
    }
    const { reference, resolved } = parseCitation(cite);
    const label = String(reference);
    const isFootnote = !resolved && this.#resolveLabel(footnoteKey(label)) !== undefined;
    const node: MarkdownInline = isFootnote
      ? { type: "footnote", label }
      : { type: "cite", reference, resolved };
    return this.#add(node, position, position + cite.length);
  }

  #openBracket(position: number, bracket: string): number {
    this.#flushText(position);
    this.#consumed = position + bracket.length;
    this.#nodes.openBracket(bracket, this.#consumed);
    return this.#consumed;
  }

  #closeBracket(position: number): number {
    const nodes = this.#nodes;
    const from = nodes.labelStart;
    const footnoteLabel =
      from === undefined ? undefined : parseFootnoteLabel(this.#text, from, position);
    if (
      footnoteLabel !== undefined &&
      this.#resolveLabel(footnoteKey(footnoteLabel)) !== undefined
    ) {
      nodes.replaceBracket({ type: "footnote", label: footnoteLabel });
      this.#consumed = position + 1;
      return this.#consumed;
    }
    const reference = nodes.isBracketOpen
      ? (parseInlineTarget(this.#text, position + 1) ?? this.#findReference(position + 1, from))
      : undefined;
    if (reference === undefined) {
      nodes.dropBracket();
      return position + 1;
    }
    this.#flushText(position);
    nodes.closeBracket(reference.target);
    this.#consumed = reference.end;
    return reference.end;
  }

  /** Resolves `[text][label]`, `[label][]` and `[label]`. */
  #findReference(
    position: number,
    from: number | undefined,
  ): { target: LinkTarget; end: number } | undefined {
    const nextBrackets = parseBrackets(this.#text, position);
    const explicitLabel =
      nextBrackets === undefined ? undefined : normalizeLabel(nextBrackets.source);
    const linkText =
      explicitLabel === undefined && from !== undefined
        ? this.#text.slice(from, position - 1)
        : undefined;
    const label = explicitLabel ?? (linkText === undefined ? undefined : normalizeLabel(linkText));
    const hasBrackets = explicitLabel !== undefined || nextBrackets?.source === "";
    const end = hasBrackets ? (nextBrackets?.end ?? position) : position;
    const isLink = hasBrackets && from !== undefined && this.#isLinkText(from, position - 1, end);
    const target = label === undefined ? undefined : this.#resolveLabel(label, isLink);
    return target === undefined ? undefined : { target, end };
  }

  /** True if the text before a label looks like a link text; `a[i][0]` is code, and `[1][2]` are two citations. */
  #isLinkText(from: number, to: number, end: number): boolean {
    const text = this.#text;
    const before = text.charAt(from - 2);
    const isInWord = /[\w\])]/.test(before === "!" ? text.charAt(from - 3) : before);
    return !isInWord && text.charAt(end) !== "(" && /^[^^]*\p{L}/u.test(text.slice(from, to));
  }

  /** Returns the next position of a string. `from` must not decrease between calls, so that the text is searched once. */
  #findNext(needle: string, from: number): number | undefined {
    this.#searches ??= new Map();
    let search = this.#searches.get(needle);
    if (search === undefined) {
      search = new ForwardSearch(this.#text, needle);
      this.#searches.set(needle, search);
    }
    return search.findFrom(from);
  }
}

const escapableCharacter = /^[!-/:-@[-`{-~]$/;
const citationRegExp = new RegExp(citationPattern, "uy");
const entityRegExp = new RegExp(entityPattern, "y");
/** Everything that may start with `<`. */
const angleRegExp = new RegExp(
  [
    String.raw`<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x1f]*)>`,
    String.raw`<([\w.!#$%&'*+/=?^\x60{|}~-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)>`,
    String.raw`(<[bB][rR] ?\/?>)`,
    inlineTagPattern,
    `(${tagPattern})`,
    `(${commentOpening})`,
    String.raw`(<\?|<![A-Za-z]|<!\[CDATA\[)`,
  ].join("|"),
  "y",
);

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

function characterAt(text: string, position: number): string {
  const code = text.charCodeAt(position);
  return code >= 0xd800 && code <= 0xdbff
    ? text.slice(position, position + 2)
    : text.charAt(position);
}

function characterBefore(text: string, position: number): string {
  const code = text.charCodeAt(position - 1);
  return code >= 0xdc00 && code <= 0xdfff
    ? text.slice(position - 2, position)
    : text.charAt(position - 1);
}

/** Removes one space at both ends, which separates backticks of the code from the delimiters. */
function stripPadding(code: string): string {
  const line = code.replaceAll("\n", " ");
  const isPadded = line.startsWith(" ") && line.endsWith(" ") && line.trim() !== "";
  return isPadded ? line.slice(1, -1) : line;
}

/** Returns undefined if the text is not a formula: `\[1\]` is an escaped bracket. */
function toFormula(formula: string | undefined): string | undefined {
  if (formula === undefined || !/[\\^_=+<>{}]/.test(formula)) return undefined;
  return /[\p{L}\p{N}]/u.test(formula) ? formula : undefined;
}

class ForwardSearch {
  readonly #text: string;
  readonly #needle: string;
  #position = -1;

  constructor(text: string, needle: string) {
    this.#text = text;
    this.#needle = needle;
  }

  findFrom(position: number): number | undefined {
    if (this.#position < position) {
      const nextIndex = this.#text.indexOf(this.#needle, position);
      this.#position = nextIndex === -1 ? Number.POSITIVE_INFINITY : nextIndex;
    }
    return Number.isFinite(this.#position) ? this.#position : undefined;
  }
}
