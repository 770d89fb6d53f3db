import type { Inline } from "./blocks.ts";
import { asWritten, citeForm, readCite } from "./cites.ts";
import { entityForm, textOfEntity } from "./entities.ts";
import { footnoteBetween, footnoteKey } from "./footnotes.ts";
import { commentClosing, commentOpening, tagForm } from "./html-forms.ts";
import { InlineNodes } from "./inline-nodes.ts";
import { bracketsAt, labelOf } from "./labels.ts";
import { isLinkable, linkTarget } from "./link-target.ts";
import { settledTail } from "./settled-tail.ts";

/**
 * No form can hold the character that begins another of its kind, so that every character is looked at a few times at the
 * most, whatever a model has written.
 */
const forms = new RegExp(
  [
    "(?<ticks>`+)",
    `(?<cite>${citeForm})`,
    String.raw`(?<hard>(?:(?<! ) {2,}|\\)\n[ \t]*)`,
    String.raw`\\(?<escape>[!-/:-@[-\x60{-~])`,
    String.raw`(?<opening>!?\[)`,
    String.raw`(?<closing>\])`,
    String.raw`<(?<angle>(?:https?://|mailto:)[^\s<>]*)>`,
    String.raw`(?<bare>https?://[^\s<>"'\x60*[\]\u{3000}-\u{303F}\u{FF00}-\u{FF0F}\u{FF1A}-\u{FF20}\u{FDD0}-\u{FDD2}]+)`,
    "(?<run>\\*+|_+|~+)",
    String.raw`(?<dollars>\${1,2})`,
    String.raw`(?<br><[bB][rR] ?\/?>)`,
    tagForm,
    `(?<comment>${commentOpening})`,
    entityForm,
  ].join("|"),
  "gu",
);

/** Without any of these a text has no form in it: most cells and many paragraphs. */
const special = /[`\\[\]<*_~$&\u{FDD0}-\u{FDD2}]|https?:|  \n/u;

/** What a label stands for, if that is known. */
type UrlOf = (label: string) => string | undefined;

/** What a paragraph holds. While it is `growing`, what has only begun at its end is shown as if it had ended. */
export function parseInline(source: string, growing: boolean, urlOf: UrlOf): Inline[] {
  const text = growing ? settledTail(source) : source;
  if (!special.test(text)) return text === "" ? [] : [{ type: "text", text }];
  const code = closingTicks(text);
  const brackets = new NextPlace(text, String.raw`\)`);
  const squares = new NextPlace(text, String.raw`\]`);
  const dollars = new NextPlace(text, "$");
  const pairs = new NextPlace(text, "$$");
  const comments = new NextPlace(text, commentClosing);
  const nodes = new InlineNodes();
  let at = 0;
  const math = (formula: string | undefined, closing: string): boolean => {
    if (formula === undefined) return false;
    nodes.add({ type: "math", text: asWritten(formula.trim()) });
    at += formula.length + closing.length;
    return true;
  };
  for (const { 0: whole, index, groups = {} } of text.matchAll(forms)) {
    // Within code, a formula or an address that came before.
    if (index < at) continue;
    nodes.text(text.slice(at, index));
    at = index + whole.length;
    const { ticks, cite, hard, escape, opening, closing, angle, bare, run, br, entity } = groups;
    const { tag, comment } = groups;
    if (ticks !== undefined) {
      const end = code.get(index);
      if (end === undefined) nodes.text(whole);
      else {
        nodes.add({ type: "code", text: asWritten(withoutPadding(text.slice(at, end))) });
        at = end + ticks.length;
      }
    } else if (cite !== undefined) nodes.add(citeOrFootnote(cite, urlOf));
    else if (tag !== undefined) nodes.tag(tag.toLowerCase(), whole);
    else if (comment !== undefined) {
      const end = comments.from(at);
      if (end !== undefined) at = end + commentClosing.length;
      else if (growing) at = text.length;
      else nodes.text(whole);
    } else if (hard !== undefined || br !== undefined) nodes.add({ type: "break" });
    else if (escape === "(" && math(formulaTo(text, at, brackets), whole)) continue;
    else if (escape === "[" && math(signsTo(text, at, squares), whole)) continue;
    else if (escape !== undefined) nodes.text(escape);
    else if (opening !== undefined) nodes.openBracket(whole, at);
    else if (closing !== undefined) at = closeBracket(nodes, text, at, urlOf);
    else if (angle !== undefined && isLinkable(angle)) nodes.add(linkTo(asWritten(angle)));
    else if (bare !== undefined) {
      const url = withoutEnd(bare);
      if (isLinkable(url)) nodes.add(linkTo(url));
      else nodes.text(url);
      at = index + url.length;
    } else if (run !== undefined) nodes.run(run, text.charAt(index - 1), text.charAt(at));
    else if (whole === "$" && math(priceless(text, at, dollars), whole)) continue;
    else if (whole === "$$" && math(formulaTo(text, at, pairs), whole)) continue;
    else if (entity !== undefined) nodes.text(textOfEntity(entity));
    else nodes.text(whole);
  }
  nodes.text(text.slice(at));
  return nodes.end(growing);
}

/** For every run of backticks the place of the next one as long. */
function closingTicks(text: string): ReadonlyMap<number, number> {
  if (!text.includes("`")) return noTicks;
  const closings = new Map<number, number>();
  const next = new Map<number, number>();
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].toReversed()) {
    const closing = next.get(run.length);
    if (closing !== undefined) closings.set(index, closing);
    next.set(run.length, index);
  }
  return closings;
}

