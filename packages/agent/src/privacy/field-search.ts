import type { PrivacyField, PrivacyKind } from "@deltawire/tasks/chats";
import { searchBounded } from "./bounded-search.ts";
import { endsInflected, isEdge } from "./edges.ts";
import { valuePatterns, type FoundKind, type ValuePattern } from "./patterns.ts";
import { formsOf } from "./placeholder.ts";
import { PrivacyError } from "./privacy-error.ts";
import type { Span } from "./spans.ts";

/** How long a person's own patterns may look at one text. */
const limitMs = 2000;

/** The name in the placeholders of a field. */
export function labelOf({ kind, label }: PrivacyField): string {
  return (label ?? kind).toUpperCase();
}

export function isFoundKind(kind: string): kind is FoundKind {
  return Object.hasOwn(valuePatterns, kind);
}

interface Look {
  kind: PrivacyKind;
  label: string;
  pattern: ValuePattern;
}
interface Value {
  kind: PrivacyKind;
  label: string;
  expression: RegExp;
  /** A name that may be a part of an ordinary word. */
  word: string | undefined;
}

/** What the fields of a chat's settings find in a text. */
export class FieldSearch {
  readonly #looks: Look[] = [];
  readonly #values: Value[] = [];
  readonly #own: { label: string; pattern: string; index: number }[] = [];

  constructor(fields: readonly PrivacyField[]) {
    for (const [index, field] of fields.entries()) {
      const { kind, value, pattern } = field;
      const label = labelOf(field);
      if (kind === "pattern") {
        if (pattern !== undefined) this.#own.push({ label, pattern, index });
      } else if (value !== undefined)
        this.#values.push({
          kind,
          label,
          expression: spellings(kind, value),
          word: kind === "name" && isLikeWord(value) ? value.trim() : undefined,
        });
      else if (isFoundKind(kind))
        for (const look of valuePatterns[kind]) this.#looks.push({ kind, label, pattern: look });
    }
  }

  /** Values by what they look like. */
  look(text: string, out: Span[]): void {
    for (const { kind, label, pattern } of this.#looks) {
      const { expression, length, overlaps = false } = pattern;
      expression.lastIndex = 0;
      for (let found = expression.exec(text); found !== null; found = expression.exec(text)) {
        const before = found.groups?.["before"]?.length ?? 0;
        const value = before === 0 ? found[0] : found[0].slice(before);
        const start = found.index + before;
        const own = length === undefined ? value.length : length(value);
        if (own > 0) out.push({ start, end: start + own, kind, label });
        expression.lastIndex = own > 0 && !overlaps ? start + own : found.index + 1;
      }
    }
  }

  /** Values and patterns that the settings name. */
  find(text: string, out: Span[]): void {
    for (const { kind, label, expression, word } of this.#values)
      for (const { 0: found, index } of text.matchAll(expression)) {
        const end = index + found.length;
        if (word === undefined || isNameAt(text, index, end, word))
          out.push({ start: index, end, kind, label });
      }
    if (this.#own.length > 0) this.#findOwn(text, out);
  }

  /** Whether a value is one of the names that the settings have, or has one in it. */
  holdsName(value: string): boolean {
    return this.#values.some(
      ({ kind, expression }) => kind === "name" && value.search(expression) !== -1,
    );
  }

  #findOwn(text: string, out: Span[]): void {
    const patterns = this.#own.map(({ pattern }) => pattern);
    const found = searchBounded(patterns, text, limitMs);
    if ("slow" in found) {
      const { index, label } = this.#own[found.slow] ?? { index: 0, label: "" };
      // A pattern may hold the very value that it is for: it is told nowhere.
      throw new PrivacyError(
        "pattern_too_slow",
        `a text of ${text.length} characters could not be searched for private values in time; simplify the pattern of privacy.fields[${index}], ${label}`,
      );
    }
    for (const [index, ends] of found.entries())
      for (let at = 0; at + 1 < ends.length; at += 2) {
        const [start = 0, end = 0] = [ends[at], ends[at + 1]];
        if (end > start)
          out.push({ start, end, kind: "pattern", label: this.#own[index]?.label ?? "" });
      }
  }
}

/** Any case; a name's words may be joined by other than blanks, and digits be grouped in other ways. */
function spellings(kind: PrivacyKind, value: string): RegExp {
  const trimmed = value.trim();
  const isNumber = (kind === "phone" || kind === "card" || kind === "id") && /\d{2}/.test(trimmed);
  if (isNumber) {
    const characters = Array.from(trimmed.replaceAll(/[^\p{L}\p{N}]/gu, ""), escaped);
    const gaps = "(?:[ .()\\u00A0\\u2010-\\u2015/-]|%(?:20|28|29)){0,3}";
    return new RegExp(`\\+?${characters.join(gaps)}`, "gi");
  }
  const words = trimmed.normalize("NFC").split(/\s+/).map(escaped);
  const spelled = words.join(kind === "name" ? "(?:[\\s_.+-]|%20){0,3}" : "(?:\\s{1,8}|\\+|%20)");
  return new RegExp([spelled, ...formsOf(trimmed).slice(1).map(escaped)].join("|"), "gi");
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** Names of several words are in no other word, unless they are as short as "Li Na". */
function isLikeWord(name: string): boolean {
  const letters = name.match(/\p{L}/gu)?.length ?? 0;
  return letters < 7 || !/\s/.test(name.trim());
}

function isNameAt(text: string, start: number, end: number, name: string): boolean {
  return isEdge(text, start) && (isEdge(text, end) || endsInflected(text, start, end, name));
}
