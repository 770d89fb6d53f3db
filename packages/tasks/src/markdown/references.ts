import type { Inline } from "./blocks.ts";
import { parseInline } from "./inline.ts";

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
  url: string | undefined;
  uses: Use[];
}

/** How much has been defined and used. */
export interface Extent {
  readonly defined: number;
  readonly uses: number;
}

/** What labels stand for, and which texts are to be read again because one of theirs has got or lost its meaning. */
export class References {
  readonly #labels = new Map<string, Label>();
  readonly #defined: string[] = [];
  readonly #uses: Use[] = [];
  readonly #due = new Set<Use>();
  #extent: Extent = { defined: 0, uses: 0 };
  /** The labels that the text which was read last has named in vain. */
  #missed: Set<string> | undefined;
  /** One for all texts, not a closure for each cell and paragraph. */
  readonly #urlOf = (name: string): string | undefined => {
    const url = this.#labels.get(name)?.url;
    if (url === undefined) (this.#missed ??= new Set()).add(name);
    return url;
  };

  /** The same one until something is defined or used. */
  get extent(): Extent {
    const { length: defined } = this.#defined;
    const { length: uses } = this.#uses;
    if (this.#extent.defined !== defined || this.#extent.uses !== uses)
      this.#extent = { defined, uses };
    return this.#extent;
  }

  /** The first definition of a label counts. */
  define(name: string, url: string): void {
    const label = this.#label(name);
    if (label.url !== undefined) return;
    label.url = url;
    this.#defined.push(name);
    this.#tellUses(name, label);
  }

  /** What came since is taken back. */
  backTo({ defined, uses }: Extent): void {
    for (const use of this.#uses.splice(uses)) {
      use.there = false;
      this.#due.delete(use);
    }
    for (const name of this.#defined.splice(defined)) {
      const label = this.#label(name);
      label.url = undefined;
      this.#tellUses(name, label);
    }
  }

  /** What a text holds. If it names what is not defined it is to be remembered, unless it will be read again anyhow. */
  read(source: string, growing: boolean): Inline[] {
    this.#missed = undefined;
    return parseInline(source, growing, this.#urlOf);
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
      return this.#labels.get(name)?.url;
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
    const label: Label = { url: undefined, uses: [] };
    this.#labels.set(name, label);
    return label;
  }
}
