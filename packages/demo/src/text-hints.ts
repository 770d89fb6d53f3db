/**
 * What a text offers as values for arguments. Values are taken in the order in which they stand, each once; the last
 * one of a kind stays for whoever asks again.
 */
export class TextHints {
  readonly words: string;
  /** Names joined by commas or "and": Paris, Rome and Oslo. */
  readonly listed: readonly string[];
  readonly quoted: readonly string[];
  readonly names: readonly string[];
  readonly numbers: readonly number[];
  readonly #taken = { quoted: 0, names: 0, numbers: 0 };

  constructor(words: string, options: { names?: readonly string[] } = {}) {
    this.words = words;
    this.quoted = [...words.matchAll(quotation)].map((match) => match.slice(1).join(""));
    const plain = words.replaceAll(quotation, " ");
    this.names = options.names ?? properNames(plain);
    this.listed = listedNames(plain);
    this.numbers = [...plain.matchAll(/(?<![\w.])-?\d+(?:\.\d+)?(?![\w])/g)].map(([number]) =>
      Number(number),
    );
  }

  takeQuoted(): string | undefined {
    return this.quoted[this.#taken.quoted++];
  }

  takeName(): string | undefined {
    return this.names[this.#taken.names++];
  }

  takeNumber(): number | undefined {
    return this.numbers[this.#taken.numbers++] ?? this.numbers.at(-1);
  }

  /** The value that is said with a property's name: `city: Paris`, `to "Rome"`, `limit=5`. */
  stated(property: string): string | undefined {
    const name = wordsOf(property).map(escaped).join("[ _-]?");
    if (name === "") return undefined;
    const pattern = new RegExp(
      `(?<![\\w])(?:${name}|${escaped(property)})(?![\\w])["'\`]?(?:\\s*[:=]\\s*|\\s+(?:is|of|to|as|be)\\s+|\\s+)(?:"([^"]+)"|'([^']+)'|\`([^\`]+)\`)`,
      "i",
    );
    const quoted = pattern.exec(this.words);
    if (quoted !== null) return quoted.slice(1).join("");
    const bare = new RegExp(
      `(?<![\\w])(?:${name}|${escaped(property)})(?![\\w])(?:\\s*[:=]\\s*|\\s+is\\s+|\\s+)(-?\\d[\\d.]*\\d|\\d|\\p{Lu}[\\p{L}\\d-]*)`,
      "iu",
    ).exec(this.words)?.[1];
    if (bare !== undefined && /^(?:-?\d|\p{Lu})/u.test(bare)) return bare;
    const assigned = new RegExp(
      `(?<![\\w])(?:${name}|${escaped(property)})\\s*[:=]\\s*([^\\s,;]+)`,
      "i",
    ).exec(this.words)?.[1];
    return assigned;
  }

  mentions(value: string): boolean {
    const words = wordsOf(value);
    if (words.length === 0) return false;
    const pattern = words.map(escaped).join("[ _-]?");
    return new RegExp(`(?<![\\w])${pattern}(?![\\w])`, "i").test(this.words);
  }

  /** A piece of the text that has a form of its own. */
  find(form: RegExp): string | undefined {
    return form.exec(this.words)?.[0];
  }
}

/** The words of a name: snake_case, camelCase, kebab-case, `namespace__name`. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

const quotation = /"([^"]+)"|`([^`]+)`|“([^”]+)”|「([^」]+)」|(?<!\w)'([^']+)'(?!\w)/g;

const properName = /\p{Lu}[\p{L}\d'’-]*(?: \p{Lu}[\p{L}\d'’-]*)*/gu;

/** Capitalised words; the one that begins a sentence is none, or not known to be one. */
function properNames(text: string): string[] {
  return [...text.matchAll(properName)]
    .map((match) => (beginsSentence(text, match.index) ? withoutFirstWord(match[0]) : match[0]))
    .filter((name) => name !== "" && name !== "I");
}

function listedNames(text: string): string[] {
  const name = properName.source;
  const list = new RegExp(`${name}(?:(?:, and |, | and | & )${name})+`, "gu");
  const [longest] = [...text.matchAll(list)].toSorted(byLength);
  if (longest === undefined) return [];
  const [first = "", ...others] = longest[0].split(/, and |, | and | & /);
  const trimmed = beginsSentence(text, longest.index) ? withoutFirstWord(first) : first;
  return [trimmed === "" ? first : trimmed, ...others];
}

function beginsSentence(text: string, at: number): boolean {
  const before = text.slice(0, at).trimEnd();
  return before === "" || /[.!?:\n]$/.test(before);
}

function withoutFirstWord(name: string): string {
  return name.split(" ").slice(1).join(" ");
}

function byLength([one]: RegExpExecArray, [other]: RegExpExecArray): number {
  return other.length - one.length;
}

export function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
