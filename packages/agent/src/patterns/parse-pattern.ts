/** One character that a pattern accepts. */
export interface CharacterSet {
  /** A pattern of one character: `a`, `\d`, `[^x-z]`, `.`. */
  readonly source: string;
  /** `RegExp` flags for the pattern: any of `i`, `s` and `u`. */
  readonly flags: string;
}

/** A condition on a position in the text. It consumes nothing. */
export type Assertion =
  | { readonly kind: "text_start" | "line_start" | "text_end" | "line_end" }
  | { readonly kind: "word_boundary"; readonly isNegated: boolean; readonly flags: string }
  | {
      readonly kind: "look";
      readonly body: PatternNode;
      readonly isBehind: boolean;
      readonly isNegated: boolean;
    };

export type PatternNode =
  | { readonly kind: "empty" }
  | { readonly kind: "character"; readonly set: CharacterSet }
  | { readonly kind: "assertion"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly options: readonly PatternNode[] }
  | {
      readonly kind: "repeat";
      readonly body: PatternNode;
      readonly min: number;
      readonly max: number;
      readonly isLazy: boolean;
    };

/** Thrown for a valid JavaScript pattern that the linear matcher does not support. */
export class UnsupportedPatternError extends Error {}

/**
 * Parses a regular expression that `new RegExp(pattern, flags)` accepts; `flags` are any of `i`, `m`, `s` and `u`. Throws an
 * UnsupportedPatternError for backreferences.
 */
export function parsePattern(pattern: string, flags: string): PatternNode {
  return new PatternParser(pattern, flags).parse();
}

class PatternParser {
  readonly #pattern: string;
  readonly #isUnicode: boolean;
  #flags: ReadonlySet<string>;
  #position = 0;

  constructor(pattern: string, flags: string) {
    this.#pattern = pattern;
    this.#flags = new Set(flags);
    this.#isUnicode = flags.includes("u");
  }

  parse(): PatternNode {
    const node = this.#parseChoice();
    if (this.#position < this.#pattern.length)
      throw new UnsupportedPatternError("unbalanced parentheses");
    return node;
  }

  #parseChoice(): PatternNode {
    const options = [this.#parseSequence()];
    while (this.#consume("|")) options.push(this.#parseSequence());
    return options.length === 1 ? (options[0] ?? { kind: "empty" }) : { kind: "choice", options };
  }

  #parseSequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (
      this.#position < this.#pattern.length &&
      !"|)".includes(this.#pattern[this.#position] ?? "")
    )
      parts.push(this.#parseQuantifier(this.#parseAtom()));
    return parts.length === 1 ? (parts[0] ?? { kind: "empty" }) : { kind: "sequence", parts };
  }

  #parseQuantifier(body: PatternNode): PatternNode {
    const match = this.#match(/(?:[*+?]|\{(\d+)(,?)(\d*)\})(\??)/y);
    if (match === undefined) return body;
    const [text, minText, comma, maxText, lazy] = match;
    const isLazy = lazy === "?";
    switch (text[0]) {
      case "*":
        return { kind: "repeat", body, min: 0, max: Infinity, isLazy };
      case "+":
        return { kind: "repeat", body, min: 1, max: Infinity, isLazy };
      case "?":
        return { kind: "repeat", body, min: 0, max: 1, isLazy };
      default: {
        const min = Number(minText);
        const max = comma === "" ? min : Number(maxText || Infinity);
        return { kind: "repeat", body, min, max, isLazy };
      }
    }
  }

  #parseAtom(): PatternNode {
    switch (this.#pattern[this.#position]) {
      case "(":
        return this.#parseGroup();
      case "[":
        return this.#createCharacter(this.#readClass());
      case "\\":
        return this.#parseEscape();
      case "^":
        this.#position += 1;
        return createAssertionNode({ kind: this.#flags.has("m") ? "line_start" : "text_start" });
      case "$":
        this.#position += 1;
        return createAssertionNode({ kind: this.#flags.has("m") ? "line_end" : "text_end" });
      case ".":
        this.#position += 1;
        return this.#createCharacter(".");
      default: {
        const character = this.#isUnicode
          ? String.fromCodePoint(this.#pattern.codePointAt(this.#position) ?? 0)
          : (this.#pattern[this.#position] ?? "");
        this.#position += character.length;
        return this.#createCharacter(/[\]{}*+?/]/.test(character) ? `\\${character}` : character);
      }
    }
  }

  #parseGroup(): PatternNode {
    const [open, on = "", off = ""] = this.#match(
      /\((?:\?(?:<?[=!]|<[^>=!]+>|([a-z]*)(?:-([a-z]+))?:))?/y,
    ) ?? ["("];
    const outerFlags = this.#flags;
    if (on !== "" || off !== "")
      this.#flags = new Set(
        [...outerFlags, ...Array.from(on)].filter((flag) => !off.includes(flag)),
      );
    const body = this.#parseChoice();
    this.#flags = outerFlags;
    if (!this.#consume(")")) throw new UnsupportedPatternError("unbalanced parentheses");
    if (!/^\(\?<?[=!]$/.test(open)) return body;
    return createAssertionNode({
      kind: "look",
      body,
      isBehind: open.includes("<"),
      isNegated: open.endsWith("!"),
    });
  }

  #readClass(): string {
    const start = this.#position;
    for (this.#position += 1; this.#position < this.#pattern.length; this.#position += 1) {
      const character = this.#pattern[this.#position];
      if (character === "\\") this.#position += 1;
      else if (character === "]") break;
    }
    this.#position += 1;
    return this.#pattern.slice(start, this.#position);
  }

  #parseEscape(): PatternNode {
    const escape = this.#isUnicode
      ? /\\(?:[1-9]\d*|k<[^>]*>|[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[^])/uy
      : /\\(?:[0-9]+|k<[^>]*>|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[^])/y;
    const [source] = this.#match(escape) ?? ["\\"];
    if (/^\\(?:[1-9]|0\d|k<)/.test(source))
      throw new UnsupportedPatternError(
        `${source} is a backreference, which a search in linear time cannot support; write the alternatives out`,
      );
    if (source === "\\b" || source === "\\B")
      return createAssertionNode({
        kind: "word_boundary",
        isNegated: source === "\\B",
        flags: this.#selectFlags("iu"),
      });
    // Without the flag `u` a `\c` without a control character is a literal backslash: too rare to be supported.
    if (source === "\\c" || source === "\\") throw new UnsupportedPatternError("a stray backslash");
    return this.#createCharacter(source);
  }

  #createCharacter(source: string): PatternNode {
    return { kind: "character", set: { source, flags: this.#selectFlags("isu") } };
  }

  #selectFlags(relevant: string): string {
    return Array.from(relevant)
      .filter((flag) => this.#flags.has(flag))
      .join("");
  }

  #consume(character: string): boolean {
    if (this.#pattern[this.#position] !== character) return false;
    this.#position += 1;
    return true;
  }

  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#position;
    const match = expression.exec(this.#pattern);
    if (match === null) return undefined;
    this.#position += match[0].length;
    return match;
  }
}

function createAssertionNode(assertion: Assertion): PatternNode {
  return { kind: "assertion", assertion };
}
