/** One character that a pattern accepts. */
export interface CharacterSet {
  /** A pattern of one character: `a`, `\d`, `[^x-z]`, `.`. */
  readonly source: string;
  /** Flags of `RegExp` for it: any of `i`, `s` and `u`. */
  readonly flags: string;
}

/** A condition on a position in the text. It consumes nothing. */
export type Assertion =
  | { readonly kind: "text start" | "line start" | "text end" | "line end" }
  | { readonly kind: "word boundary"; readonly isNegated: boolean; readonly flags: string }
  | {
      readonly kind: "look";
      readonly body: PatternNode;
      readonly isBehind: boolean;
      readonly isNegated: boolean;
    };

export type PatternNode =
  | { readonly is: "empty" }
  | { readonly is: "character"; readonly set: CharacterSet }
  | { readonly is: "assertion"; readonly assertion: Assertion }
  | { readonly is: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly is: "choice"; readonly options: readonly PatternNode[] }
  | {
      readonly is: "repeat";
      readonly body: PatternNode;
      readonly min: number;
      readonly max: number;
      readonly isLazy: boolean;
    };

/** A pattern that is valid JavaScript and that the linear matcher does not support. */
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
  #at = 0;

  constructor(pattern: string, flags: string) {
    this.#pattern = pattern;
    this.#flags = new Set(flags);
    this.#isUnicode = flags.includes("u");
  }

  parse(): PatternNode {
    const node = this.#choice();
    if (this.#at < this.#pattern.length) throw new UnsupportedPatternError("unbalanced brackets");
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
    const found = this.#match(/(?:[*+?]|\{(\d+)(,?)(\d*)\})(\??)/y);
    if (found === undefined) return body;
    const [text, least, comma, most, lazy] = found;
    const isLazy = lazy === "?";
    switch (text[0]) {
      case "*":
        return { is: "repeat", body, min: 0, max: Infinity, isLazy };
      case "+":
        return { is: "repeat", body, min: 1, max: Infinity, isLazy };
      case "?":
        return { is: "repeat", body, min: 0, max: 1, isLazy };
      default: {
        const min = Number(least);
        const max = comma === "" ? min : Number(most || Infinity);
        return { is: "repeat", body, min, max, isLazy };
      }
    }
  }

  #atom(): PatternNode {
    switch (this.#pattern[this.#at]) {
      case "(":
        return this.#group();
      case "[":
        return this.#character(this.#class());
      case "\\":
        return this.#escape();
      case "^":
        this.#at += 1;
        return assertion({ kind: this.#flags.has("m") ? "line start" : "text start" });
      case "$":
        this.#at += 1;
        return assertion({ kind: this.#flags.has("m") ? "line end" : "text end" });
      case ".":
        this.#at += 1;
        return this.#character(".");
      default: {
        const character = this.#isUnicode
          ? String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0)
          : (this.#pattern[this.#at] ?? "");
        this.#at += character.length;
        return this.#character(/[\]{}*+?/]/.test(character) ? `\\${character}` : character);
      }
    }
  }

  #group(): PatternNode {
    const [open, on = "", off = ""] = this.#match(
      /\((?:\?(?:<?[=!]|<[^>=!]+>|([a-z]*)(?:-([a-z]+))?:))?/y,
    ) ?? ["("];
    const outside = this.#flags;
    if (on !== "" || off !== "")
      this.#flags = new Set([...outside, ...Array.from(on)].filter((flag) => !off.includes(flag)));
    const body = this.#choice();
    this.#flags = outside;
    if (!this.#take(")")) throw new UnsupportedPatternError("unbalanced brackets");
    if (!/^\(\?<?[=!]$/.test(open)) return body;
    return assertion({
      kind: "look",
      body,
      isBehind: open.includes("<"),
      isNegated: open.endsWith("!"),
    });
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
    const escape = this.#isUnicode
      ? /\\(?:[1-9]\d*|k<[^>]*>|[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[^])/uy
      : /\\(?:[0-9]+|k<[^>]*>|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[^])/y;
    const [source] = this.#match(escape) ?? ["\\"];
    if (/^\\(?:[1-9]|0\d|k<)/.test(source))
      throw new UnsupportedPatternError(
        `${source} refers back to what a group has found, which no search in linear time can do; write the alternatives out`,
      );
    if (source === "\\b" || source === "\\B")
      return assertion({
        kind: "word boundary",
        isNegated: source === "\\B",
        flags: this.#flagsOf("iu"),
      });
    // Without the flag `u` a `\c` that is no control character is a backslash: rare, and not worth a rule.
    if (source === "\\c" || source === "\\") throw new UnsupportedPatternError("a stray backslash");
    return this.#character(source);
  }

  #character(source: string): PatternNode {
    return { is: "character", set: { source, flags: this.#flagsOf("isu") } };
  }

  #flagsOf(relevant: string): string {
    return Array.from(relevant)
      .filter((flag) => this.#flags.has(flag))
      .join("");
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

function assertion(of: Assertion): PatternNode {
  return { is: "assertion", assertion: of };
}
