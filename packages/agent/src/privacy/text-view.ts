import { searchInWindows } from "./search-windows.ts";

/**
 * A text in another spelling in which values can be found, and where each part of it is written in the text itself. Only
 * what is spelled differently is noted.
 */
export class TextView {
  text = "";
  readonly #source: string;
  #taken = 0;
  readonly #viewStart: number[] = [];
  readonly #viewEnd: number[] = [];
  readonly #sourceStart: number[] = [];
  readonly #sourceEnd: number[] = [];
  readonly #pieces: string[] = [];
  #length = 0;

  constructor(source: string) {
    this.#source = source;
  }

  get isSame(): boolean {
    return this.#viewStart.length === 0;
  }

  /** In the order of the text. */
  replace(start: number, end: number, by: string): void {
    this.#copy(start);
    this.#viewStart.push(this.#length);
    this.#viewEnd.push(this.#length + by.length);
    this.#sourceStart.push(start);
    this.#sourceEnd.push(end);
    this.#pieces.push(by);
    this.#length += by.length;
    this.#taken = end;
  }

  done(): this {
    if (this.isSame) this.text = this.#source;
    else {
      this.#copy(this.#source.length);
      this.text = this.#pieces.join("");
    }
    this.#pieces.length = 0;
    return this;
  }

  sourceStart(at: number): number {
    const index = this.#lastAtOrBefore(at);
    if (index < 0) return at;
    const end = this.#viewEnd[index] ?? 0;
    return at < end ? (this.#sourceStart[index] ?? 0) : (this.#sourceEnd[index] ?? 0) + at - end;
  }

  /** Of an end, which is behind the last character that is meant. */
  sourceEnd(at: number): number {
    const index = this.#lastAtOrBefore(at - 1);
    if (index < 0) return at;
    const end = this.#viewEnd[index] ?? 0;
    return (this.#sourceEnd[index] ?? 0) + (at - 1 < end ? 0 : at - end);
  }

  #copy(upTo: number): void {
    if (upTo <= this.#taken) return;
    this.#pieces.push(this.#source.slice(this.#taken, upTo));
    this.#length += upTo - this.#taken;
    this.#taken = upTo;
  }

  #lastAtOrBefore(at: number): number {
    let low = 0;
    let high = this.#viewStart.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#viewStart[middle] ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Stands for a placeholder where values are looked for: no value has it, and no word goes on over it. */
export const objectCharacter = "\uFFFC";

export function* withoutPlaceholders(
  text: string,
  placeholders: RegExp,
): Generator<void, TextView> {
  const view = new TextView(text);
  if (text.includes("{{"))
    yield* searchInWindows(placeholders, text, ({ 0: found }, index) => {
      view.replace(index, index + found.length, objectCharacter);
      return index + found.length;
    });
  return view.done();
}

/** Characters that are drawn as nothing: those that Unicode says so of, controls that are no blanks, and interlinear marks. */
const invisible = String.raw`\p{Default_Ignorable_Code_Point}\u0000-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\uFFF9-\uFFFB`;
const invisibles = new RegExp(`[${invisible}]+`, "gu");
const spellings = [
  String.raw`\\+(?:u[0-9a-fA-F]{4}|["'/nrt])|\\{2,}`,
  "(?:%(?:25)*[0-9a-fA-F]{2})+",
  "&(?:#\\d{1,7}|#x[0-9a-fA-F]{1,6}|amp|quot|apos|lt|gt|shy|zwj|zwnj);",
  "[\\uFF01-\\uFF5E]",
];
const letter = "[A-Za-z\\u00C0-\\u024F\\u0370-\\u04FF]";
const accents = "\\u0300-\\u036F";
const visibleSpelling = new RegExp([...spellings, `${letter}[${accents}]+`].join("|"), "g");
const anySpelling = new RegExp(
  [...spellings, `${letter}[${accents}${invisible}]+`, `[${invisible}]+`].join("|"),
  "gu",
);

/** The UTF-16 units with which an invisible character begins. */
let firstUnits: Uint8Array | undefined;

/** A loop over a table: an expression of these characters takes 8 to 18 ms for a MiB, this takes about one. */
function mayHaveInvisible(text: string): boolean {
  firstUnits ??= unitsOfInvisible();
  for (let at = 0; at < text.length; at += 1)
    if (firstUnits[text.charCodeAt(at)] === 1) return true;
  return false;
}

function unitsOfInvisible(): Uint8Array {
  const character = new RegExp(`[${invisible}]`, "u");
  return Uint8Array.from({ length: 0x1_00_00 }, (_, code) =>
    isFirstHalf(code) || character.test(String.fromCharCode(code)) ? 1 : 0,
  );
}

/** The high surrogates of U+1BCA0 to U+1BCA3, U+1D173 to U+1D17A, and U+E0000 to U+E0FFF. */
function isFirstHalf(code: number): boolean {
  return code === 0xd82f || code === 0xd834 || (code >= 0xdb40 && code <= 0xdb43);
}

/**
 * The text as it reads: JSON's escapes (of JSON within JSON too), percent-encoding, character references, full-width
 * letters and digits, and combining accents are the characters that they stand for; invisible characters are left out.
 */
export function* loosened(text: string): Generator<void, TextView> {
  const view = new TextView(text);
  const spelling = mayHaveInvisible(text) ? anySpelling : visibleSpelling;
  yield* searchInWindows(spelling, text, ({ 0: found }, index) => {
    if (found.startsWith("%")) readBytes(view, found, index);
    else {
      const reads = reading(found)?.replace(invisibles, "");
      if (reads !== undefined) view.replace(index, index + found.length, reads);
    }
    return index + found.length;
  });
  return view.done();
}

const characterNames: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&quot;": '"',
  "&apos;": "'",
  "&lt;": "<",
  "&gt;": ">",
  "&shy;": "",
  "&zwj;": "",
  "&zwnj;": "",
};
const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function reading(found: string): string | undefined {
  const first = found.charCodeAt(0);
  if (first === 0x5c) {
    const rest = found.replace(/^\\+/, "");
    if (rest === "") return "\\";
    return rest.length > 1
      ? String.fromCharCode(Number.parseInt(rest.slice(1), 16))
      : (controls[rest] ?? rest);
  }
  if (first === 0x26) {
    if (!found.startsWith("&#")) return characterNames[found];
    const hex = found[2] === "x";
    const code = Number.parseInt(found.slice(hex ? 3 : 2), hex ? 16 : 10);
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : undefined;
  }
  if (first >= 0xff01 && first <= 0xff5e) return String.fromCharCode(first - 0xfee0);
  return found.replace(invisibles, "").normalize("NFC");
}

/** Percent-encoded UTF-8, character by character; what is none stays. */
function readBytes(view: TextView, found: string, index: number): void {
  const bytes = [...found.matchAll(/%(?:25)*([0-9a-fA-F]{2})/g)];
  for (let at = 0; at < bytes.length;) {
    const first = Number.parseInt(bytes[at]?.[1] ?? "", 16);
    const count = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    const own = bytes.slice(at, at + count);
    const start = index + (own[0]?.index ?? 0);
    const last = own.at(-1);
    const end = index + (last === undefined ? 0 : last.index + last[0].length);
    at += count;
    try {
      const character = decodeURIComponent(own.map((byte) => `%${byte[1]}`).join(""));
      view.replace(start, end, character.replace(invisibles, ""));
    } catch {
      // Bytes that are no text: they stay as they are written.
    }
  }
}
