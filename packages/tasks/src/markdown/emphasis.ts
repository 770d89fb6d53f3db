import type { Inline } from "./blocks.ts";
import { inlineTags, type InlineTag } from "./html-forms.ts";

/** So many stars, underscores, tildes and tags may be open at once, which bounds how deep the result can be. */
const mostOpen = 16;

/** Stars, underscores or tildes side by side, or a tag. */
export interface Run {
  type: "run";
  /** A star, an underscore or a tilde, or the name of a tag. */
  char: string;
  /** How it stands in the text. */
  written: string;
  count: number;
  opens: boolean;
  closes: boolean;
  /** While the text grows: it looks like the beginning of emphasis without its partner. */
  plain: boolean;
}

/** Text that nothing has been made of by itself yet: runs that may find a partner stand among the nodes. */
export type Piece = Inline | Run;

/** Stars, underscores or tildes between two characters; undefined: they are text. */
export function runBetween(written: string, before: string, after: string): Run | undefined {
  const char = written.charAt(0);
  const { length: count } = written;
  if (count > (char === "~" ? 2 : mostOpen)) return undefined;
  const [kindBefore, kindAfter] = [kindOf(before), kindOf(after)];
  // `2*3` is a product.
  if (kindBefore === "digit" && kindAfter === "digit") return undefined;
  const { opens, closes } = flanks(char, before, kindBefore, kindAfter);
  if (!opens && !closes) return undefined;
  const plain = !isWord(before, kindBefore) && (isWord(after, kindAfter) || count > 1);
  return { type: "run", char, written, count, opens, closes, plain };
}

/** `sub` opens, `/sub` closes the nearest one that is open. */
export function runOfTag(tag: string, written: string): Run {
  const closes = tag.startsWith("/");
  const char = closes ? tag.slice(1) : tag;
  return { type: "run", char, written, count: 1, opens: !closes, closes, plain: true };
}

/**
 * By the rules of CommonMark, but for two things that models write: emphasis may begin right behind a letter of a script
 * without blanks between words, and it may end behind punctuation with a word right after it.
 */
function flanks(
  char: string,
  before: string,
  kindBefore: Kind,
  kindAfter: Kind,
): { opens: boolean; closes: boolean } {
  const [signBefore, signAfter] = [kindBefore === "sign", kindAfter === "sign"];
  const left = kindAfter !== "blank" && (!signAfter || kindBefore === "blank" || signBefore);
  const right = kindBefore !== "blank" && (!signBefore || kindAfter === "blank" || signAfter);
  if (char === "_")
    return { opens: left && (!right || signBefore), closes: right && (!left || signAfter) };
  return {
    opens: left || (signAfter && unspaced.test(before)),
    closes: right || (signBefore && closingSign.test(before)),
  };
}

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const closingSign = /[.,:;!?)\]}%\p{Pe}\p{Pf}。，、；：！？…]/u;

type Kind = "blank" | "sign" | "digit" | "letter";

function kindOf(character: string): Kind {
  const code = character.charCodeAt(0);
  if (code < 128) return asciiKinds[code] ?? "letter";
  if (character === "" || /^\s/.test(character)) return "blank";
  return /^[\p{P}\p{S}]/u.test(character) ? "sign" : "letter";
}

