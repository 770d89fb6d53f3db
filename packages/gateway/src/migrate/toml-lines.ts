import { parse } from "smol-toml";

/** From the first character to the one behind the last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One name of a dotted key, as it is meant and where it stands. */
interface KeyPart extends Span {
  readonly name: string;
}

/** `[a.b]` or `[[a.b]]`. */
interface TomlHeader {
  readonly path: readonly string[];
  readonly parts: readonly KeyPart[];
  /** Its whole line, line end included. */
  readonly line: Span;
}

/** `key = value`, on lines of its own or inside an inline table. */
export interface TomlEntry {
  /** From the root of the document. */
  readonly path: readonly string[];
  /** The key as it is written here: the last parts of the path. */
  readonly parts: readonly KeyPart[];
  readonly value: Span;
  readonly place:
    | { readonly in: "lines"; readonly lines: Span }
    | { readonly in: "inline table"; readonly of: TomlEntry };
}

export interface TomlLines {
  readonly headers: readonly TomlHeader[];
  /** In the order of the text, inline tables before what is in them. */
  readonly entries: readonly TomlEntry[];
  readonly comments: readonly Span[];
}

/** Where everything stands in a TOML document that has been parsed already, to the character, for edits in place. */
export function tomlLines(text: string): TomlLines {
  return new Scanner(text).read();
}

class Scanner {
  readonly #text: string;
  readonly #headers: TomlHeader[] = [];
  readonly #entries: TomlEntry[] = [];
  readonly #comments: Span[] = [];
  #at: number;

  constructor(text: string) {
    this.#text = text;
    this.#at = text.startsWith("\uFEFF") ? 1 : 0;
  }

  read(): TomlLines {
    let table: readonly string[] = [];
    while (this.#at < this.#text.length) {
      const start = this.#at;
      this.#skipBlanks();
      if (this.#next() === "[") table = this.#readHeader(start);
      else if (!"#\r\n".includes(this.#next())) this.#readStatement(start, table);
      else this.#skipRestOfLine();
    }
    return { headers: this.#headers, entries: this.#entries, comments: this.#comments };
  }

  #readHeader(start: number): readonly string[] {
    while (this.#next() === "[") this.#at += 1;
    const parts = this.#readKey();
    while (this.#next() === "]") this.#at += 1;
    this.#skipRestOfLine();
    const path = parts.map(({ name }) => name);
    this.#headers.push({ path, parts, line: { start, end: this.#at } });
    return path;
  }

  #readStatement(start: number, table: readonly string[]): void {
    const lines = { start, end: start };
    this.#readEntry(table, { in: "lines", lines });
    this.#skipRestOfLine();
    lines.end = this.#at;
  }

  #readEntry(table: readonly string[], place: TomlEntry["place"]): void {
    const parts = this.#readKey();
    this.#at += 1; // =
    this.#skipBlanks();
    const value = { start: this.#at, end: this.#at };
    const entry = { path: [...table, ...parts.map(({ name }) => name)], parts, value, place };
    this.#entries.push(entry);
    this.#readValue(entry);
    value.end = this.#at;
  }

  /** Of a list only the end is of interest. */
  #readValue(entry?: TomlEntry): void {
    switch (this.#next()) {
      case '"':
      case "'":
        return this.#skipString();
      case "[":
        return this.#readItems("]", () => this.#readValue());
      case "{":
        return this.#readItems("}", () => {
          if (entry === undefined) this.#skipKeyAndValue();
          else this.#readEntry(entry.path, { in: "inline table", of: entry });
        });
      default:
        while (this.#at < this.#text.length && !" \t,]}#\r\n".includes(this.#next())) this.#at += 1;
        // Of a date and a time with a blank between them, the time.
        if (/^ \d\d:/.test(this.#text.slice(this.#at, this.#at + 4))) {
          this.#at += 1;
          this.#readValue();
        }
    }
  }

  #skipKeyAndValue(): void {
    this.#readKey();
    this.#at += 1;
    this.#skipBlanks();
    this.#readValue();
  }

  #readItems(end: "]" | "}", readItem: () => void): void {
    this.#at += 1;
    while (this.#at < this.#text.length) {
      this.#skipVoid();
      const next = this.#next();
      if (next === end || next === ",") this.#at += 1;
      else readItem();
      if (next === end) return;
    }
  }

  #readKey(): KeyPart[] {
    const parts: KeyPart[] = [];
    do {
      if (parts.length > 0) this.#at += 1;
      this.#skipBlanks();
      parts.push(this.#readKeyPart());
      this.#skipBlanks();
    } while (this.#next() === ".");
    return parts;
  }

  #readKeyPart(): KeyPart {
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
    // Up to two quotes more belong to the text: """a quoted ""word"""""
    if (fence.length === 3) while (this.#next() === quote) this.#at += 1;
  }

  #skipBlanks(): void {
    while (this.#next() === " " || this.#next() === "\t") this.#at += 1;
  }

  /** Blanks, line ends and comments. */
  #skipVoid(): void {
    for (;;) {
      this.#skipBlanks();
      if (!"#\r\n".includes(this.#next()) || this.#next() === "") return;
      this.#skipRestOfLine();
    }
  }

  #skipRestOfLine(): void {
    this.#skipBlanks();
    const lineFeed = this.#text.indexOf("\n", this.#at);
    const end = lineFeed === -1 ? this.#text.length : lineFeed;
    if (this.#next() === "#") {
      const comment = this.#text.slice(this.#at, end).trimEnd();
      this.#comments.push({ start: this.#at, end: this.#at + comment.length });
    }
    this.#at = lineFeed === -1 ? end : end + 1;
  }

  /** "" at the end, which every string includes. */
  #next(): string {
    return this.#text.charAt(this.#at);
  }
}

/** What a quoted string of the document says. */
export function stringOf(written: string): string {
  const { text } = parse(`text = ${written}`);
  return typeof text === "string" ? text : "";
}
