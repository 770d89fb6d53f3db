/**
 * Values for tool arguments, extracted from a prompt. The `take…` methods return each value once, in order; the last number is
 * repeated.
 */
export class PromptValues {
  readonly text: string;
  /** Names joined by commas or "and", such as Paris, Rome and Oslo. */
  readonly listedNames: readonly string[];
  readonly quotedTexts: readonly string[];
  readonly names: readonly string[];
  readonly numbers: readonly number[];
  readonly #takenCounts = { quoted: 0, names: 0, numbers: 0 };

  constructor(text: string, options: { names?: readonly string[] } = {}) {
    this.text = text;
    this.quotedTexts = [...text.matchAll(quotationPattern)].map((match) => match.slice(1).join(""));
    const unquotedText = text.replaceAll(quotationPattern, " ");
    this.names = options.names ?? findProperNames(unquotedText);
    this.listedNames = findListedNames(unquotedText);
    this.numbers = [...unquotedText.matchAll(/(?<![\w.])-?\d+(?:\.\d+)?(?![\w])/g)].map(
      ([number]) => Number(number),
    );
  }

  takeQuoted(): string | undefined {
    return this.quotedTexts[this.#takenCounts.quoted++];
  }

  takeName(): string | undefined {
    return this.names[this.#takenCounts.names++];
  }

  takeNumber(): number | undefined {
    return this.numbers[this.#takenCounts.numbers++] ?? this.numbers.at(-1);
  }

  /** Returns the value next to a property's name: `city: Paris`, `to "Rome"`, `limit=5`. */
  findStatedValue(property: string): string | undefined {
    const name = splitWords(property).map(escapeRegExp).join("[ _-]?");
    if (name === "") return undefined;
    const pattern = new RegExp(
      `(?<![\\w])(?:${name}|${escapeRegExp(property)})(?![\\w])["'\`]?(?:\\s*[:=]\\s*|\\s+(?:is|of|to|as|be)\\s+|\\s+)(?:"([^"]+)"|'([^']+)'|\`([^\`]+)\`)`,
      "i",
    );
    const quotedMatch = pattern.exec(this.text);
    if (quotedMatch !== null) return quotedMatch.slice(1).join("");
    const unquotedValue = new RegExp(
      `(?<![\\w])(?:${name}|${escapeRegExp(property)})(?![\\w])(?:\\s*[:=]\\s*|\\s+is\\s+|\\s+)(-?\\d[\\d.]*\\d|\\d|\\p{Lu}[\\p{L}\\d-]*)`,
      "iu",
    ).exec(this.text)?.[1];
    if (unquotedValue !== undefined && /^(?:-?\d|\p{Lu})/u.test(unquotedValue))
      return unquotedValue;
    const assignedValue = new RegExp(
      `(?<![\\w])(?:${name}|${escapeRegExp(property)})\\s*[:=]\\s*([^\\s,;]+)`,
      "i",
    ).exec(this.text)?.[1];
    return assignedValue;
  }

  mentions(value: string): boolean {
    const words = splitWords(value);
    if (words.length === 0) return false;
    const pattern = words.map(escapeRegExp).join("[ _-]?");
    return new RegExp(`(?<![\\w])${pattern}(?![\\w])`, "i").test(this.text);
  }

  /** Returns the first match of the pattern in the text. */
  findMatch(pattern: RegExp): string | undefined {
    return pattern.exec(this.text)?.[0];
  }
}

/** Splits a name into words: snake_case, camelCase, kebab-case, `namespace__name`. */
export function splitWords(name: string): string[] {
  return name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

const quotationPattern = /"([^"]+)"|`([^`]+)`|“([^”]+)”|「([^」]+)」|(?<!\w)'([^']+)'(?!\w)/g;

const properNamePattern = /\p{Lu}[\p{L}\d'’-]*(?: \p{Lu}[\p{L}\d'’-]*)*/gu;

/** Returns capitalized words, except the first word of a sentence. */
function findProperNames(text: string): string[] {
  return [...text.matchAll(properNamePattern)]
    .map((match) => (isSentenceStart(text, match.index) ? dropFirstWord(match[0]) : match[0]))
    .filter((name) => name !== "" && name !== "I");
}

function findListedNames(text: string): string[] {
  const name = properNamePattern.source;
  const list = new RegExp(`${name}(?:(?:, and |, | and | & )${name})+`, "gu");
  const [longest] = [...text.matchAll(list)].toSorted(byLengthDescending);
  if (longest === undefined) return [];
  const [first = "", ...others] = longest[0].split(/, and |, | and | & /);
  const firstName = isSentenceStart(text, longest.index) ? dropFirstWord(first) : first;
  return [firstName === "" ? first : firstName, ...others];
}

function isSentenceStart(text: string, index: number): boolean {
  const precedingText = text.slice(0, index).trimEnd();
  return precedingText === "" || /[.!?:\n]$/.test(precedingText);
}

function dropFirstWord(name: string): string {
  return name.split(" ").slice(1).join(" ");
}

function byLengthDescending([first]: RegExpExecArray, [second]: RegExpExecArray): number {
  return second.length - first.length;
}

export function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
