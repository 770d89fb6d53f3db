import { parse } from "smol-toml";

/** Keys and array indexes: `["models", "best", 1]`. */
export type KeyPath = readonly (string | number)[];

/** Offsets in the text; `end` is exclusive. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** One name of a dotted key. */
interface KeyPart extends TextSpan {
  readonly name: string;
  /** The index of this name in the path. */
  readonly index: number;
}

/** `[a.b]`, or `[[a.b]]`, whose path ends with an index. */
interface TomlHeader {
  readonly path: KeyPath;
  readonly parts: readonly KeyPart[];
  /** Including the line ending. */
  readonly line: TextSpan;
}

/** `key = value`, on lines of its own or inside an inline table. */
export interface TomlEntry {
  /** From the root of the document. */
  readonly path: KeyPath;
  /** The key as it is written here: the last parts of the path. */
  readonly parts: readonly KeyPart[];
  readonly value: TextSpan;
  readonly location:
    | { readonly kind: "lines"; readonly lines: TextSpan }
    | { readonly kind: "inline_table"; readonly table: { readonly path: KeyPath } };
}

export interface TomlPositions {
  readonly headers: readonly TomlHeader[];
  /** In the order of the text, inline tables before what is in them. */
  readonly entries: readonly TomlEntry[];
  /** The items of arrays. */
  readonly items: readonly { readonly path: KeyPath; readonly start: number }[];
  readonly comments: readonly TextSpan[];
}

/**
 * Returns the offsets of all headers, keys, values and comments of a TOML document, which `smol-toml` does not report. Parse
 * the document first: the positions of invalid TOML may be wrong.
 */
export function scanTomlPositions(text: string): TomlPositions {
  return new PositionScanner(text).scan();
}

/** Line numbers of the keys of a TOML document, from 1. */
export class KeyLineIndex {
  /** By path: the offset of the key or table itself, else of the first key or header whose path starts with it. */
  readonly #starts = new Map<string, number>();
  readonly #lineStarts: number[] = [];

  constructor(toml: string, { headers, entries, items } = scanTomlPositions(toml)) {
    for (let start = 0; start !== -1; start = toml.indexOf("\n", start) + 1 || -1)
      this.#lineStarts.push(start);
    const containerStarts = new Map<string, number>();
    for (const { path, parts } of [...headers, ...entries]) {
      const start = parts[0]?.start ?? 0;
      for (const { index } of parts) {
        const key = JSON.stringify(path.slice(0, index + 1));
        containerStarts.set(key, Math.min(containerStarts.get(key) ?? start, start));
      }
      this.#starts.set(JSON.stringify(path), start);
    }
    for (const { path, start } of items) this.#starts.set(JSON.stringify(path), start);
    for (const [key, start] of containerStarts)
      if (!this.#starts.has(key)) this.#starts.set(key, start);
  }

  /** Returns undefined if the path is not in the document. */
  findLine(path: KeyPath): number | undefined {
    const start = this.#starts.get(JSON.stringify(path));
    if (start === undefined) return undefined;
    return this.#lineStarts.findLastIndex((lineStart) => lineStart <= start) + 1;
  }

  /** Returns the line of the key, else of the innermost table that contains it, else 1. */
  findNearestLine(path: KeyPath): number {
    for (let length = path.length; length > 0; length -= 1) {
      const line = this.findLine(path.slice(0, length));
      if (line !== undefined) return line;
    }
    return 1;
  }
}

/** Returns the value of a quoted string; the text itself if it is not one. */
export function parseTomlString(source: string): string {
  try {
    const { text } = parse(`text = ${source}`);
    return typeof text === "string" ? text : source;
  } catch {
    return source;
  }
}

/** The parser's own limit for nested arrays and tables. */
const maxDepth = 1000;

class PositionScanner {
  readonly #text: string;
  readonly #headers: TomlHeader[] = [];
  readonly #entries: TomlEntry[] = [];
  readonly #items: { path: KeyPath; start: number }[] = [];
  readonly #comments: TextSpan[] = [];
  /** How many tables each `[[header]]` has added to its array, by path. */
  readonly #tableCounts = new Map<string, number>();
  #position: number;

  constructor(text: string) {
    this.#text = text;
    this.#position = text.startsWith("\uFEFF") ? 1 : 0;
  }

