import { parse } from "smol-toml";

/** Keys, and indexes of lists: `["models", "best", 1]`. */
export type KeyPath = readonly (string | number)[];

/** Offsets in the text; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One name of a dotted key. */
interface KeyPart extends Span {
  readonly name: string;
  /** Its index in the path. */
  readonly index: number;
}

/** `[a.b]` or `[[a.b]]`, whose path ends with an index. */
interface TomlHeader {
  readonly path: KeyPath;
  readonly parts: readonly KeyPart[];
  /** Including the line end. */
  readonly line: Span;
}

/** `key = value`, on lines of its own or inside an inline table. */
export interface TomlEntry {
  /** From the root of the document. */
  readonly path: KeyPath;
  /** The key as it is written here: the last parts of the path. */
  readonly parts: readonly KeyPart[];
  readonly value: Span;
  readonly place:
    | { readonly in: "lines"; readonly lines: Span }
    | { readonly in: "inline table"; readonly of: { readonly path: KeyPath } };
}

export interface TomlPositions {
  readonly headers: readonly TomlHeader[];
  /** In the order of the text, inline tables before what is in them. */
  readonly entries: readonly TomlEntry[];
  /** The items of arrays. */
  readonly items: readonly { readonly path: KeyPath; readonly start: number }[];
  readonly comments: readonly Span[];
}

/**
 * Returns the offsets of all headers, keys, values and comments of a TOML document, which `smol-toml` does not report. Parse
 * the document first: the positions of invalid TOML may be wrong.
 */
export function tomlPositions(text: string): TomlPositions {
  return new Scanner(text).read();
}

/** Line numbers of the keys of a TOML document, from 1. */
export class KeyLines {
  /** By path: the offset of the key or table itself, else of the first key or header that contains it. */
  readonly #starts = new Map<string, number>();
  readonly #lineStarts: number[] = [];

  constructor(toml: string, { headers, entries, items } = tomlPositions(toml)) {
    for (let at = 0; at !== -1; at = toml.indexOf("\n", at) + 1 || -1) this.#lineStarts.push(at);
    const first = new Map<string, number>();
    for (const { path, parts } of [...headers, ...entries]) {
      const start = parts[0]?.start ?? 0;
      for (const { index } of parts) {
        const name = JSON.stringify(path.slice(0, index + 1));
        first.set(name, Math.min(first.get(name) ?? start, start));
      }
      this.#starts.set(JSON.stringify(path), start);
    }
    for (const { path, start } of items) this.#starts.set(JSON.stringify(path), start);
    for (const [name, start] of first) if (!this.#starts.has(name)) this.#starts.set(name, start);
  }

  /** Undefined if the path is not in the document. */
  lineOf(path: KeyPath): number | undefined {
    const start = this.#starts.get(JSON.stringify(path));
    if (start === undefined) return undefined;
    return this.#lineStarts.findLastIndex((lineStart) => lineStart <= start) + 1;
  }

  /** The line of the key, or of the nearest table that contains it. */
  nearestLine(path: KeyPath): number {
    for (let length = path.length; length > 0; length -= 1) {
      const line = this.lineOf(path.slice(0, length));
      if (line !== undefined) return line;
    }
    return 1;
  }
}

/** Returns the value of a quoted string; the text itself if it is not one. */
export function stringOf(written: string): string {
  try {
    const { text } = parse(`text = ${written}`);
    return typeof text === "string" ? text : written;
  } catch {
    return written;
  }
}

/** Of nested arrays and tables, as in the parser. */
const maxDepth = 1000;

class Scanner {
  readonly #text: string;
  readonly #headers: TomlHeader[] = [];
  readonly #entries: TomlEntry[] = [];
  readonly #items: { path: KeyPath; start: number }[] = [];
  readonly #comments: Span[] = [];
  /** How many tables each `[[header]]` has opened. */
  readonly #opened = new Map<string, number>();
  #at: number;

  constructor(text: string) {
    this.#text = text;
    this.#at = text.startsWith("\uFEFF") ? 1 : 0;
  }

