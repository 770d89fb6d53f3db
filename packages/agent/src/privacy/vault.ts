import { createHash } from "node:crypto";
import type { ChatSettings, Placeholder, PrivacyField } from "@deltawire/tasks/chats";
import { runAtOnce } from "../event-loop.ts";
import { checkPrivacyFields } from "./check-fields.ts";
import { wordAround } from "./edges.ts";
import { FieldSearch, isFoundKind, labelOf } from "./field-search.ts";
import { jsonView, type JsonView } from "./json-view.ts";
import { KnownValues } from "./known-values.ts";
import { MaskedTexts } from "./masked-texts.ts";
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
  readonly #maskedTexts = new MaskedTexts();
  readonly #placeholders = new Map<string, string>();
  readonly #values = new Map<string, Placeholder>();
  readonly #numbers = new Map<string, number>();
  readonly #exact: RegExp;
  #fresh: Placeholder[] = [];
  #characters = 0;
  #keeping: Promise<void> = Promise.resolve();
  #isKeeping = false;

  /** `tag`: four of a-z and 0-9, for a chat that has no placeholders yet. */
  constructor(options: {
    fields: readonly PrivacyField[];
    known: readonly Placeholder[];
    tag: string;
  }) {
    const { fields, known } = options;
    const problems = checkPrivacyFields(fields);
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

  /** Of all its values and cached texts: about how much memory it takes. */
  get characters(): number {
    return this.#characters + this.#maskedTexts.characters;
  }

  /** With placeholders for all private values. Placeholders that are there stay. For short texts: see `maskSteps`. */
  mask(text: string): string {
    return runAtOnce(this.maskSteps(text));
  }

  /** The same in steps of some milliseconds each. Between them other texts may be masked and new values be learned. */
  *maskSteps(text: string): Generator<void, string> {
    return yield* this.#cached(text, "text", (before) => this.#maskOnce(before));
  }

  /** The same for a text that may be JSON: then values are those that its strings mean, and it stays JSON. */
  maskJson(text: string): string {
    return runAtOnce(this.maskJsonSteps(text));
  }

  *maskJsonSteps(text: string): Generator<void, string> {
    return yield* this.#cached(text, "json", (before) => this.#maskJsonOnce(before));
  }

  *#maskOnce(before: string): Generator<void, string> {
    const spans = yield* this.#find(before);
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
  }

  *#maskJsonOnce(before: string): Generator<void, string> {
    const json = yield* jsonView(before);
    return json === undefined
      ? (yield* this.#untilSettled(before, (text) => this.#maskOnce(text))).masked
      : yield* this.#maskStrings(before, json);
  }

  /**
   * The values again, for all that is written like one of our placeholders. What is unknown stays. What a value makes of
   * the word that it stands in may be a new value: `keepFresh` before anybody sees it. `before`: what stands before the text.
   */
  unmask(text: string, before = ""): string {
    return this.#unmasked(text, before, { isJson: false });
  }

  /** For the arguments of a call or a piece of them: values are written as within the strings of JSON. */
  unmaskJson(text: string, before = ""): string {
    return this.#unmasked(text, before, { isJson: true });
  }

  isPrivate(text: string): boolean {
    return this.#findAtOnce(text).length > 0;
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
    let spans = this.#findAtOnce(near);
    const known = this.size;
    for (const span of spans)
      if (!isCut(span))
        this.#placeholderFor(near.slice(span.start, span.end), span.kind, span.label);
    if (this.size > known) spans = this.#findAtOnce(near);
    const cut = spans.find(({ start, end }) => from + start < at && at < from + end);
    return cut === undefined ? at : from + cut.start;
  }

  /** What was added since the last time. */
  takeFresh(): Placeholder[] {
    return this.#fresh.splice(0);
  }

  /** Whether `keepFresh` has anything to do, or is still at it. */
  get hasFresh(): boolean {
    return this.#fresh.length > 0 || this.#isKeeping;
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
    this.#isKeeping = true;
    try {
      await mine;
    } finally {
      if (this.#keeping === mine) this.#isKeeping = false;
    }
  }

  #unmasked(text: string, before: string, { isJson }: { isJson: boolean }): string {
    const unmasked = replaceWritten(
      text,
      (placeholder) => this.#values.get(placeholder)?.value,
      (value) => (isJson ? inArgument(value) : value),
    );
    const read = isJson ? withoutEscapes : (written: string): string => written;
    for (const { placeholder, start, end } of unmasked.replaced) {
      const known = this.#values.get(placeholder);
      if (known === undefined) continue;
      const written = (before + unmasked.text.slice(Math.max(0, start - around), start)).slice(
        -around,
      );
      this.#learnWord(known, read(written), read(unmasked.text.slice(end, end + around)));
    }
    return unmasked.text;
  }

  /** Letters that a model writes onto a value can make a word of both in which it is found no more: that is private then. */
  #learnWord({ placeholder, value, kind }: Placeholder, before: string, after: string): void {
    const word = wordAround(before, after);
    if (word.before === "" && word.after === "") return;
    const isFoundIn = (start: string, end: string): boolean =>
      this.#findAtOnce(start + value + end).some(
        (span) => span.start <= start.length && span.end >= start.length + value.length,
      );
    if (isFoundIn(before, after) || !isFoundIn("", "")) return;
    const { label = "" } = partsOf(placeholder) ?? {};
    this.#placeholderFor(word.before + value + word.after, kind, label);
  }

  *#cached(
    text: string,
    syntax: "text" | "json",
    pass: (text: string) => Generator<void, string>,
  ): Generator<void, string> {
    const key = this.#maskedTexts.keyOf(text, syntax);
    if (key === undefined) return (yield* this.#untilSettled(text, pass)).masked;
    const cached = this.#maskedTexts.get(key, text, this.size);
    if (cached !== undefined) return cached;
    const { masked, settledAt } = yield* this.#untilSettled(text, pass);
    if (settledAt === this.size) this.#maskedTexts.set(key, text, masked, settledAt);
    return masked;
  }

  /** `settledAt`: how many values were known when a last pass found nothing; undefined if none did. */
  *#untilSettled(
    text: string,
    pass: (text: string) => Generator<void, string>,
  ): Generator<void, { masked: string; settledAt: number | undefined }> {
    let before = text;
    for (let count = 0; count < mostPasses; count += 1) {
      const known = this.size;
      const after = yield* pass(before);
      if (after === before) return { masked: before, settledAt: known };
      before = after;
    }
    return { masked: before, settledAt: undefined };
  }

  *#maskStrings(text: string, { view, tokens, marked }: JsonView): Generator<void, string> {
    const pieces: string[] = [];
    let at = 0;
    let next = 0;
    for (const span of yield* this.#find(view.text, marked)) {
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

  #findAtOnce(text: string): Span[] {
    return runAtOnce(this.#find(text));
  }

  /** What is private in a text and no placeholder yet. `marked`: the same with JSON's own quotes marked. */
  *#find(text: string, marked?: string): Generator<void, Span[]> {
    const plain = yield* withoutPlaceholders(text, this.#exact);
    const loose = yield* loosened(
      marked === undefined ? plain.text : (yield* withoutPlaceholders(marked, this.#exact)).text,
    );
    const spans: Span[] = [];
    yield* this.#search.find(plain.text, spans);
    yield* this.#known.find(plain.text, spans);
    const first = spans.length;
    // An "n" of `\n` is none of the address behind it: what looks like a value is looked for in what the text means.
    yield* this.#search.look(loose.text, spans);
    if (!loose.isSame) {
      yield* this.#search.find(loose.text, spans);
      yield* this.#known.find(loose.text, spans);
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
    this.#characters += placeholder.length + value.length;
    if (!this.#placeholders.has(value)) this.#placeholders.set(value, placeholder);
    const { label, number } = partsOf(placeholder) ?? { label: "", number: 0 };
    this.#numbers.set(label, Math.max(number, this.#numbers.get(label) ?? 0));
    if (value.length < shortestKnown || !this.#isLookedFor(value, kind, label)) return;
    const isWord = value.length < longestNamed && (kind === "name" || !isDistinctive(value));
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

/** What is longer is found wherever it stands, whatever its kind. */
const longestNamed = 100;
/** What is shorter is nearly everywhere. */
const shortestKnown = 3;

/** Whether a value is so much one that it is the same everywhere: a password may be an ordinary word, and then is one alone. */
function isDistinctive(value: string): boolean {
  return value.length >= 8 || (value.length >= 5 && /[^\p{Ll}]/u.test(value));
}

/** What the text of a JSON string means; an "n" of `\\n` is a part of no word. Half an escape is none. */
function withoutEscapes(written: string): string {
  return written.replace(/\\(?:u([0-9a-f]{4})|.|$)/gi, (_, code: string | undefined) =>
    code === undefined ? " " : String.fromCharCode(Number.parseInt(code, 16)),
  );
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

/** Which mask is on: the same for the same fields of one chat, as each has placeholders of its own. Undefined: none is. */
export function maskOf(chatId: string, privacy: ChatSettings["privacy"]): string | undefined {
  if (privacy?.enabled !== true || privacy.fields.length === 0) return undefined;
  const mask = JSON.stringify([chatId, privacy.fields]);
  return createHash("sha256").update(mask).digest("hex").slice(0, 16);
}