  scan(): TomlPositions {
    let table: KeyPath = [];
    while (this.#position < this.#text.length) {
      const start = this.#position;
      this.#skipWhitespace();
      if (this.#peek() === "[") table = this.#readHeader(start);
      else if (!"#\r\n".includes(this.#peek())) this.#readStatement(start, table);
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
    const isList = this.#text.startsWith("[[", this.#position);
    this.#position += isList ? 2 : 1;
    const path: (string | number)[] = [];
    const names = this.#readKey();
    const parts = names.map((part, partIndex): KeyPart => {
      const index = path.push(part.name) - 1;
      const key = JSON.stringify(path);
      const tableCount = this.#tableCounts.get(key);
      if (partIndex === names.length - 1 && isList) {
        this.#tableCounts.set(key, (tableCount ?? 0) + 1);
        path.push(tableCount ?? 0);
      } else if (tableCount !== undefined) path.push(tableCount - 1);
      return { ...part, index };
    });
    while (this.#peek() === "]") this.#position += 1;
    this.#skipRestOfLine();
    this.#headers.push({ path, parts, line: { start, end: this.#position } });
    return path;
  }

  #readStatement(start: number, table: KeyPath): void {
    const lines = { start, end: start };
    this.#readEntry(table, { kind: "lines", lines }, 0);
    this.#skipRestOfLine();
    lines.end = this.#position;
  }

  #readEntry(table: KeyPath, location: TomlEntry["location"], depth: number): void {
    const parts = this.#readKey().map((part, partIndex) => ({
      ...part,
      index: table.length + partIndex,
    }));
    this.#position += 1; // =
    this.#skipWhitespace();
    const value = { start: this.#position, end: this.#position };
    const path = [...table, ...parts.map(({ name }) => name)];
    this.#entries.push({ path, parts, value, location });
    this.#readValue(path, depth);
    value.end = this.#position;
  }

  #readValue(path: KeyPath, depth: number): void {
    switch (this.#peek()) {
      case '"':
      case "'":
        return this.#skipString();
      case "[":
        return this.#readItems("]", depth, (index) => {
          const item = [...path, index];
          this.#items.push({ path: item, start: this.#position });
          this.#readValue(item, depth + 1);
        });
      case "{": {
        const table = { path };
        return this.#readItems("}", depth, () =>
          this.#readEntry(path, { kind: "inline_table", table }, depth + 1),
        );
      }
      default:
        while (this.#position < this.#text.length && !" \t,]}#\r\n".includes(this.#peek()))
          this.#position += 1;
        // A date and its time may be separated by a space.
        if (/^ \d\d:/.test(this.#text.slice(this.#position, this.#position + 4))) {
          this.#position += 1;
          this.#readValue(path, depth);
        }
    }
  }

  #readItems(end: "]" | "}", depth: number, readItem: (index: number) => void): void {
    if (depth > maxDepth) {
      this.#position = this.#text.length;
      return;
    }
    this.#position += 1;
    let index = 0;
    while (this.#position < this.#text.length) {
      this.#skipTrivia();
      const start = this.#position;
      const next = this.#peek();
      if (next === ",") index += 1;
      else if (next !== end) readItem(index);
      if (this.#position === start) this.#position += 1;
      if (next === end) return;
    }
  }

  #readKey(): (TextSpan & { name: string })[] {
    const parts: (TextSpan & { name: string })[] = [];
    do {
      if (parts.length > 0) this.#position += 1;
      this.#skipWhitespace();
      parts.push(this.#readKeyPart());
      this.#skipWhitespace();
    } while (this.#peek() === ".");
    return parts;
  }

  #readKeyPart(): TextSpan & { name: string } {
    const start = this.#position;
    const isQuoted = this.#peek() === '"' || this.#peek() === "'";
    if (isQuoted) this.#skipString();
    else while (/[^\s=.\]#"']/.test(this.#peek())) this.#position += 1;
    const source = this.#text.slice(start, this.#position);
    return { name: isQuoted ? parseTomlString(source) : source, start, end: this.#position };
  }

  #skipString(): void {
    const quote = this.#peek();
    const delimiter = this.#text.startsWith(quote.repeat(3), this.#position)
      ? quote.repeat(3)
      : quote;
    this.#position += delimiter.length;
    while (this.#position < this.#text.length && !this.#text.startsWith(delimiter, this.#position))
      this.#position += quote === '"' && this.#peek() === "\\" ? 2 : 1;
    this.#position += delimiter.length;
    // Up to two more quotes belong to the string: """a quoted ""word"""""
    if (delimiter.length === 3) while (this.#peek() === quote) this.#position += 1;
  }

  #skipWhitespace(): void {
    while (this.#peek() === " " || this.#peek() === "\t") this.#position += 1;
  }

  /** Skips whitespace, line endings and comments. */
  #skipTrivia(): void {
    for (;;) {
      this.#skipWhitespace();
      if (!"#\r\n".includes(this.#peek()) || this.#peek() === "") return;
      this.#skipRestOfLine();
    }
  }

  #skipRestOfLine(): void {
    this.#skipWhitespace();
    const lineFeed = this.#text.indexOf("\n", this.#position);
    const end = lineFeed === -1 ? this.#text.length : lineFeed;
    if (this.#peek() === "#") {
      const comment = this.#text.slice(this.#position, end).trimEnd();
      this.#comments.push({ start: this.#position, end: this.#position + comment.length });
    }
    this.#position = lineFeed === -1 ? end : end + 1;
  }

  /** Returns the next character without skipping it; "" at the end. Note that every string includes "". */
  #peek(): string {
    return this.#text.charAt(this.#position);
  }
}
