import type { HLJSApi } from "highlight.js";

/** `name`: the CSS class of highlight.js. */
export type CodeToken = string | { name: string; tokens: CodeToken[] };

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** Parses the output of highlight.js, which only contains `<span class="…">`, `</span>` and five entities, without `innerHTML`. */
export function parseHighlightedHtml(html: string): CodeToken[] {
  const root: CodeToken[] = [];
  const openSpans = [root];
  for (const [part] of html.matchAll(/<span class="[^"]*">|<\/span>|[^<]+/g)) {
    if (part === "</span>") {
      if (openSpans.length > 1) openSpans.pop();
    } else if (part.startsWith("<")) {
      const tokens: CodeToken[] = [];
      openSpans.at(-1)?.push({ name: part.slice('<span class="'.length, -'">'.length), tokens });
      openSpans.push(tokens);
    } else
      openSpans
        .at(-1)
        ?.push(part.replaceAll(/&(?:amp|lt|gt|quot|#x27);/g, (name) => entities[name] ?? ""));
  }
  return root;
}

/** Opening delimiters of multi-line comments and strings, in all languages. */
const openingPatterns: Readonly<Record<string, RegExp>> = {
  comment: /^(?:\/\*+|<!--|\(\*|\{-|--\[=*\[|#=|=begin\n|"""|''')/,
  string: /^\w{0,2}#*(?:"""|'''|`|"|')/,
};

/**
 * Highlights code piece by piece, so that no step blocks the page. If a piece ends within a comment or a string, the
 * opening delimiter is prepended to the next piece.
 */
export class PieceHighlighter {
  readonly #hljs: HLJSApi;
  readonly #language: string;
  #opening = "";

  constructor(hljs: HLJSApi, language: string) {
    this.#hljs = hljs;
    this.#language = language;
  }

  next(piece: string): CodeToken[] {
    const prefix = this.#opening;
    const options = { language: this.#language, ignoreIllegals: true };
    const { value, _top: top } = this.#hljs.highlight(prefix + piece, options);
    const tokens = parseHighlightedHtml(value);
    const scope = top !== undefined && "scope" in top ? top.scope : undefined;
    this.#opening = typeof scope === "string" ? findOpening(tokens, scope) : "";
    return prefix === "" ? tokens : dropCharacters(tokens, prefix.length);
  }
}

function findOpening(tokens: readonly CodeToken[], scope: string): string {
  return openingPatterns[scope]?.exec(findTrailingSpan(tokens, `hljs-${scope}`))?.[0] ?? "";
}

/** Returns the text of the span with this name at the end of the tokens, or "" if there is none. */
function findTrailingSpan(tokens: readonly CodeToken[], name: string): string {
  for (let last = tokens.at(-1); typeof last === "object"; last = last.tokens.at(-1))
    if (last.name === name) return getTokenText(last);
  return "";
}

function getTokenText(token: CodeToken): string {
  return typeof token === "string" ? token : token.tokens.map(getTokenText).join("");
}

function dropCharacters(tokens: readonly CodeToken[], length: number): CodeToken[] {
  let remainingLength = length;
  const trimToken = (token: CodeToken): CodeToken[] => {
    if (remainingLength === 0) return [token];
    if (typeof token !== "string") {
      const inner = token.tokens.flatMap(trimToken);
      return inner.length === 0 ? [] : [{ ...token, tokens: inner }];
    }
    const rest = token.slice(remainingLength);
    remainingLength -= token.length - rest.length;
    return rest === "" ? [] : [rest];
  };
  return tokens.flatMap(trimToken);
}