  read(): TomlPositions {
    let table: KeyPath = [];
    while (this.#at < this.#text.length) {
      const start = this.#at;
      this.#skipWhitespace();
      if (this.#next() === "[") table = this.#readHeader(start);
      else if (!"#\r\n".includes(this.#next())) this.#readStatement(start, table);
      else this.#skipRestOfLine();
    }
    return {
      headers: this.#headers,
      entries: this.#entries,
      items: this.#items,
      comments: this.#comments,
    };
  }

  #readHeader(start: number): KeyPath {
    const isList = this.#text.startsWith("[[", this.#at);
    this.#at += isList ? 2 : 1;
    const path: (string | number)[] = [];
    const names = this.#readKey();
    const parts = names.map((part, place): KeyPart => {
      const index = path.push(part.name) - 1;
      const name = JSON.stringify(path);
      const opened = this.#opened.get(name);
      if (place === names.length - 1 && isList) {
        this.#opened.set(name, (opened ?? 0) + 1);
        path.push(opened ?? 0);
      } else if (opened !== undefined) path.push(opened - 1);
      return { ...part, index };
    });
    while (this.#next() === "]") this.#at += 1;
    this.#skipRestOfLine();
    this.#headers.push({ path, parts, line: { start, end: this.#at } });
    return path;
  }

  #readStatement(start: number, table: KeyPath): void {
    const lines = { start, end: start };
    this.#readEntry(table, { in: "lines", lines }, 0);
    this.#skipRestOfLine();
    lines.end = this.#at;
  }

  #readEntry(table: KeyPath, place: TomlEntry["place"], depth: number): void {
    const parts = this.#readKey().map((part, at) => ({ ...part, index: table.length + at }));
    this.#at += 1; // =
    this.#skipWhitespace();
    const value = { start: this.#at, end: this.#at };
    const path = [...table, ...parts.map(({ name }) => name)];
    this.#entries.push({ path, parts, value, place });
    this.#readValue(path, depth);
    value.end = this.#at;
  }

  #readValue(path: KeyPath, depth: number): void {
    switch (this.#next()) {
      case '"':
      case "'":
        return this.#skipString();
      case "[":
        return this.#readItems("]", depth, (index) => {
          const item = [...path, index];
          this.#items.push({ path: item, start: this.#at });
          this.#readValue(item, depth + 1);
        });
      case "{": {
        const table = { path };
        return this.#readItems("}", depth, () =>
          this.#readEntry(path, { in: "inline table", of: table }, depth + 1),
        );
      }
      default:
        while (this.#at < this.#text.length && !" \t,]}#\r\n".includes(this.#next())) this.#at += 1;
        // The time of a date-time that is written with a space.
        if (/^ \d\d:/.test(this.#text.slice(this.#at, this.#at + 4))) {
          this.#at += 1;
          this.#readValue(path, depth);
        }
    }
  }

  #readItems(end: "]" | "}", depth: number, readItem: (index: number) => void): void {
    if (depth > maxDepth) {
      this.#at = this.#text.length;
      return;
    }
    this.#at += 1;
    let index = 0;
    while (this.#at < this.#text.length) {
      this.#skipTrivia();
      const start = this.#at;
      const next = this.#next();
      if (next === ",") index += 1;
      else if (next !== end) readItem(index);
      if (this.#at === start) this.#at += 1;
      if (next === end) return;
    }
  }

  #readKey(): (Span & { name: string })[] {
    const parts: (Span & { name: string })[] = [];
    do {
      if (parts.length > 0) this.#at += 1;
      this.#skipWhitespace();
      parts.push(this.#readKeyPart());
      this.#skipWhitespace();
    } while (this.#next() === ".");
    return parts;
  }

  #readKeyPart(): Span & { name: string } {
    const start = this.#at;
    const isQuoted = this.#next() === '"' || this.#next() === "'";
    if (isQuoted) this.#skipString();
    else while (/[^\s=.\]#"']/.test(this.#next())) this.#at += 1;
    const written = this.#text.slice(start, this.#at);
    return { name: isQuoted ? stringOf(written) : written, start, end: this.#at };
  }

  #skipString(): void {
    const quote = this.#next();
    const fence = this.#text.startsWith(quote.repeat(3), this.#at) ? quote.repeat(3) : quote;
    this.#at += fence.length;
    while (this.#at < this.#text.length && !this.#text.startsWith(fence, this.#at))
      this.#at += quote === '"' && this.#next() === "\\" ? 2 : 1;
    this.#at += fence.length;
    // Up to two more quotes belong to the string: """a quoted ""word"""""
    if (fence.length === 3) while (this.#next() === quote) this.#at += 1;
  }

  #skipWhitespace(): void {
    while (this.#next() === " " || this.#next() === "\t") this.#at += 1;
  }

  /** Skips whitespace, line ends and comments. */
  #skipTrivia(): void {
    for (;;) {
      this.#skipWhitespace();
      if (!"#\r\n".includes(this.#next()) || this.#next() === "") return;
      this.#skipRestOfLine();
    }
  }

  #skipRestOfLine(): void {
    this.#skipWhitespace();
    const lineFeed = this.#text.indexOf("\n", this.#at);
    const end = lineFeed === -1 ? this.#text.length : lineFeed;
    if (this.#next() === "#") {
      const comment = this.#text.slice(this.#at, end).trimEnd();
      this.#comments.push({ start: this.#at, end: this.#at + comment.length });
    }
    this.#at = lineFeed === -1 ? end : end + 1;
  }

  /** "" at the end. Note that every string includes "". */
  #next(): string {
    return this.#text.charAt(this.#at);
  }
}
