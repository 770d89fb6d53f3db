/** Keys, and places in lists: `["models", "best", 1]`. */
export type KeyPath = readonly (string | number)[];

/**
 * The lines on which the keys of a TOML document stand, which its parser does not tell. The document has been parsed
 * already; of one that is no TOML the lines may be wrong, but there is an answer.
 */
export class KeyLines {
  readonly #lines = new Map<string, number>();
  /** How many tables each `[[header]]` has opened. */
  readonly #tables = new Map<string, number>();
  readonly #toml: string;
  #at = 0;
  #line = 1;

  constructor(toml: string) {
    this.#toml = toml;
    if (this.#toml.startsWith("\uFEFF")) this.#at = 1;
    this.#readDocument();
  }

  /** Counted from 1; undefined for what is not in the document. */
  lineOf(path: KeyPath): number | undefined {
    return this.#lines.get(nameOf(path));
  }

  /** The line of the key, or of the nearest table around it. */
  nearestLine(path: KeyPath): number {
    for (let length = path.length; length > 0; length -= 1) {
      const line = this.lineOf(path.slice(0, length));
      if (line !== undefined) return line;
    }
    return 1;
  }

  #readDocument(): void {
    let table: KeyPath = [];
    while (!this.#isAtEnd()) {
      this.#skipVoid();
      const start = this.#at;
      if (this.#next() === "[") table = this.#readHeader();
      else this.#readKeyAndValue(table, 0);
      this.#skipRestOfLine();
      if (this.#at === start) this.#step();
    }
  }

  #readHeader(): KeyPath {
    this.#step();
    const isList = this.#next() === "[";
    if (isList) this.#step();
    const keys = this.#readKey();
    const path: (string | number)[] = [];
    keys.forEach((key, place) => {
      path.push(key);
      const name = nameOf(path);
      const isLast = place === keys.length - 1;
      // A header of its own says more than one that only passes through.
      this.#record(path, this.#line, isLast && !isList);
      const opened = this.#tables.get(name);
      if (isLast && isList) {
        this.#tables.set(name, (opened ?? 0) + 1);
        path.push(opened ?? 0);
        this.#record(path, this.#line, true);
      } else if (opened !== undefined) path.push(opened - 1);
    });
    return path;
  }

  #readKeyAndValue(table: KeyPath, depth: number): void {
    const line = this.#line;
    const keys = this.#readKey();
    keys.forEach((_, place) => {
      this.#record([...table, ...keys.slice(0, place + 1)], line, place === keys.length - 1);
    });
    if (this.#next() !== "=") return;
    this.#step();
    this.#readValue([...table, ...keys], depth);
  }

  #readValue(path: KeyPath, depth: number): void {
    this.#skipSpaces();
    switch (this.#next()) {
      case '"':
      case "'":
        this.#skipString();
        return;
      case "[":
        this.#readItems("]", depth, (index) => {
          const item = [...path, index];
          this.#record(item, this.#line, true);
          this.#readValue(item, depth + 1);
        });
        return;
      case "{":
        this.#readItems("}", depth, () => this.#readKeyAndValue(path, depth + 1));
        return;
      default:
        while (!this.#isAtEnd() && !",]}#\n".includes(this.#next())) this.#step();
    }
  }

  #readItems(end: "]" | "}", depth: number, readItem: (index: number) => void): void {
    if (depth > deepest) {
      this.#at = this.#toml.length;
      return;
    }
    this.#step();
    let index = 0;
    while (!this.#isAtEnd()) {
      this.#skipVoid();
      const start = this.#at;
      if (this.#next() === end) {
        this.#step();
        return;
      }
      if (this.#next() === ",") {
        index += 1;
        this.#step();
      } else readItem(index);
      if (this.#at === start) this.#step();
    }
  }

  #readKey(): string[] {
    const keys: string[] = [];
    while (!this.#isAtEnd()) {
      this.#skipSpaces();
      keys.push(this.#readKeyPart());
      this.#skipSpaces();
      if (this.#next() !== ".") break;
      this.#step();
    }
    return keys;
  }

  #readKeyPart(): string {
    const start = this.#at;
    const quote = this.#next();
    if (quote === '"' || quote === "'") {
      this.#skipString();
      const inside = this.#toml.slice(start + 1, this.#at - 1);
      return quote === '"' ? unescaped(inside) : inside;
    }
    while (!this.#isAtEnd() && !"=.[]{},\"'# \t\r\n".includes(this.#next())) this.#step();
    return this.#toml.slice(start, this.#at);
  }

  #skipString(): void {
    const quote = this.#next();
    const isLong = this.#toml.startsWith(quote.repeat(3), this.#at);
    const fence = isLong ? quote.repeat(3) : quote;
    this.#step(fence.length);
    while (!this.#isAtEnd() && !this.#toml.startsWith(fence, this.#at)) {
      if (!isLong && this.#next() === "\n") return;
      this.#step(quote === '"' && this.#next() === "\\" ? 2 : 1);
    }
    this.#step(fence.length);
    // Up to two quotes more belong to the text: """a quoted ""word"""""
    if (isLong) while (this.#next() === quote) this.#step();
  }

  /** White space, line ends and comments. */
  #skipVoid(): void {
    while (!this.#isAtEnd()) {
      if (this.#next() === "#") this.#skipRestOfLine();
      if (this.#isAtEnd() || !" \t\r\n".includes(this.#next())) return;
      this.#step();
    }
  }

  #skipSpaces(): void {
    while (this.#next() === " " || this.#next() === "\t") this.#step();
  }

  #skipRestOfLine(): void {
    while (!this.#isAtEnd() && this.#next() !== "\n") this.#step();
  }

  #record(path: KeyPath, line: number, isOwn: boolean): void {
    const name = nameOf(path);
    if (isOwn || !this.#lines.has(name)) this.#lines.set(name, line);
  }

  #isAtEnd(): boolean {
    return this.#at >= this.#toml.length;
  }

  #next(): string {
    return this.#toml.charAt(this.#at);
  }

  #step(count = 1): void {
    const end = Math.min(this.#at + count, this.#toml.length);
    for (; this.#at < end; this.#at += 1) if (this.#next() === "\n") this.#line += 1;
  }
}

/** What the parser takes; deeper lists would exhaust the stack here. */
const deepest = 1000;

function nameOf(path: KeyPath): string {
  return JSON.stringify(path);
}

function unescaped(text: string): string {
  return text.replaceAll(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([^]))/g,
    (all, x?: string, u?: string, U?: string, letter?: string) => {
      if (letter !== undefined) return escapes[letter] ?? letter;
      const code = Number.parseInt(x ?? u ?? U ?? "", 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : all;
    },
  );
}

const escapes: Readonly<Record<string, string>> = {
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  e: "\u001B",
};
