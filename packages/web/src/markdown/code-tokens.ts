import type { HLJSApi } from "highlight.js";

export type Token = string | { name: string; tokens: Token[] };

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** highlight.js writes nothing but `<span class="…">`, `</span>` and five entities: no HTML has to be made of it. */
export function tokensOf(html: string): Token[] {
  const root: Token[] = [];
  const open = [root];
  for (const [one] of html.matchAll(/<span class="[^"]*">|<\/span>|[^<]+/g)) {
    if (one === "</span>") {
      if (open.length > 1) open.pop();
    } else if (one.startsWith("<")) {
      const tokens: Token[] = [];
      open.at(-1)?.push({ name: one.slice('<span class="'.length, -'">'.length), tokens });
      open.push(tokens);
    } else
      open
        .at(-1)
        ?.push(one.replaceAll(/&(?:amp|lt|gt|quot|#x27);/g, (name) => entities[name] ?? ""));
  }
  return root;
}

/** How comments and texts of several lines begin, in the languages that have them. */
const openings: Readonly<Record<string, RegExp>> = {
  comment: /^(?:\/\*+|<!--|\(\*|\{-|--\[=*\[|#=|=begin\n|"""|''')/,
  string: /^\w{0,2}#*(?:"""|'''|`|"|')/,
};

/**
 * The tokens of a code that comes in pieces. Each piece is read alone, so that none takes long; one that ends within a
 * comment or a text tells the next how that began.
 */
export class PieceHighlighter {
  readonly #hljs: HLJSApi;
  readonly #language: string;
  #opening = "";

  constructor(hljs: HLJSApi, language: string) {
    this.#hljs = hljs;
    this.#language = language;
  }

  next(piece: string): Token[] {
    const before = this.#opening;
    const options = { language: this.#language, ignoreIllegals: true };
    const { value, _top: top } = this.#hljs.highlight(before + piece, options);
    const tokens = tokensOf(value);
    const scope = top !== undefined && "scope" in top ? top.scope : undefined;
    this.#opening = typeof scope === "string" ? openingOf(tokens, scope) : "";
    return before === "" ? tokens : withoutStart(tokens, before.length);
  }
}

function openingOf(tokens: readonly Token[], scope: string): string {
  return openings[scope]?.exec(lastSpan(tokens, `hljs-${scope}`))?.[0] ?? "";
}

/** The text of the span that goes on to the end. */
function lastSpan(tokens: readonly Token[], name: string): string {
  for (let last = tokens.at(-1); typeof last === "object"; last = last.tokens.at(-1))
    if (last.name === name) return textOf(last);
  return "";
}

function textOf(token: Token): string {
  return typeof token === "string" ? token : token.tokens.map(textOf).join("");
}

function withoutStart(tokens: readonly Token[], length: number): Token[] {
  let left = length;
  const cut = (token: Token): Token[] => {
    if (left === 0) return [token];
    if (typeof token !== "string") {
      const inner = token.tokens.flatMap(cut);
      return inner.length === 0 ? [] : [{ ...token, tokens: inner }];
    }
    const rest = token.slice(left);
    left -= token.length - rest.length;
    return rest === "" ? [] : [rest];
  };
  return tokens.flatMap(cut);
}
