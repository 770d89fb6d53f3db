import { findAddresses, type Address } from "./bare-addresses.ts";
import type { Inline } from "./blocks.ts";
import { asWritten, citeForm, readCite } from "./cites.ts";
import { runBetween, runOfTag } from "./emphasis.ts";
import { CodeRuns } from "./code-runs.ts";
import { entityForm, textOfEntity } from "./entities.ts";
import { footnoteBetween, footnoteKey } from "./footnotes.ts";
import { anyTag, commentClosing, commentOpening, tagForm } from "./html-forms.ts";
import { InlineNodes, linkTo } from "./inline-nodes.ts";
import { bracketsAt, labelOf } from "./labels.ts";
import { linkTarget, type Target } from "./link-target.ts";
import { settledTail } from "./settled-tail.ts";

/** What a label stands for, if that is known. `isLink`: it is used as nothing but the label of a link is. */
export type TargetOf = (label: string, isLink?: boolean) => Target | undefined;

/** What a paragraph holds. While it is `growing`, what has only begun at its end is shown as if it had ended. */
export function parseInline(source: string, growing: boolean, targetOf: TargetOf): Inline[] {
  const text = growing ? settledTail(source) : source;
  if (!special.test(text)) return text === "" ? [] : [{ type: "text", text }];
  return new InlineParser(text, growing, targetOf).parse();
}

/** Without any of these a text is nothing but text: most cells and many paragraphs. */
const special = /[`\\[\]<*_~$&@\uFDD0-\uFDD2]|:\/\/|[wW]{3}\.|[ \t]\n/;

/** The characters, of those in ASCII, at which something may begin or end. */
const isMark = Array.from({ length: 128 }, (_, code) =>
  "`\\![]<*_~$&\n".includes(String.fromCharCode(code)),
);

/**
 * Reads a text once, from left to right. What something ends with is looked for from places that only grow, so that every
 * character is looked at a few times at the most, whatever a model has written.
 */
class InlineParser {
  readonly #text: string;
  readonly #growing: boolean;
  readonly #targetOf: TargetOf;
  readonly #nodes = new InlineNodes();
  #nextPlaces: Map<string, NextPlace> | undefined;
  #codeRuns: CodeRuns | undefined;
  /** What stands before has become nodes. */
  #done = 0;

  constructor(text: string, growing: boolean, targetOf: TargetOf) {
    this.#text = text;
    this.#growing = growing;
    this.#targetOf = targetOf;
  }

  parse(): Inline[] {
    const text = this.#text;
    const addresses = findAddresses(text)[Symbol.iterator]();
    let address = addresses.next().value;
    for (let at = 0; at < text.length;) {
      while (address !== undefined && address.start < at) address = addresses.next().value;
      const code = text.charCodeAt(at);
      if (address?.start === at) at = this.#readAddress(address);
      else if (code < 128 ? isMark[code] : code >= 0xfdd0 && code <= 0xfdd2)
        at = this.#readMark(at, text.charAt(at));
      else at += 1;
    }
    this.#endText(text.length);
    return this.#nodes.end(this.#growing);
  }

