import { createHash } from "node:crypto";
import type { ChatSettings, Placeholder, PrivacyField } from "@deltawire/tasks/chats";
import { runSync } from "../event-loop.ts";
import { checkPrivacyFields } from "./check-privacy-fields.ts";
import { findWordAround } from "./word-boundaries.ts";
import { FieldSearch, isDetectableKind, getFieldLabel } from "./field-search.ts";
import { createJsonView, type JsonView } from "./json-view.ts";
import { KnownPrivateValues } from "./known-values.ts";
import { MaskedTextCache } from "./masked-text-cache.ts";
import {
  compilePlaceholderPattern,
  listEncodedForms,
  escapeForArgument,
  parsePlaceholder,
  replacePlaceholders,
} from "./placeholder.ts";
import { PlaceholderTable, type PlaceholderStore } from "./placeholder-table.ts";
import { PrivacyError } from "./privacy-error.ts";
import { mergeSpans, type PrivateSpan } from "./merge-spans.ts";
import { normalizeSpelling, placeholderCharacter, hidePlaceholders } from "./text-view.ts";

/** Passes over one text: masking a value may reveal a word boundary or the context of another value. */
const maxPasses = 8;
/** Characters around a cut that are searched for values: private keys have a few thousand. */
const cutContextLength = 8000;
/** Characters around a value that are searched, to check whether the value is found in that context. */
const wordContextLength = 100;

/**
 * The private values of a chat and their placeholders. A value has the same placeholder for the lifetime of the chat. Each
 * spelling has its own, so that it is restored exactly. A process has one vault for each chat.
 */
export class Vault {
  readonly tag: string;
  /** Labels of the placeholders, in the order of the fields. */
  readonly labels: readonly string[];
  readonly #fields: readonly PrivacyField[];
  readonly #search: FieldSearch;
  readonly #known = new KnownPrivateValues();
  readonly #maskedTexts = new MaskedTextCache();
  readonly #table: PlaceholderTable;
  readonly #placeholderPattern: RegExp;

