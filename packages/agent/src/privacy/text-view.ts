import { searchInWindows } from "./search-windows.ts";

/**
 * A decoded or normalized form of text, in which values are searched, with a mapping of positions back to the source.
 * Stores only the parts that differ.
 */
export class TextView {
  text = "";
  readonly #source: string;
  #copiedTo = 0;
  readonly #viewStart: number[] = [];
  readonly #viewEnd: number[] = [];
  readonly #sourceStart: number[] = [];
  readonly #sourceEnd: number[] = [];
  readonly #pieces: string[] = [];
  #length = 0;

  constructor(source: string) {
    this.#source = source;
  }

  get isUnchanged(): boolean {
    return this.#viewStart.length === 0;
  }

  /** Replaces `source[start, end)` in the view. Must be called in ascending order. */
  replace(start: number, end: number, replacement: string): void {
    this.#copy(start);
    this.#viewStart.push(this.#length);
    this.#viewEnd.push(this.#length + replacement.length);
    this.#sourceStart.push(start);
    this.#sourceEnd.push(end);
    this.#pieces.push(replacement);
    this.#length += replacement.length;
    this.#copiedTo = end;
  }

  finish(): this {
    if (this.isUnchanged) this.text = this.#source;
    else {
      this.#copy(this.#source.length);
      this.text = this.#pieces.join("");
    }
    this.#pieces.length = 0;
    return this;
  }

