import type { Placeholder, PrivacyField } from "@deltawire/tasks/chats";
import { checkFormOfFields } from "./check-fields.ts";
import { wordAround } from "./edges.ts";
import { FieldSearch, isFoundKind, labelOf } from "./field-search.ts";
import { jsonView, type JsonView } from "./json-view.ts";
import { KnownValues } from "./known-values.ts";
import {
  exactPlaceholders,
  formsOf,
  inArgument,
  partsOf,
  placeholderOf,
  replaceWritten,
} from "./placeholder.ts";
import { PrivacyError } from "./privacy-error.ts";
import { united, type Span } from "./spans.ts";
import { loosened, objectCharacter, withoutPlaceholders } from "./text-view.ts";

/** How often a text is looked at again: what is masked first may show an edge or tell a value for the rest of it. */
const mostPasses = 8;
/** How far around a cut values are looked for: private keys have some thousand characters. */
const reach = 8000;
/** How much of what stands around a value is looked at to tell whether it is found there. */
const around = 100;

/**
 * What private values a chat has and what stands for them. A value has one placeholder for as long as the chat lives, each
 * spelling its own, so that it comes back to the letter. One vault for a chat: two would give one placeholder twice.
 */
export class Vault {
  readonly tag: string;
  /** Of its placeholders, in the order of the fields. */
  readonly labels: readonly string[];
  readonly #fields: readonly PrivacyField[];
  readonly #search: FieldSearch;
  readonly #known = new KnownValues();
  readonly #placeholders = new Map<string, string>();
  readonly #values = new Map<string, Placeholder>();
  readonly #numbers = new Map<string, number>();
  readonly #exact: RegExp;
  #fresh: Placeholder[] = [];
  #keeping: Promise<void> = Promise.resolve();

