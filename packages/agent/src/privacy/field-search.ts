import type { PrivacyField, PrivacyKind } from "@deltawire/tasks/chats";
import { SearchTooComplexError, type LinearPattern } from "../patterns/linear-pattern.ts";
import { endsInflected, isEdge } from "./edges.ts";
import { compileOwnPattern } from "./own-pattern.ts";
import { valuePatterns, type FoundKind, type ValuePattern } from "./patterns.ts";
import { formsOf } from "./placeholder.ts";
import { PrivacyError } from "./privacy-error.ts";
import { searchInWindows } from "./search-windows.ts";
import type { Span } from "./spans.ts";

/** What patterns of the user's own may read of one text, all together: it takes about a fifth of a second. */
const maxCharacters = 8_000_000;

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
  readonly #own: { label: string; pattern: LinearPattern; index: number }[] = [];

  constructor(fields: readonly PrivacyField[]) {
    for (const [index, field] of fields.entries()) {
      const { kind, value, pattern } = field;
      const label = labelOf(field);
      if (kind === "pattern") {
        const own = compileOwnPattern(pattern ?? "");
        // Without it the values that it is for would be sent unmasked.
        if (own.problem !== undefined)
          throw new PrivacyError("bad_fields", `[${index}].pattern: ${own.problem}`);
        this.#own.push({ label, pattern: own.compiled, index });
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
  *look(text: string, out: Span[]): Generator<void> {
    for (const { kind, label, pattern } of this.#looks) {
      const { expression, length, overlaps = false } = pattern;
      yield* searchInWindows(expression, text, (found, index) => {
        const before = found.groups?.["before"]?.length ?? 0;
        const value = before === 0 ? found[0] : found[0].slice(before);
        const start = index + before;
        const own = length === undefined ? value.length : length(value);
        if (own > 0) out.push({ start, end: start + own, kind, label });
        return own > 0 && !overlaps ? start + own : index + 1;
      });
    }
  }

  /** Values and patterns that the settings name. */
  *find(text: string, out: Span[]): Generator<void> {
    for (const { kind, label, expression, word } of this.#values)
      yield* searchInWindows(expression, text, ({ 0: found }, index) => {
        const end = index + found.length;
        if (word === undefined || isNameAt(text, index, end, word))
          out.push({ start: index, end, kind, label });
        return end;
      });
    if (this.#own.length > 0) yield* this.#findOwn(text, out);
  }

  /** Whether a value is one of the names that the settings have, or has one in it. */
  holdsName(value: string): boolean {
    return this.#values.some(
      ({ kind, expression }) => kind === "name" && value.search(expression) !== -1,
    );
  }

  *#findOwn(text: string, out: Span[]): Generator<void> {
    const own = this.#own.filter(({ pattern }) => pattern.mayBeIn(text));
    if (own.length > 1 && own.length * text.length > maxCharacters)
      throw new PrivacyError(
        "pattern_too_slow",
        `a text of ${text.length} characters is too long to be searched for ${own.length} patterns; send it in parts, use fewer patterns, or begin them with fixed characters`,
      );
    for (const { label, pattern, index } of own) {
      const spans = yield* this.#search(pattern, text, index, label);
      for (let at = 0; at < spans.length; at += 2)
        out.push({ start: spans[at] ?? 0, end: spans[at + 1] ?? 0, kind: "pattern", label });
    }
  }

  *#search(
    pattern: LinearPattern,
    text: string,
    index: number,
    label: string,
  ): Generator<void, number[]> {
    try {
      return yield* pattern.findAllSteps(text);
    } catch (error) {
      if (!(error instanceof SearchTooComplexError)) throw error;
      // A pattern may contain the very value that it is for: no message quotes it.
      throw new PrivacyError(
        "pattern_too_slow",
        `a text of ${text.length} characters could not be searched for private values; simplify the pattern of privacy.fields[${index}], ${label}`,
      );
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
