import fc from "fast-check";
import hljs from "highlight.js/lib/core";
import { beforeAll, describe, expect, test } from "vitest";
import { PieceHighlighter, tokensOf, type Token } from "../../src/markdown/code-tokens.ts";
import { languageKey, languageName, loadLanguage } from "../../src/markdown/languages.ts";

const keys =
  "bash c cpp csharp css diff dockerfile go graphql http ini java javascript json kotlin lua makefile markdown php powershell python r ruby rust scala scss sql swift typescript xml yaml".split(
    " ",
  );

beforeAll(async () => {
  for (const name of keys)
    for (const { key, language } of await loadLanguage(name)) hljs.registerLanguage(key, language);
});

function textOf(tokens: readonly Token[]): string {
  return tokens.map((one) => (typeof one === "string" ? one : textOf(one.tokens))).join("");
}

function namesIn(tokens: readonly Token[]): string[] {
  return tokens.flatMap((one) =>
    typeof one === "string" ? [] : [one.name, ...namesIn(one.tokens)],
  );
}

test("every language loads, under a word that people write", () => {
  for (const key of keys) expect(hljs.getLanguage(key), key).toBeDefined();
  const written = {
    ts: "TypeScript",
    PY: "Python",
    "c++": "C++",
    html: "HTML",
    sh: "Bash",
    yml: "YAML",
  };
  for (const [word, name] of Object.entries(written)) expect(languageName(word)).toBe(name);
  expect(languageKey("brainfuck")).toBeUndefined();
  expect(languageName("brainfuck")).toBe("brainfuck");
  expect([languageKey(""), languageName("text"), languageName("svg")]).toEqual([
    undefined,
    "",
    "SVG",
  ]);
});

test("tokens have the words of the code, and classes for them", () => {
  const code = "const a: string = `x ${1 + 2} <b>&\"'`; // </span> &lt;\n";
  const tokens = new PieceHighlighter(hljs, "typescript").next(code);
  expect(textOf(tokens)).toBe(code);
  expect(namesIn(tokens)).toEqual(
    expect.arrayContaining(["hljs-keyword", "hljs-string", "hljs-number", "hljs-comment"]),
  );
});

test("no code loses a character, in any language, however it is cut", () => {
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
      (key, all) => {
        const highlighter = new PieceHighlighter(hljs, key);
        for (const one of all.map((pieces) => pieces.join("")))
          expect(textOf(highlighter.next(one))).toBe(one);
      },
    ),
    { numRuns: 300 },
  );
});

describe("a piece that begins within", () => {
  test.each([
    ["a comment", "typescript", "a(); /* one\n", "two\n", "three */ if (a) {}\n", "hljs-comment"],
    ["a text", "python", 'x = """one\n', "two if\n", 'three""" if a: pass\n', "hljs-string"],
    ["HTML's comment", "xml", "<!-- one\n", "two <b>\n", "three --><i></i>\n", "hljs-comment"],
  ])("%s goes on with it, and ends it", (_, key, first, second, third, name) => {
    const highlighter = new PieceHighlighter(hljs, key);
    highlighter.next(first);
    expect(highlighter.next(second)).toEqual([{ name, tokens: [second] }]);
    const [start, ...rest] = highlighter.next(third);
    expect(start).toMatchObject({ name });
    expect(namesIn(rest).length).toBeGreaterThan(0);
  });
});

test("what is no span of highlight.js makes none", () => {
  expect(tokensOf("a</span>b&amp;lt;")).toEqual(["a", "b&lt;"]);
});
