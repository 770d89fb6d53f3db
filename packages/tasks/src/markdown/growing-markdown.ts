import { BlockParser } from "./block-parser.ts";
import type { Block } from "./blocks.ts";
import { nextPiece, withoutReturn } from "./line-pieces.ts";
import { MadeAnew } from "./made-anew.ts";
import { References, type Extent } from "./references.ts";
import { isUndecided } from "./settled-tail.ts";

/** `isExcerpt`: what defines its links may have been cut off. */
export function parseMarkdown(text: string, { isExcerpt = false } = {}): Block[] {
  const markdown = new GrowingMarkdown(isExcerpt);
  markdown.push(text);
  markdown.end();
  return [...markdown.frozen, ...markdown.open];
}

/** So many characters of blocks are read again at a push when labels in them are defined; the next ones do the rest. */
const againAtOnce = 8192;

/** What became of the blocks that were frozen. */
interface Changes {
  /** So many of the first are there still. */
  readonly kept: number;
  /** Among them these were made anew: a label that they use was defined. */
  readonly remade: ReadonlySet<number>;
}

/**
 * Grows with a text; what can no longer change is frozen and keeps its identity. So do, within what is open, the items, rows
 * and blocks that are finished. A push reads the new lines, and once more the last one. Only a definition changes what stands
 * before it: the blocks that use its label.
 */
export class GrowingMarkdown {
  #text = "";
  /** Up to here it has been read for good. */
  #read = 0;
  /** The last piece that was read is not a whole line. */
  #inLine = false;
  readonly #references: References;
  #parser: BlockParser;
  /** Where nothing was open, and what there was. */
  #rests: Rest[] = [];
  #open: readonly Block[] = [];
  #state: "growing" | "ended" = "growing";
  /** What was defined and used when the text ended, but for its open end. */
  #settled: Extent = nothing;
  #kept = 0;
  #remade = new Set<number>();

  constructor(isExcerpt = false) {
    this.#references = new References(isExcerpt);
    this.#parser = new BlockParser(this.#references);
  }

  get frozen(): readonly Block[] {
    return this.#parser.blocks;
  }

  get open(): readonly Block[] {
    return this.#open;
  }

  /** How many characters have been read, those of the open end at each push. */
  get work(): number {
    return this.#parser.work.characters;
  }

  /** Since they were last taken. */
  takeChanges(): Changes {
    const changes = { kept: this.#kept, remade: this.#remade };
    this.#kept = this.frozen.length;
    this.#remade = new Set();
    return changes;
  }

  /** The whole text so far. If it differs before its end, what comes after the difference is read again. */
  push(text: string): void {
    if (text === this.#text) return;
    if (this.#state === "ended") this.#references.backTo(this.#settled);
    // Ten times as fast as `startsWith`, measured on 100 KB.
    if (text.slice(0, this.#read) !== this.#text.slice(0, this.#read)) this.#rewind(text);
    this.#text = text;
    for (let piece = nextPiece(text, this.#read); piece; piece = nextPiece(text, this.#read)) {
      this.#parser.line(piece.text, this.#inLine, piece.ended);
      this.#read = piece.next;
      this.#inLine = !piece.ended;
      if (this.#parser.isFree && piece.ended)
        this.#rests.push({
          at: piece.next,
          blocks: this.frozen.length,
          extent: this.#references.extent,
        });
    }
    this.#state = "growing";
    this.#readAgain(againAtOnce);
    this.#look();
  }

  /** The text is whole. */
  end(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#readAgain(Number.POSITIVE_INFINITY);
    this.#settled = this.#references.extent;
    this.#readAgain(Number.POSITIVE_INFINITY, this.#look());
  }

  /** At what has not been read for good: read by a branch, which is then thrown away. */
  #look(): BlockParser {
    const growing = this.#state === "growing";
    const rest = withoutReturn(this.#text.slice(this.#read));
    const branch = this.#parser.branch(growing);
    if (rest !== "" && !(growing && !this.#inLine && isUndecided(rest, branch.leaf)))
      branch.line(rest, this.#inLine, !growing);
    branch.end(growing);
    this.#open = branch.blocks;
    return branch;
  }

  /** `open` has read what is not frozen. */
  #readAgain(characters: number, open = this.#parser): void {
    if (!this.#references.hasDue) return;
    const anew = new MadeAnew();
    for (const use of this.#references.takeDue(characters)) {
      const [nth = 0] = use.place;
      const isFrozen = nth < this.frozen.length;
      (isFrozen ? this.#parser : open).readAgain(use, anew);
      if (nth < this.#kept) this.#remade.add(nth);
    }
  }

  #rewind(text: string): void {
    const same = commonLength(text, this.#text.slice(0, this.#read));
    while ((this.#rests.at(-1)?.at ?? 0) > same) this.#rests.pop();
    const { at, blocks, extent } = this.#rests.at(-1) ?? start;
    this.#references.backTo(extent);
    this.#kept = Math.min(this.#kept, blocks);
    this.#parser = this.#parser.behind(blocks);
    this.#read = at;
    this.#inLine = false;
  }
}

interface Rest {
  readonly at: number;
  readonly blocks: number;
  readonly extent: Extent;
}

const nothing: Extent = { defined: 0, uses: 0 };
const start: Rest = { at: 0, blocks: 0, extent: nothing };

function commonLength(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}
