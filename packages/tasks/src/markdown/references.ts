import type { Inline } from "./blocks.ts";
import { parseInline, type TargetOf } from "./inline.ts";
import type { Target } from "./link-target.ts";

/** The way to a text: the nth block, in a list the nth item and its nth block, in a table the row (0 is the head) and cell. */
export type Place = readonly number[];

/** A text that names labels which were not defined when it was read. */
export interface Use {
  readonly source: string;
  readonly place: Place;
  /** The labels on which it depends. */
  asked: ReadonlySet<string>;
  /** False: what it stood in has been read again. */
  there: boolean;
}

interface Label {
  target: Target | undefined;
  uses: Use[];
}

/** How much has been defined and used. */
export interface Extent {
  readonly defined: number;
  readonly uses: number;
}

const somewhere: Target = { destination: "" };

/** What labels stand for, and which texts are to be read again because one of theirs has got or lost its meaning. */
export class References {
  readonly #labels = new Map<string, Label>();
  /** In order, with what each stood for before. */
  readonly #defined: { name: string; before: Target | undefined }[] = [];
  readonly #uses: Use[] = [];
  readonly #due = new Set<Use>();
  #extent: Extent = { defined: 0, uses: 0 };
  /** The labels that the text which was read last has named in vain. */
  #missed: Set<string> | undefined;
  /** What defines a label may have been cut off. */
  readonly #isExcerpt: boolean;

  constructor(isExcerpt = false) {
    this.#isExcerpt = isExcerpt;
  }

  /** One for all texts, not a closure for each cell and paragraph. */
  readonly #targetOf: TargetOf = (name, isLink) => {
    const target = this.#labels.get(name)?.target;
    if (target === undefined) (this.#missed ??= new Set()).add(name);
    return target ?? (this.#isExcerpt && isLink ? somewhere : undefined);
  };

  /** The same one until something is defined or used. */
  get extent(): Extent {
    const { length: defined } = this.#defined;
    const { length: uses } = this.#uses;
    if (this.#extent.defined !== defined || this.#extent.uses !== uses)
      this.#extent = { defined, uses };
    return this.#extent;
  }

  /** The first definition of a label counts: false if this is not it. */
  define(name: string, target: Target): boolean {
    if (this.#label(name).target !== undefined) return false;
    this.redefine(name, target);
    return true;
  }

  /** Another target for a label: the title of its definition has come. */
  redefine(name: string, target: Target): void {
    const label = this.#label(name);
    this.#defined.push({ name, before: label.target });
    label.target = target;
    this.#tellUses(name, label);
  }

  /** What came since is taken back. */
  backTo({ defined, uses }: Extent): void {
    for (const use of this.#uses.splice(uses)) {
      use.there = false;
      this.#due.delete(use);
    }
    for (const { name, before } of this.#defined.splice(defined).toReversed()) {
      const label = this.#label(name);
      label.target = before;
      this.#tellUses(name, label);
    }
  }

  /** What a text holds. If it names what is not defined it is to be remembered, unless it will be read again anyhow. */
  read(source: string, growing: boolean): Inline[] {
    this.#missed = undefined;
    return parseInline(source, growing, this.#targetOf);
  }

  /** What the name of a fold holds: it has no links by label, and is not read again when one is defined. */
  readAlone(source: string): Inline[] {
    return parseInline(source, false, () => undefined);
  }

  get hasMissed(): boolean {
    return this.#missed !== undefined;
  }

  /** The text that was read last stands there. */
  remember(source: string, place: Place): void {
    const asked = this.#missed ?? new Set();
    const use = { source, place, asked, there: true };
    this.#uses.push(use);
    for (const name of asked) this.#label(name).uses.push(use);
  }

  /** It depends on all that it asks for now, defined or not: what is defined behind it may be taken back. */
  readAgain(use: Use): Inline[] {
    const asked = new Set<string>();
    const inline = parseInline(use.source, false, (name) => {
      asked.add(name);
      return this.#labels.get(name)?.target;
    });
    for (const name of asked) if (!use.asked.has(name)) this.#label(name).uses.push(use);
    use.asked = asked;
    return inline;
  }

  get hasDue(): boolean {
    return this.#due.size > 0;
  }

  /** Texts to be read again, of so many characters, but at least one. */
  takeDue(characters: number): Use[] {
    const taken: Use[] = [];
    let length = 0;
    for (const use of this.#due) {
      length += use.source.length;
      if (length > characters && taken.length > 0) break;
      taken.push(use);
      this.#due.delete(use);
    }
    return taken;
  }

  #tellUses(name: string, label: Label): void {
    label.uses = label.uses.filter(({ there, asked }) => there && asked.has(name));
    for (const use of label.uses) this.#due.add(use);
  }

  #label(name: string): Label {
    const found = this.#labels.get(name);
    if (found !== undefined) return found;
    const label: Label = { target: undefined, uses: [] };
    this.#labels.set(name, label);
    return label;
  }
}
