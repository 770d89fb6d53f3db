/** A regular expression, as far as its running time depends on it. */
export type PatternNode =
  | { is: "empty" }
  /** One character; `source` matches it. */
  | { is: "character"; source: string }
  | { is: "sequence"; parts: PatternNode[] }
  | { is: "choice"; options: PatternNode[] }
  | { is: "repeat"; body: PatternNode; min: number; max: number }
  /** Looks ahead or behind and takes nothing. */
  | { is: "look"; body: PatternNode };

/** What a pattern has that cannot be judged. */
export class OddPattern extends Error {}

/** Of a pattern that compiles. Throws an OddPattern. */
export function parsePattern(pattern: string): PatternNode {
  return new PatternParser(pattern).parse();
}

class PatternParser {
  readonly #pattern: string;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  parse(): PatternNode {
    const node = this.#choice();
    if (this.#at < this.#pattern.length) throw new OddPattern("it has a bracket too many");
    return node;
  }

  #choice(): PatternNode {
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    return options.length === 1 ? (options[0] ?? { is: "empty" }) : { is: "choice", options };
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.#at < this.#pattern.length && !"|)".includes(this.#pattern[this.#at] ?? ""))
      parts.push(this.#repeated(this.#atom()));
    return parts.length === 1 ? (parts[0] ?? { is: "empty" }) : { is: "sequence", parts };
  }

  #repeated(body: PatternNode): PatternNode {
    const found = this.#match(/(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y);
    if (found === undefined) return body;
    const [text, least, comma, most] = found;
    switch (text[0]) {
      case "*":
        return { is: "repeat", body, min: 0, max: Infinity };
      case "+":
        return { is: "repeat", body, min: 1, max: Infinity };
      case "?":
        return { is: "repeat", body, min: 0, max: 1 };
      default: {
        const min = Number(least);
        return { is: "repeat", body, min, max: comma === "" ? min : Number(most || Infinity) };
      }
    }
  }

  #atom(): PatternNode {
    switch (this.#pattern[this.#at]) {
      case "(":
        return this.#group();
      case "[":
        return { is: "character", source: this.#class() };
      case "\\":
        return this.#escape();
      case "^":
      case "$":
        this.#at += 1;
        return { is: "empty" };
      case ".":
        this.#at += 1;
        return { is: "character", source: "." };
      default: {
        const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0);
        this.#at += character.length;
        const source = /[\]{}*+?/]/.test(character) ? `\\${character}` : character;
        return { is: "character", source };
      }
    }
  }

  #group(): PatternNode {
    const [open] = this.#match(/\((?:\?(?:<?[=!]|[:]|<[^>=!]+>|[a-z]*(?:-[a-z]+)?:))?/y) ?? ["("];
    const body = this.#choice();
    if (!this.#take(")")) throw new OddPattern("a bracket is not closed");
    return /[=!]$/.test(open) ? { is: "look", body } : body;
  }

  #class(): string {
    const start = this.#at;
    for (this.#at += 1; this.#at < this.#pattern.length; this.#at += 1) {
      const character = this.#pattern[this.#at];
      if (character === "\\") this.#at += 1;
      else if (character === "]") break;
    }
    this.#at += 1;
    return this.#pattern.slice(start, this.#at);
  }

  #escape(): PatternNode {
    const [source] = this.#match(
      /\\(?:[1-9]\d*|k<[^>]*>|[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[\s\S])/y,
    ) ?? ["\\"];
    this.#at += source === "\\" ? 1 : 0;
    if (/^\\(?:[1-9]|k)/.test(source))
      throw new OddPattern("it refers back to what it has found, which may take for ever");
    return /^\\[bB]$/.test(source) ? { is: "empty" } : { is: "character", source };
  }

  #take(character: string): boolean {
    if (this.#pattern[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#pattern);
    if (found === null) return undefined;
    this.#at += found[0].length;
    return found;
  }
}