  /** `known`: all stored placeholders of the chat. `tag` is used if `known` is empty: four characters of a-z and 0-9. Throws a PrivacyError if the fields are invalid. */
  constructor(options: {
    fields: readonly PrivacyField[];
    known: readonly Placeholder[];
    tag: string;
  }) {
    const { fields, known } = options;
    const problems = checkPrivacyFields(fields);
    if (problems.length > 0) throw new PrivacyError("bad_fields", problems.join("\n"));
    const parts = known.flatMap(({ placeholder }) => parsePlaceholder(placeholder) ?? []);
    this.tag = parts[0]?.tag ?? options.tag;
    if (!/^[a-z0-9]{4}$/.test(this.tag))
      throw new TypeError(`tag must be four characters of a-z and 0-9, got "${this.tag}"`);
    this.#fields = fields;
    this.labels = [...new Set(fields.map(getFieldLabel))];
    this.#search = new FieldSearch(fields);
    // "NONE" makes sure that there is a label: without one, the pattern would match an empty label.
    const labels = new Set([...this.labels, ...parts.map(({ label }) => label), "NONE"]);
    this.#placeholderPattern = compilePlaceholderPattern(
      [...labels],
      [...new Set([this.tag, ...parts.map(({ tag }) => tag)])],
    );
    this.#table = new PlaceholderTable(this.tag, known, (placeholder) => this.#learn(placeholder));
  }

  /** Number of known values. */
  get size(): number {
    return this.#table.size;
  }

  /** Approximate memory use of all values and cached text, in characters. */
  get characters(): number {
    return this.#table.characters + this.#maskedTexts.characters;
  }

  /** Increases when text that was masked before must be masked again. Only happens if several processes mask a chat. */
  get generation(): number {
    return this.#table.generation;
  }

  /** Replaces all private values with placeholders. Existing placeholders are left unchanged. For long text use `maskSteps`. */
  mask(text: string): string {
    return runSync(this.maskSteps(text));
  }

  /** Like `mask`, in steps of a few milliseconds. Between two steps other text may be masked and new values learned. */
  *maskSteps(text: string): Generator<void, string> {
    return yield* this.#maskCached(text, "text", (current) => this.#maskOnce(current));
  }

  /** Like `mask`, for text that may be JSON: values are searched in the decoded strings, and the result is valid JSON. */
  maskJson(text: string): string {
    return runSync(this.maskJsonSteps(text));
  }

  *maskJsonSteps(text: string): Generator<void, string> {
    return yield* this.#maskCached(text, "json", (current) => this.#maskJsonOnce(current));
  }

  *#maskOnce(text: string): Generator<void, string> {
    const spans = yield* this.#find(text);
    if (spans.length === 0) return text;
    const pieces: string[] = [];
    let copiedTo = 0;
    for (const { start, end, kind, label } of spans) {
      pieces.push(
        text.slice(copiedTo, start),
        this.#table.getOrCreate(text.slice(start, end), kind, label),
      );
      copiedTo = end;
    }
    return pieces.join("") + text.slice(copiedTo);
  }

  *#maskJsonOnce(text: string): Generator<void, string> {
    const json = yield* createJsonView(text);
    return json === undefined
      ? (yield* this.#maskUntilStable(text, (current) => this.#maskOnce(current))).masked
      : yield* this.#maskJsonStrings(text, json);
  }

  /**
   * Replaces placeholders with their values. Unknown placeholders are left unchanged. A value joined with adjacent letters may
   * be a new value: call `storeNewPlaceholders` before showing the result. `precedingText` comes before `text`.
   */
  unmask(text: string, precedingText = ""): string {
    return this.#replaceAndLearn(text, precedingText, { isJson: false });
  }

  /** Like `unmask`, for the JSON of arguments or a part of it: values are escaped for JSON strings. */
  unmaskJson(text: string, precedingText = ""): string {
    return this.#replaceAndLearn(text, precedingText, { isJson: true });
  }

  isPrivate(text: string): boolean {
    return this.#findSync(text).length > 0;
  }

  /**
   * Returns where text can be cut without splitting a value: `position`, or a position before it. Learns the values around the
   * cut, since a cut may separate a value from the context that identifies it. A value of more than 8,000 characters may be
   * split, and the part after the cut is then not masked: it does not look like a value.
   */
  cutBefore(text: string, position: number): number {
    const contextStart = Math.max(0, position - cutContextLength);
    const context = text.slice(contextStart, position + cutContextLength);
    const isCut = ({ start, end }: PrivateSpan): boolean =>
      (start === 0 && contextStart > 0) ||
      (end === context.length && contextStart + end < text.length);
    let spans = this.#findSync(context);
    const sizeBefore = this.size;
    for (const span of spans)
      if (!isCut(span))
        this.#table.getOrCreate(context.slice(span.start, span.end), span.kind, span.label);
    if (this.size > sizeBefore) spans = this.#findSync(context);
    const cutSpan = spans.find(
      ({ start, end }) => contextStart + start < position && position < contextStart + end,
    );
    return cutSpan === undefined ? position : contextStart + cutSpan.start;
  }

  /** Returns the placeholders added since the last call. */
  takeNewPlaceholders(): Placeholder[] {
    return this.#table.takeNew();
  }

  /** True if there are placeholders that are not stored yet, or are being stored. */
  get hasNewPlaceholders(): boolean {
    return this.#table.hasNew;
  }

  /** Stores the new placeholders, after any pending store: the next round may send what the previous one added. */
  storeNewPlaceholders(store: PlaceholderStore): Promise<void> {
    return this.#table.storeNew(store);
  }

  /** Reads the placeholders that other processes have stored. */
  refresh(store: PlaceholderStore): Promise<void> {
    return this.#table.refresh(store);
  }

  #replaceAndLearn(text: string, precedingText: string, { isJson }: { isJson: boolean }): string {
    const replacement = replacePlaceholders(
      text,
      (placeholder) => this.#table.find(placeholder)?.value,
      (value) => (isJson ? escapeForArgument(value) : value),
    );
    const decode = isJson ? decodeEscapes : (text: string): string => text;
    for (const { placeholder, start, end } of replacement.replaced) {
      const knownPlaceholder = this.#table.find(placeholder);
      if (knownPlaceholder === undefined) continue;
      const context = (
        precedingText + replacement.text.slice(Math.max(0, start - wordContextLength), start)
      ).slice(-wordContextLength);
      this.#learnWord(
        knownPlaceholder,
        decode(context),
        decode(replacement.text.slice(end, end + wordContextLength)),
      );
    }
    return replacement.text;
  }

  /** Learns a value together with the letters that a model has attached to it, if the value is no longer found in that word. */
  #learnWord(
    { placeholder, value, kind }: Placeholder,
    textBefore: string,
    textAfter: string,
  ): void {
    const word = findWordAround(textBefore, textAfter);
    if (word.before === "" && word.after === "") return;
    const isFoundIn = (prefix: string, suffix: string): boolean =>
      this.#findSync(prefix + value + suffix).some(
        (span) => span.start <= prefix.length && span.end >= prefix.length + value.length,
      );
    if (isFoundIn(textBefore, textAfter) || !isFoundIn("", "")) return;
    const { label = "" } = parsePlaceholder(placeholder) ?? {};
    this.#table.getOrCreate(word.before + value + word.after, kind, label);
  }

  *#maskCached(
    text: string,
    syntax: "text" | "json",
    pass: (text: string) => Generator<void, string>,
  ): Generator<void, string> {
    const key = this.#maskedTexts.createKey(text, syntax);
    if (key === undefined) return (yield* this.#maskUntilStable(text, pass)).masked;
    const cached = this.#maskedTexts.get(key, text, this.#table.revision);
    if (cached !== undefined) return cached;
    const { masked, stableAt } = yield* this.#maskUntilStable(text, pass);
    if (stableAt === this.#table.revision) this.#maskedTexts.set(key, text, masked, stableAt);
    return masked;
  }

  /** `stableAt`: the revision of the placeholders when a pass left the text unchanged; undefined if every pass changed the text. */
  *#maskUntilStable(
    text: string,
    pass: (text: string) => Generator<void, string>,
  ): Generator<void, { masked: string; stableAt: number | undefined }> {
    let current = text;
    for (let count = 0; count < maxPasses; count += 1) {
      const stableAt = this.#table.revision;
      const masked = yield* pass(current);
      if (masked === current) return { masked, stableAt };
      current = masked;
    }
    return { masked: current, stableAt: undefined };
  }

  *#maskJsonStrings(text: string, { view, tokens, markedText }: JsonView): Generator<void, string> {
    const pieces: string[] = [];
    let copiedTo = 0;
    let tokenIndex = 0;
    for (const span of yield* this.#find(view.text, markedText)) {
      while ((tokens[tokenIndex]?.end ?? Infinity) <= span.start) tokenIndex += 1;
      for (let index = tokenIndex; (tokens[index]?.start ?? Infinity) < span.end; index += 1) {
        const token = tokens[index];
        if (token === undefined) break;
        const isNumber = token.kind === "number";
        const start = isNumber ? token.start : Math.max(token.start, span.start);
        const end = isNumber ? token.end : Math.min(token.end, span.end);
        if (start >= end || view.toSourceStart(start) < copiedTo) continue;
        const placeholder = this.#table.getOrCreate(
          view.text.slice(start, end),
          span.kind,
          span.label,
        );
        pieces.push(
          text.slice(copiedTo, view.toSourceStart(start)),
          isNumber ? `"${placeholder}"` : placeholder,
        );
        copiedTo = view.toSourceEnd(end);
      }
    }
    return pieces.join("") + text.slice(copiedTo);
  }

  #findSync(text: string): PrivateSpan[] {
    return runSync(this.#find(text));
  }

  /** Finds the private parts of the text that are not masked yet. `markedText` is the same text with JSON quotes marked. */
  *#find(text: string, markedText?: string): Generator<void, PrivateSpan[]> {
    const plainView = yield* hidePlaceholders(text, this.#placeholderPattern);
    const normalizedView = yield* normalizeSpelling(
      markedText === undefined
        ? plainView.text
        : (yield* hidePlaceholders(markedText, this.#placeholderPattern)).text,
    );
    const spans: PrivateSpan[] = [];
    yield* this.#search.findConfigured(plainView.text, spans);
    yield* this.#known.find(plainView.text, spans);
    const normalizedStart = spans.length;
    // Formats are searched in the decoded text: the "n" of `\n` does not belong to the address after it.
    yield* this.#search.findDetectable(normalizedView.text, spans);
    if (!normalizedView.isUnchanged) {
      yield* this.#search.findConfigured(normalizedView.text, spans);
      yield* this.#known.find(normalizedView.text, spans);
      for (const span of spans.slice(normalizedStart)) {
        span.start = normalizedView.toSourceStart(span.start);
        span.end = normalizedView.toSourceEnd(span.end);
      }
    }
    const mergedSpans = mergeSpans(spans);
    if (plainView.isUnchanged) return mergedSpans;
    return mergedSpans.flatMap((span) =>
      splitAtPlaceholders(span, plainView.text).map((part) => ({
        ...part,
        start: plainView.toSourceStart(part.start),
        end: plainView.toSourceEnd(part.end),
      })),
    );
  }

  /** Makes a value detectable everywhere, if the fields still apply to it. */
  #learn({ placeholder, value, kind }: Placeholder): void {
    const { label } = parsePlaceholder(placeholder) ?? { label: "" };
    if (value.length < minKnownLength || !this.#isDetected(value, kind, label)) return;
    const isWholeWordOnly =
      value.length < maxWholeWordLength && (kind === "name" || !isDistinctive(value));
    for (const form of listEncodedForms(value))
      this.#known.add(form, { kind, label, isWholeWordOnly });
  }

  #isDetected(value: string, kind: string, label: string): boolean {
    if (kind === "name") return this.#search.containsName(value);
    return this.#fields.some(
      (field) =>
        field.kind === kind &&
        (kind === "pattern"
          ? getFieldLabel(field) === label
          : isDetectableKind(kind) && field.value === undefined),
    );
  }
}

