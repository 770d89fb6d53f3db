/** Where a secret stands in a text; `end` is behind it. */
export interface SecretRange {
  start: number;
  end: number;
}

/** Secrets, prepared for the search. */
export class SecretPatterns {
  /** The longest first: one secret may begin with another. */
  readonly #patterns: readonly Pattern[];
  readonly #byFirstCharacter = new Map<number, Pattern[]>();
  /** Matches wherever a secret can begin: its first characters, in any encoding. */
  readonly beginning: RegExp;

  constructor(secrets: readonly string[]) {
    const patterns = new Map<string, Pattern>();
    for (const secret of secrets)
      for (const pattern of patternsFor(secret)) patterns.set(pattern.key, pattern);
    this.#patterns = [...patterns.values()].toSorted((a, b) => b.codes.length - a.codes.length);
    for (const pattern of this.#patterns)
      for (const first of firstCharacters(pattern))
        this.#byFirstCharacter.set(first, [...(this.#byFirstCharacter.get(first) ?? []), pattern]);
    const beginnings = new Set(this.#patterns.map(beginningSource));
    this.beginning = new RegExp([...beginnings].join("|") || "(?!)", "g");
  }

  get isEmpty(): boolean {
    return this.#patterns.length === 0;
  }

  /** Those that may begin with this character. */
  startingWith(code: number): readonly Pattern[] {
    return this.#byFirstCharacter.get(code) ?? none;
  }
}

const none: readonly Pattern[] = [];

interface Pattern {
  key: string;
  /** The characters to be found, in UTF-16; a run of backslashes counts as one. */
  codes: readonly number[];
  /** `+` and `/` may be written as `-` and `_`. */
  isBase64: boolean;
}

/** How many characters the regular expression looks at, before each candidate is compared. */
const beginningLength = 3;
/** No encoding of a character is longer: `\\\\\\\\u0041`. */
const longestUnit = 13;
/** Escaped this often, at most: JSON within JSON within JSON has seven backslashes. */
const mostBackslashes = 8;
/** `%2525252541`, at most. */
const mostPercents = 4;

/** A text that ends with this much of a secret may have been cut within it. */
const cutPrefix = 6;
/** This much of a secret counts as the secret, and at least half of it. */
const longPrefix = 16;

/**
 * `complete`: only complete secrets. `prefixes`: long beginnings of a secret count as well, and so do short ones at the
 * end of the text. `stream`: complete secrets, and `openFrom`.
 */
export type SearchMode = "complete" | "prefixes" | "stream";

/**
 * Finds secrets. `openFrom` is where a secret may begin that the text does not hold completely; the length of the text
 * if there is none.
 */
export function findSecrets(
  patterns: SecretPatterns,
  text: string,
  mode: SearchMode,
): { ranges: SecretRange[]; openFrom: number } {
  const ranges: SecretRange[] = [];
  const { length } = text;
  if (patterns.isEmpty || length === 0) return { ranges, openFrom: length };
  const { beginning } = patterns;
  let openFrom = length;
  const look = (start: number): number | undefined => {
    for (const pattern of patterns.startingWith(text.charCodeAt(start))) {
      const { end, count, isOpen } = compare(text, start, pattern);
      const size = pattern.codes.length;
      if (count === size) return end;
      if (isOpen) openFrom = Math.min(openFrom, start);
      if (mode !== "prefixes") continue;
      if (isOpen && count >= cutPrefix) return length;
      if (count >= longPrefix && count * 2 >= size) return end;
    }
    return undefined;
  };
  let at = 0;
  beginning.lastIndex = 0;
  for (let found = beginning.exec(text); found !== null; found = beginning.exec(text)) {
    const start = found.index;
    const end = look(start);
    if (end !== undefined) ranges.push({ start, end });
    at = end ?? start + 1;
    beginning.lastIndex = at;
    if (openFrom < length && mode === "stream") break;
  }
  if (mode === "complete") return { ranges, openFrom };
  // Where less is left than the expression needs.
  const tail = length - beginningLength * longestUnit;
  for (let start = Math.max(at, tail, 0); start < Math.min(openFrom, length); start += 1) {
    const end = look(start);
    if (end === undefined) continue;
    ranges.push({ start, end });
    start = end - 1;
  }
  return { ranges, openFrom };
}

/** Compares a text from `start` with a pattern. `isOpen`: the text ended before they differed. */
function compare(
  text: string,
  start: number,
  { codes, isBase64 }: Pattern,
): { end: number; count: number; isOpen: boolean } {
  let end = start;
  for (let count = 0; count < codes.length; count += 1) {
    const next = behindCharacter(text, end, codes[count] as number, isBase64);
    if (next < 0) return { end, count, isOpen: next === ended };
    end = next;
  }
  return { end, count: codes.length, isOpen: false };
}

const differs = -1;
const ended = -2;

const [backslash, percent, ampersand, plus, minus, slash, underscore, space] = [
  0x5c, 0x25, 0x26, 0x2b, 0x2d, 0x2f, 0x5f, 0x20,
] as const;

/** The position behind a character at `at`, in whichever encoding; `differs`, or `ended` if the text ends within it. */
function behindCharacter(text: string, at: number, code: number, isBase64: boolean): number {
  if (at >= text.length) return ended;
  const found = text.charCodeAt(at);
  if (found === backslash) return behindEscape(text, at, code);
  // `%` and `&` may stand for themselves, or begin their own encoding.
  if (found === code && found !== percent && found !== ampersand) return at + 1;
  if (found === percent || found === ampersand) {
    const behind = found === percent ? behindPercents : behindEntity;
    const encoded = behind(text, at, code);
    const standsForItself = encoded === differs || at + 1 === text.length;
    return found === code && standsForItself ? at + 1 : encoded;
  }
  if (isBase64 && code === plus && found === minus) return at + 1;
  if (isBase64 && code === slash && found === underscore) return at + 1;
  return code === space && found === plus ? at + 1 : differs;
}

/** `\/`, `\"`, `\\`, `\u0041`, also escaped again. */
function behindEscape(text: string, at: number, code: number): number {
  let end = at + 1;
  while (end < at + mostBackslashes && text.charCodeAt(end) === backslash) end += 1;
  const escaped = text[end] === "u" ? behindHex(text, end + 1, 4, code) : differs;
  if (code === backslash) return escaped === differs ? end : escaped;
  if (end >= text.length) return ended;
  if (text[end] === "u") return escaped;
  const found = text.charCodeAt(end);
  return found === code && !isAlphanumeric(code) ? end + 1 : differs;
}

function behindPercents(text: string, at: number, code: number): number {
  let end = at + 1;
  for (let nth = 0; nth < mostPercents && text.startsWith("25", end); nth += 1) {
    const plain = behindHex(text, end, 2, code);
    if (plain > 0) return plain;
    end += 2;
  }
  if (text.length - end === 1 && text[end] === "2") return ended;
  return behindHex(text, end, 2, code);
}

function behindHex(text: string, at: number, digits: number, code: number): number {
  const written = text.slice(at, at + digits);
  const expected = code.toString(16).padStart(digits, "0");
  if (!expected.startsWith(written.toLowerCase())) return differs;
  return written.length === digits ? at + digits : ended;
}

const entities: ReadonlyMap<number, string> = new Map([
  [ampersand, "amp"],
  [0x3c, "lt"],
  [0x3e, "gt"],
  [0x22, "quot"],
  [0x27, "apos"],
]);

function behindEntity(text: string, at: number, code: number): number {
  let result = differs;
  for (const name of [entities.get(code), `#${code}`, `#0${code}`, `#x${code.toString(16)}`]) {
    if (name === undefined) continue;
    const expected = `&${name};`;
    const written = text.slice(at, at + expected.length).toLowerCase();
    if (written === expected) return at + expected.length;
    if (at + written.length === text.length && expected.startsWith(written)) result = ended;
  }
  return result;
}

/** A secret as it is, as UTF-8 read byte by byte, and its base64 at each of the three offsets behind `user:`. */
function patternsFor(secret: string): Pattern[] {
  const bytes = Buffer.from(secret, "utf8");
  const plain = [secret, bytes.toString("latin1")].map((text) => patternOf(text, false));
  const encoded = [0, 1, 2].map((offset) => {
    const written = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    // The first and the last characters also hold bits of what stands beside the secret.
    const first = Math.ceil((offset * 8) / 6);
    return patternOf(written.slice(first, Math.floor(((offset + bytes.length) * 8) / 6)), true);
  });
  return [...plain, ...encoded.filter(({ codes }) => codes.length >= longPrefix)];
}

function patternOf(text: string, isBase64: boolean): Pattern {
  const single = text.replaceAll(/\\+/g, "\\");
  const codes = Array.from({ length: single.length }, (_, at) => single.charCodeAt(at));
  return { key: `${isBase64} ${single}`, codes, isBase64 };
}

function firstCharacters({ codes: [first = 0], isBase64 }: Pattern): Set<number> {
  return new Set([
    first,
    backslash,
    percent,
    ampersand,
    ...(isBase64 && first === plus ? [minus] : []),
    ...(isBase64 && first === slash ? [underscore] : []),
    ...(first === space ? [plus] : []),
  ]);
}

/** An expression that matches wherever `compare` gets past the first characters. It may match elsewhere too. */
function beginningSource({ codes, isBase64 }: Pattern): string {
  return codes
    .slice(0, beginningLength)
    .map((code) => {
      const hex = hexSource(code.toString(16).padStart(2, "0"));
      const long = hexSource(code.toString(16).padStart(4, "0"));
      const plain = String.raw`\u${code.toString(16).padStart(4, "0")}`;
      const others = [
        ...(isBase64 && code === plus ? ["-"] : []),
        ...(isBase64 && code === slash ? ["_"] : []),
        ...(code === space ? ["[+]"] : []),
        String.raw`\\{1,8}u${long}`,
        ...(isAlphanumeric(code) ? [] : [String.raw`\\{1,8}${code === backslash ? "" : plain}`]),
        ...(code < 0x100 ? [`%(?:25){0,4}${hex}`] : []),
        "&[#\\w]{2,7};",
      ];
      return `(?:${[plain, ...others].join("|")})`;
    })
    .join("");
}

function hexSource(digits: string): string {
  return digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function isAlphanumeric(code: number): boolean {
  return /[0-9A-Za-z]/.test(String.fromCharCode(code));
}
