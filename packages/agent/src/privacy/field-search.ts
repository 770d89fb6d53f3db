import type { PrivacyField, PrivacyKind } from "@deltawire/tasks/chats";
import { SearchTooComplexError, type LinearPattern } from "../patterns/linear-pattern.ts";
import { hasInflectedEnding, isWordBoundary } from "./word-boundaries.ts";
import { compileCustomPattern } from "./custom-pattern.ts";
import { valuePatterns, type DetectableKind, type ValuePattern } from "./value-patterns.ts";
import { listEncodedForms } from "./placeholder.ts";
import { PrivacyError } from "./privacy-error.ts";
import { searchInWindows } from "./search-windows.ts";
import type { PrivateSpan } from "./merge-spans.ts";

/** Limit on text length times number of custom patterns. A search at this limit takes about 200 ms. */
const maxCustomPatternCharacters = 8_000_000;

/** Returns the label in the placeholders of a field, for example `EMAIL`. */
export function getFieldLabel({ kind, label }: PrivacyField): string {
  return (label ?? kind).toUpperCase();
}

export function isDetectableKind(kind: string): kind is DetectableKind {
  return Object.hasOwn(valuePatterns, kind);
}

interface ValueDetector {
  kind: PrivacyKind;
  label: string;
  pattern: ValuePattern;
}
interface ConfiguredValue {
  kind: PrivacyKind;
  label: string;
  expression: RegExp;
  /** Set for a name that may occur inside ordinary words, such as "Mark" in "market". */
  wordName: string | undefined;
}

/** Finds the private values that the privacy fields of a chat describe. */
export class FieldSearch {
  readonly #detectors: ValueDetector[] = [];
  readonly #configuredValues: ConfiguredValue[] = [];
  readonly #customPatterns: { label: string; pattern: LinearPattern; index: number }[] = [];

  constructor(fields: readonly PrivacyField[]) {
    for (const [index, field] of fields.entries()) {
      const { kind, value, pattern } = field;
      const label = getFieldLabel(field);
      if (kind === "pattern") {
        const custom = compileCustomPattern(pattern ?? "");
        // Skipping the pattern would send the values that it matches unmasked.
        if (custom.problem !== undefined)
          throw new PrivacyError("bad_fields", `[${index}].pattern: ${custom.problem}`);
        this.#customPatterns.push({ label, pattern: custom.compiled, index });
      } else if (value !== undefined)
        this.#configuredValues.push({
          kind,
          label,
          expression: compileSpellings(kind, value),
          wordName: kind === "name" && isWordLike(value) ? value.trim() : undefined,
        });
      else if (isDetectableKind(kind))
        for (const valuePattern of valuePatterns[kind])
          this.#detectors.push({ kind, label, pattern: valuePattern });
    }
  }

  /** Finds values by their format, such as email addresses. Appends them to `foundSpans`. */
  *findDetectable(text: string, foundSpans: PrivateSpan[]): Generator<void> {
    for (const { kind, label, pattern } of this.#detectors) {
      const { expression, measure, overlaps = false } = pattern;
      yield* searchInWindows(expression, text, (match, index) => {
        const contextLength = match.groups?.["before"]?.length ?? 0;
        const value = contextLength === 0 ? match[0] : match[0].slice(contextLength);
        const start = index + contextLength;
        const length = measure === undefined ? value.length : measure(value);
        if (length > 0) foundSpans.push({ start, end: start + length, kind, label });
        return length > 0 && !overlaps ? start + length : index + 1;
      });
    }
  }

  /** Finds the values and custom patterns given in the settings. Appends them to `foundSpans`. */
  *findConfigured(text: string, foundSpans: PrivateSpan[]): Generator<void> {
    for (const { kind, label, expression, wordName } of this.#configuredValues)
      yield* searchInWindows(expression, text, ({ 0: match }, index) => {
        const end = index + match.length;
        if (wordName === undefined || isNameAt(text, index, end, wordName))
          foundSpans.push({ start: index, end, kind, label });
        return end;
      });
    if (this.#customPatterns.length > 0) yield* this.#findCustom(text, foundSpans);
  }

  /** True if the value is or contains a name given in the settings. */
  containsName(value: string): boolean {
    return this.#configuredValues.some(
      ({ kind, expression }) => kind === "name" && value.search(expression) !== -1,
    );
  }

  *#findCustom(text: string, foundSpans: PrivateSpan[]): Generator<void> {
    const candidates = this.#customPatterns.filter(({ pattern }) => pattern.mayMatch(text));
    if (candidates.length > 1 && candidates.length * text.length > maxCustomPatternCharacters)
      throw new PrivacyError(
        "pattern_too_slow",
        `text of ${text.length} characters is too long to search for ${candidates.length} patterns; split the text, use fewer patterns, or start each pattern with fixed characters`,
      );
    for (const { label, pattern, index } of candidates) {
      const spans = yield* this.#searchCustom(pattern, text, index, label);
      for (let spanIndex = 0; spanIndex < spans.length; spanIndex += 2)
        foundSpans.push({
          start: spans[spanIndex] ?? 0,
          end: spans[spanIndex + 1] ?? 0,
          kind: "pattern",
          label,
        });
    }
  }

  *#searchCustom(
    pattern: LinearPattern,
    text: string,
    index: number,
    label: string,
  ): Generator<void, number[]> {
    try {
      return yield* pattern.findAllSteps(text);
    } catch (error) {
      if (!(error instanceof SearchTooComplexError)) throw error;
      // The message does not quote the pattern: it may contain the private value itself.
      throw new PrivacyError(
        "pattern_too_slow",
        `text of ${text.length} characters could not be searched for private values; simplify the pattern of privacy.fields[${index}], ${label}`,
      );
    }
  }
}

/**
 * Returns an expression that matches a value regardless of case, with other separators between the words of a name, and with digits
 * grouped in other ways.
 */
function compileSpellings(kind: PrivacyKind, value: string): RegExp {
  const trimmed = value.trim();
  const isNumber = (kind === "phone" || kind === "card" || kind === "id") && /\d{2}/.test(trimmed);
  if (isNumber) {
    const characters = Array.from(trimmed.replaceAll(/[^\p{L}\p{N}]/gu, ""), escapeForPattern);
    const gaps = "(?:[ .()\\u00A0\\u2010-\\u2015/-]|%(?:20|28|29)){0,3}";
    return new RegExp(`\\+?${characters.join(gaps)}`, "gi");
  }
  const words = trimmed.normalize("NFC").split(/\s+/).map(escapeForPattern);
  const spacedPattern = words.join(
    kind === "name" ? "(?:[\\s_.+-]|%20){0,3}" : "(?:\\s{1,8}|\\+|%20)",
  );
  return new RegExp(
    [spacedPattern, ...listEncodedForms(trimmed).slice(1).map(escapeForPattern)].join("|"),
    "gi",
  );
}

function escapeForPattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** True for names that may occur inside other words: single words, and names as short as "Li Na". */
function isWordLike(name: string): boolean {
  const letters = name.match(/\p{L}/gu)?.length ?? 0;
  return letters < 7 || !/\s/.test(name.trim());
}

function isNameAt(text: string, start: number, end: number, name: string): boolean {
  return (
    isWordBoundary(text, start) &&
    (isWordBoundary(text, end) || hasInflectedEnding(text, start, end, name))
  );
}