/** Values of at least this length are found inside words too, whatever their kind. */
const maxWholeWordLength = 100;
/** Shorter values would be found nearly everywhere. */
const minKnownLength = 3;

/** True if a value is unlikely to occur in other words. A password that is an ordinary word only matches complete words. */
function isDistinctive(value: string): boolean {
  return value.length >= 8 || (value.length >= 5 && /[^\p{Ll}]/u.test(value));
}

/** Decodes `\uXXXX` in the source of a JSON string. Other escapes, such as `\n`, and incomplete ones become a space. */
function decodeEscapes(source: string): string {
  return source.replace(/\\(?:u([0-9a-f]{4})|.|$)/gi, (_, code: string | undefined) =>
    code === undefined ? " " : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

function splitAtPlaceholders(span: PrivateSpan, text: string): PrivateSpan[] {
  const parts: PrivateSpan[] = [];
  let start = span.start;
  for (const part of text.slice(span.start, span.end).split(placeholderCharacter)) {
    const end = start + part.length;
    if (part.trim() !== "") parts.push({ ...span, start, end });
    start = end + 1;
  }
  return parts;
}

/** Returns an id of the active mask, from the chat and its fields. Undefined if masking is off. */
export function computeMaskId(
  chatId: string,
  privacy: ChatSettings["privacy"],
): string | undefined {
  if (privacy?.enabled !== true || privacy.fields.length === 0) return undefined;
  const maskSource = JSON.stringify([chatId, privacy.fields]);
  return createHash("sha256").update(maskSource).digest("hex").slice(0, 16);
}
