/** The position of a secret in the text; `end` is exclusive. */
export interface SecretRange {
  start: number;
  end: number;
}

/** Secrets, compiled for the search. */
export class SecretPatterns {
  /** Longest first: one secret may be the beginning of another. */
  readonly #patterns: readonly SecretPattern[];
  readonly #byFirstCharacter = new Map<number, SecretPattern[]>();
  /** Matches wherever a secret can begin: its first characters, in any encoding. */
  readonly startPattern: RegExp;

  constructor(secrets: readonly string[]) {
    const patterns = new Map<string, SecretPattern>();
    for (const secret of secrets)
      for (const pattern of buildPatterns(secret)) patterns.set(pattern.key, pattern);
    this.#patterns = [...patterns.values()].toSorted((a, b) => b.codes.length - a.codes.length);
    for (const pattern of this.#patterns)
      for (const firstCode of listFirstCharacters(pattern))
        this.#byFirstCharacter.set(firstCode, [
          ...(this.#byFirstCharacter.get(firstCode) ?? []),
          pattern,
        ]);
    const startSources = new Set(this.#patterns.map(buildStartSource));
    this.startPattern = new RegExp([...startSources].join("|") || "(?!)", "g");
  }

  get isEmpty(): boolean {
    return this.#patterns.length === 0;
  }

  /** Returns the patterns that may start with this character. */
  getStartingWith(code: number): readonly SecretPattern[] {
    return this.#byFirstCharacter.get(code) ?? noPatterns;
  }
}

const noPatterns: readonly SecretPattern[] = [];

interface SecretPattern {
  key: string;
  /** The characters to be found, in UTF-16; a run of backslashes counts as one. */
  codes: readonly number[];
  /** `+` and `/` may be written as `-` and `_`. */
  isBase64: boolean;
}

/** Number of characters that `startPattern` matches, before a candidate is compared completely. */
const startLength = 3;
/** No encoding of a character is longer: `\\\\\\\\u0041`. */
const maxEncodedLength = 13;
/** JSON within JSON within JSON has seven backslashes. */
const maxBackslashes = 8;
/** Up to `%2525252541`. */
const maxPercentEncodings = 4;

/** This many characters of a secret at the end of the text count as a truncated secret. */
const minTruncatedPrefix = 6;
/** This many characters of a secret count as the secret anywhere, if they are at least half of it. */
const minLongPrefix = 16;

/**
 * `complete`: only complete secrets. `prefixes`: also long prefixes of a secret anywhere, and short ones at the end of the
 * text. `stream`: complete secrets, and `openStart`.
 */
export type SecretSearchMode = "complete" | "prefixes" | "stream";

/**
 * Finds secrets. `openStart` is where an incomplete secret at the end of the text may start; the length of the text
 * if there is none.
 */
export function findSecrets(
  patterns: SecretPatterns,
  text: string,
  mode: SecretSearchMode,
): { ranges: SecretRange[]; openStart: number } {
  const ranges: SecretRange[] = [];
  const { length } = text;
  if (patterns.isEmpty || length === 0) return { ranges, openStart: length };
  const { startPattern } = patterns;
  let openStart = length;
  const matchAt = (start: number): number | undefined => {
    for (const pattern of patterns.getStartingWith(text.charCodeAt(start))) {
      const { end, count, isOpen } = comparePattern(text, start, pattern);
      const size = pattern.codes.length;
      if (count === size) return end;
      if (isOpen) openStart = Math.min(openStart, start);
      if (mode !== "prefixes") continue;
      if (isOpen && count >= minTruncatedPrefix) return length;
      if (count >= minLongPrefix && count * 2 >= size) return end;
    }
    return undefined;
  };
  let index = 0;
  startPattern.lastIndex = 0;
  for (let match = startPattern.exec(text); match !== null; match = startPattern.exec(text)) {
    const start = match.index;
    const end = matchAt(start);
    if (end !== undefined) ranges.push({ start, end });
    index = end ?? start + 1;
    startPattern.lastIndex = index;
    if (openStart < length && mode === "stream") break;
  }
  if (mode === "complete") return { ranges, openStart };
  // Near the end, where the text is too short for `startPattern`.
  const tail = length - startLength * maxEncodedLength;
  for (let start = Math.max(index, tail, 0); start < Math.min(openStart, length); start += 1) {
    const end = matchAt(start);
    if (end === undefined) continue;
    ranges.push({ start, end });
    start = end - 1;
  }
  return { ranges, openStart };
}

/** Compares the text from `start` with a pattern. `isOpen`: the text ended before they differed. */
function comparePattern(
  text: string,
  start: number,
  { codes, isBase64 }: SecretPattern,
): { end: number; count: number; isOpen: boolean } {
  let end = start;
  for (let count = 0; count < codes.length; count += 1) {
    const next = skipCharacter(text, end, codes[count] as number, isBase64);
    if (next < 0) return { end, count, isOpen: next === endOfText };
    end = next;
  }
  return { end, count: codes.length, isOpen: false };
}

const mismatch = -1;
const endOfText = -2;

const [backslash, percent, ampersand, plus, minus, slash, underscore, space] = [
  0x5c, 0x25, 0x26, 0x2b, 0x2d, 0x2f, 0x5f, 0x20,
] as const;

/** Returns the position after the character at `index`, in any encoding; `mismatch`, or `endOfText` if the text ends within it. */
function skipCharacter(text: string, index: number, code: number, isBase64: boolean): number {
  if (index >= text.length) return endOfText;
  const actual = text.charCodeAt(index);
  if (actual === backslash) return skipEscape(text, index, code);
  // `%` and `&` may stand for themselves, or begin their own encoding.
  if (actual === code && actual !== percent && actual !== ampersand) return index + 1;
  if (actual === percent || actual === ampersand) {
    const skipEncoding = actual === percent ? skipPercentEncoding : skipEntity;
    const encoded = skipEncoding(text, index, code);
    const isLiteral = encoded === mismatch || index + 1 === text.length;
    return actual === code && isLiteral ? index + 1 : encoded;
  }
  if (isBase64 && code === plus && actual === minus) return index + 1;
  if (isBase64 && code === slash && actual === underscore) return index + 1;
  return code === space && actual === plus ? index + 1 : mismatch;
}

/** Skips `\/`, `\"`, `\\` or `\u0041`, even if it is escaped again. */
function skipEscape(text: string, index: number, code: number): number {
  let end = index + 1;
  while (end < index + maxBackslashes && text.charCodeAt(end) === backslash) end += 1;
  const escaped = text[end] === "u" ? skipHex(text, end + 1, 4, code) : mismatch;
  if (code === backslash) return escaped === mismatch ? end : escaped;
  if (end >= text.length) return endOfText;
  if (text[end] === "u") return escaped;
  const actual = text.charCodeAt(end);
  return actual === code && !isAlphanumeric(code) ? end + 1 : mismatch;
}

function skipPercentEncoding(text: string, index: number, code: number): number {
  let end = index + 1;
  for (let level = 0; level < maxPercentEncodings && text.startsWith("25", end); level += 1) {
    const plain = skipHex(text, end, 2, code);
    if (plain > 0) return plain;
    end += 2;
  }
  if (text.length - end === 1 && text[end] === "2") return endOfText;
  return skipHex(text, end, 2, code);
}

function skipHex(text: string, index: number, digits: number, code: number): number {
  const written = text.slice(index, index + digits);
  const expected = code.toString(16).padStart(digits, "0");
  if (!expected.startsWith(written.toLowerCase())) return mismatch;
  return written.length === digits ? index + digits : endOfText;
}

const entities: ReadonlyMap<number, string> = new Map([
  [ampersand, "amp"],
  [0x3c, "lt"],
  [0x3e, "gt"],
  [0x22, "quot"],
  [0x27, "apos"],
]);

function skipEntity(text: string, index: number, code: number): number {
  let result = mismatch;
  for (const name of [entities.get(code), `#${code}`, `#0${code}`, `#x${code.toString(16)}`]) {
    if (name === undefined) continue;
    const expected = `&${name};`;
    const written = text.slice(index, index + expected.length).toLowerCase();
    if (written === expected) return index + expected.length;
    if (index + written.length === text.length && expected.startsWith(written)) result = endOfText;
  }
  return result;
}

/** Builds patterns for the plain secret, its UTF-8 decoded as Latin-1, and its base64 at each of the three offsets after `user:`. */
function buildPatterns(secret: string): SecretPattern[] {
  const bytes = Buffer.from(secret, "utf8");
  const plain = [secret, bytes.toString("latin1")].map((text) => buildPattern(text, false));
  const encoded = [0, 1, 2].map((offset) => {
    const written = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    // The first and last base64 characters also encode bits of adjacent bytes.
    const firstIndex = Math.ceil((offset * 8) / 6);
    return buildPattern(
      written.slice(firstIndex, Math.floor(((offset + bytes.length) * 8) / 6)),
      true,
    );
  });
  return [...plain, ...encoded.filter(({ codes }) => codes.length >= minLongPrefix)];
}

function buildPattern(text: string, isBase64: boolean): SecretPattern {
  const collapsed = text.replaceAll(/\\+/g, "\\");
  const codes = Array.from({ length: collapsed.length }, (_, index) => collapsed.charCodeAt(index));
  return { key: `${isBase64} ${collapsed}`, codes, isBase64 };
}

function listFirstCharacters({ codes: [first = 0], isBase64 }: SecretPattern): Set<number> {
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

/** Returns the source of an expression that matches everywhere `comparePattern` gets past the first characters, and maybe elsewhere. */
function buildStartSource({ codes, isBase64 }: SecretPattern): string {
  return codes
    .slice(0, startLength)
    .map((code) => {
      const twoDigitHex = buildHexSource(code.toString(16).padStart(2, "0"));
      const fourDigitHex = buildHexSource(code.toString(16).padStart(4, "0"));
      const plain = String.raw`\u${code.toString(16).padStart(4, "0")}`;
      const others = [
        ...(isBase64 && code === plus ? ["-"] : []),
        ...(isBase64 && code === slash ? ["_"] : []),
        ...(code === space ? ["[+]"] : []),
        String.raw`\\{1,8}u${fourDigitHex}`,
        ...(isAlphanumeric(code) ? [] : [String.raw`\\{1,8}${code === backslash ? "" : plain}`]),
        ...(code < 0x100 ? [`%(?:25){0,4}${twoDigitHex}`] : []),
        "&[#\\w]{2,7};",
      ];
      return `(?:${[plain, ...others].join("|")})`;
    })
    .join("");
}

function buildHexSource(digits: string): string {
  return digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function isAlphanumeric(code: number): boolean {
  return /[0-9A-Za-z]/.test(String.fromCharCode(code));
}