const noTicks: ReadonlyMap<number, number> = new Map();

/** A blank at either end is there for a backtick beside it. */
function withoutPadding(code: string): string {
  const line = code.replaceAll("\n", " ");
  const padded = line.startsWith(" ") && line.endsWith(" ") && line.trim() !== "";
  return padded ? line.slice(1, -1) : line;
}

/** Where a piece of text stands next; asked for places that only grow, so that the text is searched once. */
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

function formulaTo(text: string, from: number, closing: NextPlace): string | undefined {
  const end = closing.from(from);
  const formula = end === undefined ? "" : text.slice(from, end);
  return formula.trim() === "" ? undefined : formula;
}

/** `\[1\]` is how some write brackets. */
function signsTo(text: string, from: number, closing: NextPlace): string | undefined {
  const formula = formulaTo(text, from, closing);
  return formula !== undefined && /[\\^_=+<>{}]/.test(formula) ? formula : undefined;
}

/** Between dollars that touch it on the inside and no word on the outside; `$5 or 6$` is money. */
function priceless(text: string, from: number, closing: NextPlace): string | undefined {
  const end = closing.from(from);
  if (end === undefined || /[\w$\\]/.test(text.charAt(from - 2))) return undefined;
  const formula = text.slice(from, end);
  if (formula === "" || formula !== formula.trim() || formula.endsWith("\\")) return undefined;
  if (/[\w$]/.test(text.charAt(end + 1))) return undefined;
  return /^\d/.test(formula) && /[A-Za-z]{3}/.test(formula) && !/[\\^_={}]/.test(formula)
    ? undefined
    : formula;
}

/** A number that nothing has been found for may be that of a footnote. */
function citeOrFootnote(cite: string, urlOf: UrlOf): Inline {
  const { reference, resolved } = readCite(cite);
  const label = String(reference);
  return !resolved && urlOf(footnoteKey(label)) !== undefined
    ? { type: "footnote", label }
    : { type: "cite", reference, resolved };
}

/** Behind the link, if it is one. */
function closeBracket(nodes: InlineNodes, text: string, at: number, urlOf: UrlOf): number {
  const from = nodes.labelFrom;
  const note = from === undefined ? undefined : footnoteBetween(text, from, at - 1);
  if (note !== undefined && urlOf(footnoteKey(note)) !== undefined) {
    nodes.replaceBracket({ type: "footnote", label: note });
    return at;
  }
  const target = nodes.bracketIsOpen
    ? (linkTarget(text, at) ?? referredTo(text, at, nodes.labelFrom, urlOf))
    : undefined;
  if (target === undefined || !isLinkable(target.url)) {
    nodes.dropBracket();
    nodes.text("]");
    return at;
  }
  nodes.closeBracket(asWritten(target.url));
  return target.end;
}

/** `[label]` behind the text, else what is in the text's own brackets, behind which `[]` may stand. */
function referredTo(
  text: string,
  at: number,
  from: number | undefined,
  urlOf: UrlOf,
): { url: string; end: number } | undefined {
  const behind = bracketsAt(text, at);
  const other = behind === undefined ? undefined : labelOf(behind.written);
  const own = other !== undefined || from === undefined ? undefined : text.slice(from, at - 1);
  const label = other ?? (own === undefined ? undefined : labelOf(own));
  const url = label === undefined ? undefined : urlOf(label);
  if (url === undefined) return undefined;
  const counts = other !== undefined || behind?.written === "";
  return { url, end: counts ? (behind?.end ?? at) : at };
}

function linkTo(url: string): Inline {
  const shown = url.replace(/^mailto:/i, "");
  return { type: "link", url, inline: [{ type: "text", text: shown }] };
}

/** Punctuation behind an address is the sentence's, and so is a bracket that was opened before it. */
function withoutEnd(url: string): string {
  let end = url.length;
  let unopened = -balance(url);
  for (; end > 0; end -= 1) {
    const last = url.charAt(end - 1);
    if (last === ")" && unopened > 0) unopened -= 1;
    else if (!/[.,;:!?}_~$]/.test(last)) break;
  }
  return url.slice(0, end);
}

function balance(url: string): number {
  let open = 0;
  for (const one of url) open += one === "(" ? 1 : one === ")" ? -1 : 0;
  return open;
}