  /** `tag`: four of a-z and 0-9, for a chat that has no placeholders yet. */
  constructor(options: {
    fields: readonly PrivacyField[];
    known: readonly Placeholder[];
    tag: string;
  }) {
    const { fields, known } = options;
    const problems = checkFormOfFields(fields);
    if (problems.length > 0) throw new PrivacyError("bad_fields", problems.join("\n"));
    const parts = known.flatMap(({ placeholder }) => partsOf(placeholder) ?? []);
    this.tag = parts[0]?.tag ?? options.tag;
    if (!/^[a-z0-9]{4}$/.test(this.tag))
      throw new TypeError(`a tag is four of a-z and 0-9, not "${this.tag}"`);
    this.#fields = fields;
    this.labels = [...new Set(fields.map(labelOf))];
    this.#search = new FieldSearch(fields);
    const labels = new Set([...this.labels, ...parts.map(({ label }) => label), "NONE"]);
    this.#exact = exactPlaceholders(
      [...labels],
      [...new Set([this.tag, ...parts.map(({ tag }) => tag)])],
    );
    for (const each of known) this.#learn(each);
  }

  /** How many values it knows. */
  get size(): number {
    return this.#values.size;
  }

  /** With placeholders for all private values. Placeholders that are there stay. */
  mask(text: string): string {
    return this.#untilSettled(text, (before) => {
      const spans = this.#find(before);
      if (spans.length === 0) return before;
      const pieces: string[] = [];
      let at = 0;
      for (const { start, end, kind, label } of spans) {
        pieces.push(
          before.slice(at, start),
          this.#placeholderFor(before.slice(start, end), kind, label),
        );
        at = end;
      }
      return pieces.join("") + before.slice(at);
    });
  }

  /** The same for a text that may be JSON: then values are those that its strings mean, and it stays JSON. */
  maskJson(text: string): string {
    return this.#untilSettled(text, (before) => {
      const json = jsonView(before);
      return json === undefined ? this.mask(before) : this.#maskStrings(before, json);
    });
  }

  /** The values again, for all that is written like one of our placeholders. What is unknown stays. */
  unmask(text: string): string {
    return this.#unmasked(text, { isJson: false });
  }

  /** For the arguments of a call or a piece of them: values are written as within the strings of JSON. */
  unmaskJson(text: string): string {
    return this.#unmasked(text, { isJson: true });
  }

  isPrivate(text: string): boolean {
    return this.#find(text).length > 0;
  }

  /**
   * Where a text may be cut, at a place or before it: not within a value. What stands around the place is learned, since a
   * cut may take from a value what tells that it is one. A value of more than 8,000 characters is cut nevertheless, and what
   * is behind the cut may leave: it does not begin like one.
   */
  cutBefore(text: string, at: number): number {
    const from = Math.max(0, at - reach);
    const near = text.slice(from, at + reach);
    const isCut = ({ start, end }: Span): boolean =>
      (start === 0 && from > 0) || (end === near.length && from + end < text.length);
    let spans = this.#find(near);
    const known = this.size;
    for (const span of spans)
      if (!isCut(span))
        this.#placeholderFor(near.slice(span.start, span.end), span.kind, span.label);
    if (this.size > known) spans = this.#find(near);
    const cut = spans.find(({ start, end }) => from + start < at && at < from + end);
    return cut === undefined ? at : from + cut.start;
  }

  /** What was added since the last time. */
  takeFresh(): Placeholder[] {
    return this.#fresh.splice(0);
  }

  /** Keeps what was added, after whoever is at it: what one round has named, the next may send. */
  async keepFresh(keep: (fresh: readonly Placeholder[]) => Promise<void>): Promise<void> {
    const before = this.#keeping;
    const mine = (async () => {
      await before.catch(() => undefined);
      const fresh = this.takeFresh();
      if (fresh.length === 0) return;
      try {
        await keep(fresh);
      } catch (error) {
        this.#fresh.unshift(...fresh);
        throw error;
      }
    })();
    this.#keeping = mine;
    return mine;
  }

  #unmasked(text: string, { isJson }: { isJson: boolean }): string {
    const unmasked = replaceWritten(
      text,
      (placeholder) => this.#values.get(placeholder)?.value,
      (value) => (isJson ? inArgument(value) : value),
    );
    for (const { placeholder, start, end } of unmasked.replaced) {
      const known = this.#values.get(placeholder);
      const written = unmasked.text.slice(Math.max(0, start - around), start);
      // An "n" of `\n` is a part of no word.
      const before = isJson ? written.replace(/^[^]*\\./, "") : written;
      if (known !== undefined)
        this.#learnWord(known, before, unmasked.text.slice(end, end + around));
    }
    return unmasked.text;
  }

  /** Letters that a model writes onto a value can make a word of both in which it is found no more: that is private then. */
  #learnWord({ placeholder, value, kind }: Placeholder, before: string, after: string): void {
    const word = wordAround(before, after);
    if (word.before === "" && word.after === "") return;
    const isFoundIn = (start: string, end: string): boolean =>
      this.#find(start + value + end).some(
        (span) => span.start <= start.length && span.end >= start.length + value.length,
      );
    if (isFoundIn(before, after) || !isFoundIn("", "")) return;
    const { label = "" } = partsOf(placeholder) ?? {};
    this.#placeholderFor(word.before + value + word.after, kind, label);
  }

  #untilSettled(text: string, pass: (text: string) => string): string {
    let before = text;
    for (let count = 0; count < mostPasses; count += 1) {
      const after = pass(before);
      if (after === before) break;
      before = after;
    }
    return before;
  }

  #maskStrings(text: string, { view, tokens, marked }: JsonView): string {
    const pieces: string[] = [];
    let at = 0;
    let next = 0;
    for (const span of this.#find(view.text, marked)) {
      while ((tokens[next]?.end ?? Infinity) <= span.start) next += 1;
      for (let index = next; (tokens[index]?.start ?? Infinity) < span.end; index += 1) {
        const token = tokens[index];
        if (token === undefined) break;
        const isNumber = token.is === "number";
        const start = isNumber ? token.start : Math.max(token.start, span.start);
        const end = isNumber ? token.end : Math.min(token.end, span.end);
        if (start >= end || view.sourceStart(start) < at) continue;
        const placeholder = this.#placeholderFor(
          view.text.slice(start, end),
          span.kind,
          span.label,
        );
        pieces.push(
          text.slice(at, view.sourceStart(start)),
          isNumber ? `"${placeholder}"` : placeholder,
        );
        at = view.sourceEnd(end);
      }
    }
    return pieces.join("") + text.slice(at);
  }

  /** What is private in a text and no placeholder yet. `marked`: the same with JSON's own quotes marked. */
  #find(text: string, marked?: string): Span[] {
    const plain = withoutPlaceholders(text, this.#exact);
    const loose = loosened(
      marked === undefined ? plain.text : withoutPlaceholders(marked, this.#exact).text,
    );
    const spans: Span[] = [];
    this.#search.find(plain.text, spans);
    this.#known.find(plain.text, spans);
    const first = spans.length;
    // An "n" of `\n` is none of the address behind it: what looks like a value is looked for in what the text means.
    this.#search.look(loose.text, spans);
    if (!loose.isSame) {
      this.#search.find(loose.text, spans);
      this.#known.find(loose.text, spans);
      for (const span of spans.slice(first)) {
        span.start = loose.sourceStart(span.start);
        span.end = loose.sourceEnd(span.end);
      }
    }
    const found = united(spans);
    if (plain.isSame) return found;
    return found.flatMap((span) =>
      betweenPlaceholders(span, plain.text).map((part) => ({
        ...part,
        start: plain.sourceStart(part.start),
        end: plain.sourceEnd(part.end),
      })),
    );
  }

  #placeholderFor(value: string, kind: string, label: string): string {
    const known = this.#placeholders.get(value);
    if (known !== undefined) return known;
    const number = (this.#numbers.get(label) ?? 0) + 1;
    const fresh = { placeholder: placeholderOf(label, number, this.tag), value, kind };
    this.#learn(fresh);
    this.#fresh.push(fresh);
    return fresh.placeholder;
  }

  #learn(learned: Placeholder): void {
    const { placeholder, value, kind } = learned;
    this.#values.set(placeholder, learned);
    if (!this.#placeholders.has(value)) this.#placeholders.set(value, placeholder);
    const { label, number } = partsOf(placeholder) ?? { label: "", number: 0 };
    this.#numbers.set(label, Math.max(number, this.#numbers.get(label) ?? 0));
    if (value.length < shortestKnown || !this.#isLookedFor(value, kind, label)) return;
    const isWord = kind === "name" || !isDistinctive(value);
    for (const form of formsOf(value)) this.#known.add(form, { kind, label, isWord });
  }

  #isLookedFor(value: string, kind: string, label: string): boolean {
    if (kind === "name") return this.#search.holdsName(value);
    return this.#fields.some(
      (field) =>
        field.kind === kind &&
        (kind === "pattern"
          ? labelOf(field) === label
          : isFoundKind(kind) && field.value === undefined),
    );
  }
}

/** What is shorter is nearly everywhere. */
const shortestKnown = 3;

/** Whether a value is so much one that it is the same everywhere: a password may be an ordinary word, and then is one alone. */
function isDistinctive(value: string): boolean {
  return value.length >= 8 || (value.length >= 5 && /[^\p{Ll}]/u.test(value));
}

function betweenPlaceholders(span: Span, text: string): Span[] {
  const parts: Span[] = [];
  let start = span.start;
  for (const part of text.slice(span.start, span.end).split(objectCharacter)) {
    const end = start + part.length;
    if (part.trim() !== "") parts.push({ ...span, start, end });
    start = end + 1;
  }
  return parts;
}