  /** What a character begins or ends; where to go on. */
  #readMark(at: number, mark: string): number {
    switch (mark) {
      case "`":
        return this.#readCode(at);
      case "\\":
        return this.#readEscape(at);
      case "!":
        return this.#text.charAt(at + 1) === "[" ? this.#openBracket(at, "![") : at + 1;
      case "[":
        return this.#openBracket(at, "[");
      case "]":
        return this.#closeBracket(at);
      case "<":
        return this.#readAngle(at);
      case "*":
      case "_":
      case "~":
        return this.#readRun(at, mark);
      case "$":
        return this.#readDollars(at);
      case "&":
        return this.#readEntity(at);
      case "\n":
        return this.#readLineEnd(at);
      default:
        return this.#readCite(at);
    }
  }

  /** What stands between the last node and a place is text. */
  #endText(at: number): void {
    if (at > this.#done) this.#nodes.text(this.#text.slice(this.#done, at));
    this.#done = at;
  }

  #add(node: Inline, at: number, end: number): number {
    this.#endText(at);
    this.#nodes.add(node);
    this.#done = end;
    return end;
  }

  #readAddress({ start, end, url, text }: Address): number {
    return this.#add(linkTo({ destination: url }, text), start, end);
  }

  #readCode(at: number): number {
    const text = this.#text;
    let from = at;
    while (text.charAt(from) === "`") from += 1;
    this.#codeRuns ??= new CodeRuns(text);
    const end = this.#codeRuns.next(from - at, from);
    if (end === undefined) return from;
    const code = asWritten(withoutPadding(text.slice(from, end)));
    return this.#add({ type: "code", text: code }, at, end + from - at);
  }

  #readEscape(at: number): number {
    const escaped = this.#text.charAt(at + 1);
    if (escaped === "\n") return this.#add({ type: "break" }, at, at + 2);
    if (!escapable.test(escaped)) return at + 1;
    const formula =
      escaped === "("
        ? this.#formula(at + 2, String.raw`\)`)
        : escaped === "["
          ? signsIn(this.#formula(at + 2, String.raw`\]`))
          : undefined;
    if (formula !== undefined) return this.#addFormula(formula, at, 2);
    this.#endText(at);
    this.#done = at + 1;
    return at + 2;
  }

  #readDollars(at: number): number {
    if (this.#text.charAt(at + 1) === "$") {
      const formula = this.#formula(at + 2, "$$");
      return formula === undefined ? at + 2 : this.#addFormula(formula, at, 2);
    }
    const formula = this.#pricelessFormula(at + 1);
    return formula === undefined ? at + 1 : this.#addFormula(formula, at, 1);
  }

  #addFormula(formula: string, at: number, sign: number): number {
    const end = at + formula.length + 2 * sign;
    return this.#add({ type: "math", text: asWritten(formula.trim()) }, at, end);
  }

  #formula(from: number, closing: string): string | undefined {
    const end = this.#nextPlace(closing, from);
    const formula = end === undefined ? "" : this.#text.slice(from, end);
    return formula.trim() === "" ? undefined : formula;
  }

  /** Between dollars that touch it on the inside and no word on the outside; `$5 or 6$` is money. */
  #pricelessFormula(from: number): string | undefined {
    const text = this.#text;
    const end = this.#nextPlace("$", from);
    if (end === undefined || /[\w$\\]/.test(text.charAt(from - 2))) return undefined;
    const formula = text.slice(from, end);
    if (formula === "" || formula !== formula.trim() || formula.endsWith("\\")) return undefined;
    if (/[\w$]/.test(text.charAt(end + 1))) return undefined;
    return /^\d/.test(formula) && /[A-Za-z]{3}/.test(formula) && !/[\\^_={}]/.test(formula)
      ? undefined
      : formula;
  }

  #readAngle(at: number): number {
    const [whole = "", scheme, mail, br, tag, html, comment, declaration] =
      matchAt(angles, this.#text, at) ?? [];
    const end = at + whole.length;
    if (scheme !== undefined) {
      const url = asWritten(scheme);
      return this.#add(linkTo({ destination: url }, url), at, end);
    }
    if (mail !== undefined)
      return this.#add(linkTo({ destination: `mailto:${mail}` }, mail), at, end);
    if (br !== undefined) return this.#add({ type: "break" }, at, end);
    if (tag !== undefined) {
      this.#endText(at);
      this.#nodes.addRun(runOfTag(tag.toLowerCase(), whole));
      this.#done = end;
      return end;
    }
    if (html !== undefined) return this.#addHtml(at, end);
    if (comment !== undefined) return this.#readComment(at);
    return declaration === undefined ? at + 1 : this.#readDeclaration(at, declaration);
  }

  #addHtml(at: number, end: number): number {
    const text = asWritten(this.#text.slice(at, end));
    return this.#add({ type: "text", text, html: true }, at, end);
  }

  #readComment(at: number): number {
    // `<!-->` and `<!--->` are whole ones.
    const closing = this.#nextPlace(commentClosing, at + 2);
    if (closing === undefined && !this.#growing) return at + commentOpening.length;
    this.#endText(at);
    this.#done = closing === undefined ? this.#text.length : closing + commentClosing.length;
    return this.#done;
  }

  #readDeclaration(at: number, opening: string): number {
    const closing = opening === "<?" ? "?>" : opening === "<![CDATA[" ? "]]>" : ">";
    const end = this.#nextPlace(closing, at + opening.length);
    return end === undefined ? at + opening.length : this.#addHtml(at, end + closing.length);
  }

  #readRun(at: number, mark: string): number {
    const text = this.#text;
    let end = at + 1;
    while (text.charAt(end) === mark) end += 1;
    const run = runBetween(text.slice(at, end), characterBefore(text, at), characterAt(text, end));
    if (run === undefined) return end;
    this.#endText(at);
    this.#nodes.addRun(run);
    this.#done = end;
    return end;
  }

  #readEntity(at: number): number {
    const [whole, entity] = matchAt(entities, this.#text, at) ?? [];
    if (whole === undefined || entity === undefined) return at + 1;
    return this.#add({ type: "text", text: textOfEntity(entity) }, at, at + whole.length);
  }

  /** Two blanks before it make a break; others are not shown. */
  #readLineEnd(at: number): number {
    const text = this.#text;
    let blanks = at;
    while (blanks > this.#done && /[ \t]/.test(text.charAt(blanks - 1))) blanks -= 1;
    if (text.endsWith("  ", at) && blanks < at - 1)
      return this.#add({ type: "break" }, blanks, at + 1);
    if (blanks < at) {
      this.#endText(blanks);
      this.#done = at;
    }
    return at + 1;
  }

  /** A number that nothing has been found for may be that of a footnote. What is left of the marks of cites goes. */
  #readCite(at: number): number {
    const cite = matchAt(cites, this.#text, at)?.[0];
    if (cite === undefined) {
      this.#endText(at);
      this.#done = at + 1;
      return at + 1;
    }
    const { reference, resolved } = readCite(cite);
    const label = String(reference);
    const isNote = !resolved && this.#targetOf(footnoteKey(label)) !== undefined;
    const node: Inline = isNote
      ? { type: "footnote", label }
      : { type: "cite", reference, resolved };
    return this.#add(node, at, at + cite.length);
  }

  #openBracket(at: number, bracket: string): number {
    this.#endText(at);
    this.#done = at + bracket.length;
    this.#nodes.openBracket(bracket, this.#done);
    return this.#done;
  }

  #closeBracket(at: number): number {
    const nodes = this.#nodes;
    const from = nodes.labelFrom;
    const note = from === undefined ? undefined : footnoteBetween(this.#text, from, at);
    if (note !== undefined && this.#targetOf(footnoteKey(note)) !== undefined) {
      nodes.replaceBracket({ type: "footnote", label: note });
      this.#done = at + 1;
      return this.#done;
    }
    const found = nodes.bracketIsOpen
      ? (linkTarget(this.#text, at + 1) ?? this.#referredTo(at + 1, from))
      : undefined;
    if (found === undefined) {
      nodes.dropBracket();
      return at + 1;
    }
    this.#endText(at);
    nodes.closeBracket(found.target);
    this.#done = found.end;
    return found.end;
  }

  /** `[label]` behind the text, else what is in the text's own brackets, behind which `[]` may stand. */
  #referredTo(at: number, from: number | undefined): { target: Target; end: number } | undefined {
    const behind = bracketsAt(this.#text, at);
    const other = behind === undefined ? undefined : labelOf(behind.written);
    const own =
      other === undefined && from !== undefined ? this.#text.slice(from, at - 1) : undefined;
    const label = other ?? (own === undefined ? undefined : labelOf(own));
    const counts = other !== undefined || behind?.written === "";
    const end = counts ? (behind?.end ?? at) : at;
    const isLink = counts && from !== undefined && this.#isNamed(from, at - 1, end);
    const target = label === undefined ? undefined : this.#targetOf(label, isLink);
    return target === undefined ? undefined : { target, end };
  }

  /** Words with a label behind them: `a[i][0]` is code, and `[1][2]` are two marks. */
  #isNamed(from: number, to: number, end: number): boolean {
    const text = this.#text;
    const before = text.charAt(from - 2);
    const isInWord = /[\w\])]/.test(before === "!" ? text.charAt(from - 3) : before);
    return !isInWord && text.charAt(end) !== "(" && /^[^^]*\p{L}/u.test(text.slice(from, to));
  }

  /** Where a piece of text stands next; asked for places that only grow, so that the text is searched once. */
  #nextPlace(piece: string, from: number): number | undefined {
    this.#nextPlaces ??= new Map();
    let places = this.#nextPlaces.get(piece);
    if (places === undefined) {
      places = new NextPlace(this.#text, piece);
      this.#nextPlaces.set(piece, places);
    }
    return places.from(from);
  }
}