const asciiKinds = Array.from({ length: 128 }, (_, code): Kind => {
  const character = String.fromCharCode(code);
  if (/\s/.test(character)) return "blank";
  if (/\d/.test(character)) return "digit";
  return /[!-/:-@[-`{-~]/.test(character) ? "sign" : "letter";
});

function isWord(character: string, kind: Kind): boolean {
  return kind === "digit" || character === "_" || (kind === "letter" && character > " ");
}

interface OpenRun extends Run {
  /** Where its text stands in what has been made. */
  at: number;
  nth: number;
  /** How many characters of it are left. */
  left: number;
}

/** Nodes in which every run has found its partner, or is text. `growing`: what is open is shown as if it were closed here. */
export function pairRuns(pieces: readonly Piece[], growing = false): Inline[] {
  if (pieces.every(isNode)) return joined(pieces);
  const pairs = new Pairs();
  for (const piece of pieces) {
    if (piece.type === "run") pairs.run(piece);
    else pairs.made.push(piece);
  }
  if (growing) pairs.closeOpen();
  return joined(pairs.made);
}

function isNode(piece: Piece): piece is Inline {
  return piece.type !== "run";
}

class Pairs {
  made: Inline[] = [];
  #open: OpenRun[] = [];
  #nth = 0;
  /** By kind of closing run: no run before this one can be its partner. Keeps the search linear. */
  readonly #bottoms = new Map<string, number>();

  run(run: Run): void {
    const left = run.count - (run.closes ? this.#closeAll(run) : 0);
    if (left === 0) return;
    this.#addText(left === run.count ? run.written : run.char.repeat(left));
    if (!run.opens) return;
    this.#nth += 1;
    this.#open.push({ ...run, at: this.made.length - 1, nth: this.#nth, left });
    while (this.#openCount() > mostOpen) this.#open.shift();
  }

  closeOpen(): void {
    for (let run = this.#open.at(-1); run !== undefined; run = this.#open.at(-1)) {
      if (run.plain && run.left < 3) this.#close(this.#open.length - 1, run.left);
      else this.#open.pop();
    }
  }

  /** How many of its characters have found a partner. */
  #closeAll(run: Run): number {
    const kind = `${run.char}${run.opens ? "o" : ""}${run.count % 3}`;
    let closed = 0;
    while (closed < run.count) {
      const bottom = this.#bottoms.get(kind) ?? 0;
      const left = run.count - closed;
      const place = this.#open.findLastIndex(
        (one) => one.nth < bottom || isPartner(one, run, left),
      );
      const partner = this.#open[place];
      if (partner === undefined || partner.nth < bottom) {
        this.#bottoms.set(kind, this.#nth + 1);
        break;
      }
      const size = run.char === "~" ? left : Math.min(2, left, partner.left);
      this.#close(place, size);
      closed += size;
    }
    return closed;
  }

  /** What was opened since stays text. */
  #close(place: number, size: number): void {
    const run = this.#open[place];
    if (run === undefined) return;
    const inline = joined(this.made.splice(run.at + 1));
    this.made.pop();
    this.#open.length = place + 1;
    run.left -= size;
    if (run.left === 0) this.#open.pop();
    else this.#addText(run.char.repeat(run.left));
    if (inline.length > 0) this.made.push({ type: typeOf(run.char, size), inline });
  }

  #openCount(): number {
    let count = 0;
    for (const { left } of this.#open) count += left;
    return count;
  }

  #addText(text: string): void {
    this.made.push({ type: "text", text });
  }
}

/** A run that could both open and close fits only some others, so that `*foo**bar*` has no partner within. */
function isPartner(open: OpenRun, run: Run, left: number): boolean {
  if (open.char !== run.char) return false;
  if (run.char === "~") return open.left === left;
  const isEither = open.closes || run.opens;
  return (
    !isEither || (open.count + run.count) % 3 !== 0 || (open.count % 3 === 0 && run.count % 3 === 0)
  );
}

function typeOf(char: string, size: number): "strong" | "em" | "del" | InlineTag {
  const tag = inlineTags.find((name) => name === char);
  if (tag !== undefined) return tag;
  if (char === "~") return "del";
  return size === 2 ? "strong" : "em";
}

/** Texts that stand side by side are one. */
export function joined(nodes: readonly Inline[]): Inline[] {
  const out: Inline[] = [];
  let last: (Inline & { type: "text" }) | undefined;
  for (const node of nodes) {
    if (node.type !== "text" || node.html) {
      out.push(node);
      last = undefined;
    } else if (last !== undefined) last.text += node.text;
    else if (node.text !== "") {
      last = { type: "text", text: node.text };
      out.push(last);
    }
  }
  return out;
}
