import fc from "fast-check";
import hljs from "highlight.js/lib/core";
import { beforeAll, describe, expect, test } from "vitest";
import {
  PieceHighlighter,
  parseHighlightedHtml,
  type CodeToken,
} from "../../src/markdown/code-tokens.ts";
import { findLanguageKey, formatLanguageName, loadLanguage } from "../../src/markdown/languages.ts";

const keys =
  "bash c cpp csharp css diff dockerfile go graphql http ini java javascript json kotlin lua makefile markdown php powershell python r ruby rust scala scss sql swift typescript xml yaml".split(
    " ",
  );

beforeAll(async () => {
  for (const name of keys)
    for (const { key, language } of await loadLanguage(name)) hljs.registerLanguage(key, language);
});

function getTokensText(tokens: readonly CodeToken[]): string {
  return tokens
    .map((token) => (typeof token === "string" ? token : getTokensText(token.tokens)))
    .join("");
}

function getTokenNames(tokens: readonly CodeToken[]): string[] {
  return tokens.flatMap((token) =>
    typeof token === "string" ? [] : [token.name, ...getTokenNames(token.tokens)],
  );
}

test("every language loads, and common info strings map to language names", () => {
  for (const key of keys) expect(hljs.getLanguage(key), key).toBeDefined();
  const namesByInfoString = {
    ts: "TypeScript",
    PY: "Python",
    "c++": "C++",
    html: "HTML",
    sh: "Bash",
    yml: "YAML",
  };
  for (const [infoString, name] of Object.entries(namesByInfoString))
    expect(formatLanguageName(infoString)).toBe(name);
  expect(findLanguageKey("brainfuck")).toBeUndefined();
  expect(formatLanguageName("brainfuck")).toBe("brainfuck");
  expect([findLanguageKey(""), formatLanguageName("text"), formatLanguageName("svg")]).toEqual([
    undefined,
    "",
    "SVG",
  ]);
});

test("tokens have the text of the code and its highlighting classes", () => {
  const code = "const a: string = `x ${1 + 2} <b>&\"'`; // </span> &lt;\n";
  const tokens = new PieceHighlighter(hljs, "typescript").next(code);
  expect(getTokensText(tokens)).toBe(code);
  expect(getTokenNames(tokens)).toEqual(
    expect.arrayContaining(["hljs-keyword", "hljs-string", "hljs-number", "hljs-comment"]),
  );
});

test("tokens contain every character of the code, in any language, wherever it is split", () => {
  const piece = fc.constantFrom(
    ..."/* */ // <!-- --> \" ' ` \"\"\" ''' ${ } { ( ) < > & &lt; <span> </span> def if # @ $x 12 \n".split(
      " ",
    ),
    " ",
    "\n",
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...keys),
      fc.array(fc.array(piece, { maxLength: 15 }), { maxLength: 5 }),
      (key, codeParts) => {
        const highlighter = new PieceHighlighter(hljs, key);
        for (const code of codeParts.map((pieces) => pieces.join("")))
          expect(getTokensText(highlighter.next(code))).toBe(code);
      },
    ),
    { numRuns: 300 },
  );
});

describe("a piece of code that starts within", () => {
  test.each([
    ["a comment", "typescript", "a(); /* one\n", "two\n", "three */ if (a) {}\n", "hljs-comment"],
    ["a string", "python", 'x = """one\n', "two if\n", 'three""" if a: pass\n', "hljs-string"],
    ["an HTML comment", "xml", "<!-- one\n", "two <b>\n", "three --><i></i>\n", "hljs-comment"],
  ])("%s continues it until it ends", (_, key, first, second, third, name) => {
    const highlighter = new PieceHighlighter(hljs, key);
    highlighter.next(first);
    expect(highlighter.next(second)).toEqual([{ name, tokens: [second] }]);
    const [start, ...rest] = highlighter.next(third);
    expect(start).toMatchObject({ name });
    expect(getTokenNames(rest).length).toBeGreaterThan(0);
  });
});

test("unexpected markup is parsed as text", () => {
  expect(parseHighlightedHtml("a</span>b&amp;lt;")).toEqual(["a", "b&lt;"]);
});