const escapable = /^[!-/:-@[-`{-~]$/;
const cites = new RegExp(citeForm, "uy");
const entities = new RegExp(entityForm, "y");
/** What may begin with an angle. None of them holds another one, but for what is between quotes. */
const angles = new RegExp(
  [
    String.raw`<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x1f]*)>`,
    String.raw`<([\w.!#$%&'*+/=?^\x60{|}~-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)>`,
    String.raw`(<[bB][rR] ?\/?>)`,
    tagForm,
    `(${anyTag})`,
    `(${commentOpening})`,
    String.raw`(<\?|<![A-Za-z]|<!\[CDATA\[)`,
  ].join("|"),
  "y",
);

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(text);
}

function characterAt(text: string, at: number): string {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff ? text.slice(at, at + 2) : text.charAt(at);
}

function characterBefore(text: string, at: number): string {
  const code = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code <= 0xdfff ? text.slice(at - 2, at) : text.charAt(at - 1);
}

/** A blank at either end is there for a backtick beside it. */
function withoutPadding(code: string): string {
  const line = code.replaceAll("\n", " ");
  const padded = line.startsWith(" ") && line.endsWith(" ") && line.trim() !== "";
  return padded ? line.slice(1, -1) : line;
}

/** `\[1\]` is how some write brackets. */
function signsIn(formula: string | undefined): string | undefined {
  if (formula === undefined || !/[\\^_=+<>{}]/.test(formula)) return undefined;
  return /[\p{L}\p{N}]/u.test(formula) ? formula : undefined;
}

class NextPlace {
  readonly #text: string;
  readonly #piece: string;
  #found = -1;

  constructor(text: string, piece: string) {
    this.#text = text;
    this.#piece = piece;
  }

  from(place: number): number | undefined {
    if (this.#found < place) {
      const found = this.#text.indexOf(this.#piece, place);
      this.#found = found === -1 ? Number.POSITIVE_INFINITY : found;
    }
    return Number.isFinite(this.#found) ? this.#found : undefined;
  }
}
