import { MigrationError } from "./migration-error.ts";

/** A value of a JSON document with its position. `end` is exclusive. */
export interface JsonNode {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** Undefined unless the value is an object. */
  readonly entries: readonly JsonEntry[] | undefined;
  /** Undefined unless the value is an array. */
  readonly items: readonly JsonNode[] | undefined;
}

interface JsonEntry {
  readonly name: string;
  readonly start: number;
  readonly node: JsonNode;
}

/**
 * Parses JSON with the extensions that coding agents accept in their settings: comments and trailing commas. Throws a MigrationError
 * with the line if the text is invalid. The message does not quote values.
 */
export function parseJsonDocument(text: string, file: string): JsonNode {
  return new JsonParser(text, file).parse();
}

const maxDepth = 200;

class JsonParser {
  readonly #text: string;
  readonly #file: string;
  #position: number;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#position = text.startsWith("\uFEFF") ? 1 : 0;
  }

  parse(): JsonNode {
    this.#skipTrivia();
    const node = this.#readValue(0);
    this.#skipTrivia();
    if (this.#position < this.#text.length) throw this.#createError("expected the end of the file");
    return node;
  }

  #readValue(depth: number): JsonNode {
    if (depth > maxDepth) throw this.#createError("is nested too deeply");
    switch (this.#peek()) {
      case "{":
        return this.#readObject(depth);
      case "[":
        return this.#readArray(depth);
      default:
        return this.#readScalar();
    }
  }

  #readObject(depth: number): JsonNode {
    const start = this.#position;
    const entries: JsonEntry[] = [];
    this.#readList("}", () => {
      const entryStart = this.#position;
      const name = this.#peek() === '"' ? this.#readScalar().value : undefined;
      if (typeof name !== "string") throw this.#createError('expected a name in quotes or "}"');
      this.#skipTrivia();
      if (this.#peek() !== ":") throw this.#createError('expected ":"');
      this.#position += 1;
      this.#skipTrivia();
      entries.push({ name, start: entryStart, node: this.#readValue(depth + 1) });
    });
    const value = Object.fromEntries(entries.map(({ name, node }) => [name, node.value]));
    return { start, end: this.#position, value, entries, items: undefined };
  }

  #readArray(depth: number): JsonNode {
    const start = this.#position;
    const items: JsonNode[] = [];
    this.#readList("]", () => items.push(this.#readValue(depth + 1)));
    const value = items.map((item) => item.value);
    return { start, end: this.#position, value, entries: undefined, items };
  }

  #readList(close: "}" | "]", readElement: () => void): void {
    this.#position += 1;
    for (;;) {
      this.#skipTrivia();
      if (this.#peek() === close) break;
      readElement();
      this.#skipTrivia();
      if (this.#peek() === close) break;
      if (this.#peek() !== ",") throw this.#createError(`expected "," or "${close}"`);
      this.#position += 1;
    }
    this.#position += 1;
  }

  #readScalar(): JsonNode {
    const start = this.#position;
    const source = this.#match(scalarPattern);
    try {
      const value: unknown = JSON.parse(source);
      this.#position += source.length;
      return { start, end: this.#position, value, entries: undefined, items: undefined };
    } catch {
      throw this.#createError("expected a JSON value");
    }
  }

  #skipTrivia(): void {
    this.#position += this.#match(triviaPattern).length;
  }

  /** Returns what a sticky pattern matches at the position; "" if nothing. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#position;
    return pattern.exec(this.#text)?.[0] ?? "";
  }

  /** Returns the next character without skipping it; "" at the end. */
  #peek(): string {
    return this.#text.charAt(this.#position);
  }

  #createError(problem: string): MigrationError {
    const line = this.#text.slice(0, this.#position).split("\n").length;
    return new MigrationError(`${this.#file}:${line}: is no valid JSON: ${problem}`);
  }
}

const scalarPattern = /"(?:[^"\\]|\\.)*"|[^\s,:[\]{}"/]+/y;
const triviaPattern = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
