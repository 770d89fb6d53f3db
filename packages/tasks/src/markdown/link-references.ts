import type { MarkdownInline } from "./ast.ts";
import { parseInline, type ResolveLabel } from "./inline-parser.ts";
import type { LinkTarget } from "./link-target.ts";

/**
 * Path to inline text: the index of the block; inside a list, also the indexes of the item and of the block in it; inside a
 * table, also those of the row (0: the head) and the cell.
 */
export type InlinePath = readonly number[];

/** Text with labels that were not defined when it was parsed. */
export interface LabelUse {
  readonly source: string;
  readonly path: InlinePath;
  /** The labels that the parsed text depends on. */
  labels: ReadonlySet<string>;
  /** False after the lines of the block have been parsed again, as another use. */
  isCurrent: boolean;
}

interface LabelEntry {
  target: LinkTarget | undefined;
  uses: LabelUse[];
}

/** Number of definitions and uses at some point of the text. */
export interface ReferenceExtent {
  readonly definitions: number;
  readonly uses: number;
}

const unknownTarget: LinkTarget = { destination: "" };

/**
 * The targets of labels, and the text to parse again because one of its labels has been defined or the definition has been
 * undone.
 */
export class LinkReferences {
  readonly #labels = new Map<string, LabelEntry>();
  /** The definitions in the order of the text, each with the target that it replaced. */
  readonly #definitions: { name: string; previousTarget: LinkTarget | undefined }[] = [];
  readonly #uses: LabelUse[] = [];
  readonly #pendingUses = new Set<LabelUse>();
  #extent: ReferenceExtent = { definitions: 0, uses: 0 };
  /** The undefined labels in the last parsed text. */
  #undefinedLabels: Set<string> | undefined;
  /** True if definitions may be missing, because the text is an excerpt. */
  readonly #isExcerpt: boolean;

  constructor(isExcerpt = false) {
    this.#isExcerpt = isExcerpt;
  }

  /** Shared by all calls, to avoid a closure for each cell and paragraph. */
  readonly #resolveLabel: ResolveLabel = (name, isLink) => {
    const target = this.#labels.get(name)?.target;
    if (target === undefined) (this.#undefinedLabels ??= new Set()).add(name);
    return target ?? (this.#isExcerpt && isLink ? unknownTarget : undefined);
  };

  /** Returns the same object until something is defined or used. */
  get extent(): ReferenceExtent {
    const { length: definitions } = this.#definitions;
    const { length: uses } = this.#uses;
    if (this.#extent.definitions !== definitions || this.#extent.uses !== uses)
      this.#extent = { definitions, uses };
    return this.#extent;
  }

  /** Defines a label. Only the first definition of a label is effective: returns false for later ones. */
  define(name: string, target: LinkTarget): boolean {
    if (this.#getOrCreateLabel(name).target !== undefined) return false;
    this.redefine(name, target);
    return true;
  }

  /** Changes the target of a label, when the title of its definition has arrived. */
  redefine(name: string, target: LinkTarget): void {
    const label = this.#getOrCreateLabel(name);
    this.#definitions.push({ name, previousTarget: label.target });
    label.target = target;
    this.#markUsesPending(name, label);
  }

  /** Undoes all later definitions and uses. */
  rollBackTo({ definitions, uses }: ReferenceExtent): void {
    for (const use of this.#uses.splice(uses)) {
      use.isCurrent = false;
      this.#pendingUses.delete(use);
    }
    for (const { name, previousTarget } of this.#definitions.splice(definitions).toReversed()) {
      const label = this.#getOrCreateLabel(name);
      label.target = previousTarget;
      this.#markUsesPending(name, label);
    }
  }

  /** Parses text. If `hasUndefinedLabels` is true afterwards, register it with `addUse`. */
  parse(source: string, isStreaming: boolean): MarkdownInline[] {
    this.#undefinedLabels = undefined;
    return parseInline(source, isStreaming, this.#resolveLabel);
  }

  /** Parses text without links by label, such as a summary. It is not parsed again when labels are defined. */
  parseStandalone(source: string): MarkdownInline[] {
    return parseInline(source, false, () => undefined);
  }

  get hasUndefinedLabels(): boolean {
    return this.#undefinedLabels !== undefined;
  }

  /** Registers the last parsed text at its position. */
  addUse(source: string, path: InlinePath): void {
    const labels = this.#undefinedLabels ?? new Set();
    const use = { source, path, labels, isCurrent: true };
    this.#uses.push(use);
    for (const name of labels) this.#getOrCreateLabel(name).uses.push(use);
  }

  /** Parses text again. It then depends on all of its labels, including defined labels, because a definition may be undone. */
  reparse(use: LabelUse): MarkdownInline[] {
    const labels = new Set<string>();
    const inline = parseInline(use.source, false, (name) => {
      labels.add(name);
      return this.#labels.get(name)?.target;
    });
    for (const name of labels)
      if (!use.labels.has(name)) this.#getOrCreateLabel(name).uses.push(use);
    use.labels = labels;
    return inline;
  }

  get hasPendingUses(): boolean {
    return this.#pendingUses.size > 0;
  }

  /** Returns pending uses up to this total length, but at least one. */
  takePendingUses(maxCharacters: number): LabelUse[] {
    const takenUses: LabelUse[] = [];
    let length = 0;
    for (const use of this.#pendingUses) {
      length += use.source.length;
      if (length > maxCharacters && takenUses.length > 0) break;
      takenUses.push(use);
      this.#pendingUses.delete(use);
    }
    return takenUses;
  }

  #markUsesPending(name: string, label: LabelEntry): void {
    label.uses = label.uses.filter(({ isCurrent, labels }) => isCurrent && labels.has(name));
    for (const use of label.uses) this.#pendingUses.add(use);
  }

  #getOrCreateLabel(name: string): LabelEntry {
    const existing = this.#labels.get(name);
    if (existing !== undefined) return existing;
    const label: LabelEntry = { target: undefined, uses: [] };
    this.#labels.set(name, label);
    return label;
  }
}