  /** Converts a position in the view to one in the source. */
  toSourceStart(position: number): number {
    const index = this.#findReplacementIndex(position);
    if (index < 0) return position;
    const end = this.#viewEnd[index] ?? 0;
    return position < end
      ? (this.#sourceStart[index] ?? 0)
      : (this.#sourceEnd[index] ?? 0) + position - end;
  }

  /** Like `toSourceStart`, for an exclusive end. */
  toSourceEnd(position: number): number {
    const index = this.#findReplacementIndex(position - 1);
    if (index < 0) return position;
    const end = this.#viewEnd[index] ?? 0;
    return (this.#sourceEnd[index] ?? 0) + (position - 1 < end ? 0 : position - end);
  }

  #copy(upTo: number): void {
    if (upTo <= this.#copiedTo) return;
    this.#pieces.push(this.#source.slice(this.#copiedTo, upTo));
    this.#length += upTo - this.#copiedTo;
    this.#copiedTo = upTo;
  }

  /** Returns the index of the last replacement that starts at a position or before it; -1 if there is none. */
  #findReplacementIndex(position: number): number {
    let low = 0;
    let high = this.#viewStart.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#viewStart[middle] ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Stands for a placeholder in a view: it occurs in no value, and ends a word. */
export const placeholderCharacter = "\uFFFC";

export function* hidePlaceholders(text: string, placeholders: RegExp): Generator<void, TextView> {
  const view = new TextView(text);
  if (text.includes("{{"))
    yield* searchInWindows(placeholders, text, ({ 0: matched }, index) => {
      view.replace(index, index + matched.length, placeholderCharacter);
      return index + matched.length;
    });
  return view.finish();
}

/** Characters without a glyph: default ignorable code points, control characters except whitespace, and interlinear marks. */
const invisibleClass = String.raw`\p{Default_Ignorable_Code_Point}\u0000-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\uFFF9-\uFFFB`;
const invisiblePattern = new RegExp(`[${invisibleClass}]+`, "gu");
const spellingPatterns = [
  String.raw`\\+(?:u[0-9a-fA-F]{4}|["'/nrt])|\\{2,}`,
  "(?:%(?:25)*[0-9a-fA-F]{2})+",
  "&(?:#\\d{1,7}|#x[0-9a-fA-F]{1,6}|amp|quot|apos|lt|gt|shy|zwj|zwnj);",
  "[\\uFF01-\\uFF5E]",
];
const letterClass = "[A-Za-z\\u00C0-\\u024F\\u0370-\\u04FF]";
const accentClass = "\\u0300-\\u036F";
const visibleSpelling = new RegExp(
  [...spellingPatterns, `${letterClass}[${accentClass}]+`].join("|"),
  "g",
);
const anySpelling = new RegExp(
  [
    ...spellingPatterns,
    `${letterClass}[${accentClass}${invisibleClass}]+`,
    `[${invisibleClass}]+`,
  ].join("|"),
  "gu",
);

/** By UTF-16 unit: 1 if an invisible character may start with it. */
let invisibleUnits: Uint8Array | undefined;

/** A table lookup: a regular expression takes 8 to 18 ms for a MiB of text, this about 1 ms. */
function mayContainInvisible(text: string): boolean {
  invisibleUnits ??= buildInvisibleUnits();
  for (let index = 0; index < text.length; index += 1)
    if (invisibleUnits[text.charCodeAt(index)] === 1) return true;
  return false;
}

function buildInvisibleUnits(): Uint8Array {
  const character = new RegExp(`[${invisibleClass}]`, "u");
  return Uint8Array.from({ length: 0x1_00_00 }, (_, code) =>
    isInvisibleHighSurrogate(code) || character.test(String.fromCharCode(code)) ? 1 : 0,
  );
}

/** The high surrogates of U+1BCA0 to U+1BCA3, U+1D173 to U+1D17A, and U+E0000 to U+E0FFF. */
function isInvisibleHighSurrogate(code: number): boolean {
  return code === 0xd82f || code === 0xd834 || (code >= 0xdb40 && code <= 0xdb43);
}

/**
 * Returns a view of the text with JSON escapes (also of JSON within JSON), percent-encoding, character references,
 * full-width letters and digits, and combining accents decoded, and invisible characters removed.
 */
export function* normalizeSpelling(text: string): Generator<void, TextView> {
  const view = new TextView(text);
  const spelling = mayContainInvisible(text) ? anySpelling : visibleSpelling;
  yield* searchInWindows(spelling, text, ({ 0: matched }, index) => {
    if (matched.startsWith("%")) decodePercentBytes(view, matched, index);
    else {
      const decodedText = decodeSpelling(matched)?.replace(invisiblePattern, "");
      if (decodedText !== undefined) view.replace(index, index + matched.length, decodedText);
    }
    return index + matched.length;
  });
  return view.finish();
}

const namedEntities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&quot;": '"',
  "&apos;": "'",
  "&lt;": "<",
  "&gt;": ">",
  "&shy;": "",
  "&zwj;": "",
  "&zwnj;": "",
};
const controlEscapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function decodeSpelling(matched: string): string | undefined {
  const firstCode = matched.charCodeAt(0);
  if (firstCode === 0x5c) {
    const escapedPart = matched.replace(/^\\+/, "");
    if (escapedPart === "") return "\\";
    return escapedPart.length > 1
      ? String.fromCharCode(Number.parseInt(escapedPart.slice(1), 16))
      : (controlEscapes[escapedPart] ?? escapedPart);
  }
  if (firstCode === 0x26) {
    if (!matched.startsWith("&#")) return namedEntities[matched];
    const isHex = matched[2] === "x";
    const code = Number.parseInt(matched.slice(isHex ? 3 : 2), isHex ? 16 : 10);
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : undefined;
  }
  if (firstCode >= 0xff01 && firstCode <= 0xff5e) return String.fromCharCode(firstCode - 0xfee0);
  return matched.replace(invisiblePattern, "").normalize("NFC");
}

/** Decodes percent-encoded UTF-8, character by character. Invalid sequences stay unchanged. */
function decodePercentBytes(view: TextView, matched: string, index: number): void {
  const bytes = [...matched.matchAll(/%(?:25)*([0-9a-fA-F]{2})/g)];
  for (let byteIndex = 0; byteIndex < bytes.length;) {
    const firstByte = Number.parseInt(bytes[byteIndex]?.[1] ?? "", 16);
    const count = firstByte < 0x80 ? 1 : firstByte >= 0xf0 ? 4 : firstByte >= 0xe0 ? 3 : 2;
    const sequence = bytes.slice(byteIndex, byteIndex + count);
    const start = index + (sequence[0]?.index ?? 0);
    const lastByte = sequence.at(-1);
    const end = index + (lastByte === undefined ? 0 : lastByte.index + lastByte[0].length);
    byteIndex += count;
    try {
      const character = decodeURIComponent(sequence.map((byte) => `%${byte[1]}`).join(""));
      view.replace(start, end, character.replace(invisiblePattern, ""));
    } catch {
      // Not valid UTF-8.
    }
  }
}
