import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { annotate } from "@deltawire/tasks";
import { workTime } from "../../../../test/work-time.ts";
import { inlineView } from "../../src/markdown/inline-view.tsx";
import { LazyMarkdown } from "../../src/markdown/lazy-markdown.tsx";
import { Markdown } from "../../src/markdown/markdown.tsx";
import { LanguageContext } from "../../src/words/use-words.ts";

function drawn(text: string, growing = false): string {
  return renderToStaticMarkup(<Markdown text={text} growing={growing} />);
}

/** What one section holds. */
function shown(text: string): string {
  return drawn(text)
    .replace('<div class="markdown"><div class="markdown-section">', "")
    .replace(/<\/div><\/div>$/, "");
}

function tagsIn(markup: string): string[] {
  return [...markup.matchAll(/<([a-zA-Z][^\s/>]*)/g)].map(([, name = ""]) => name);
}

const cases: [what: string, markdown: string, markup: string][] = [
  ["words", "a **b** *c* ~~d~~", '<p dir="auto">a <strong>b</strong> <em>c</em> <del>d</del></p>'],
  ["code in a line", "`a<b`", '<p dir="auto"><code class="markdown-code">a&lt;b</code></p>'],
  [
    "links that open elsewhere and tell nobody where from",
    "[a](https://b.c)",
    '<p dir="auto"><a href="https://b.c" target="_blank" rel="noopener noreferrer">a</a></p>',
  ],
  [
    "links and pictures by their labels, whose definitions are not there",
    '[a][b] ![c]\n\n[B]: https://b.c "d"\n[c]: </api/blobs/0f3>',
    '<p dir="auto"><a href="https://b.c" title="d" target="_blank" rel="noopener noreferrer">a</a> <img class="markdown-image" src="/api/blobs/0f3" alt="c" loading="lazy"/></p>',
  ],
  [
    "lists that begin anywhere",
    "3. a\n4. b",
    '<div class="markdown-list"><ol start="3"><li dir="auto" data-tight="true"><p>a</p></li><li dir="auto" data-tight="true"><p>b</p></li></ol></div>',
  ],
  [
    "boxes with a name",
    "- [x] a",
    '<div class="markdown-list"><ul><li dir="auto" data-tight="true" data-box=""><span class="markdown-box" role="img" aria-label="done" data-checked="true"></span><p>a</p></li></ul></div>',
  ],
  [
    "tables with sides",
    "|a|b|\n|-|-:|\n|c|d|",
    '<div class="markdown-table" dir="auto"><table><thead><tr><th scope="col">a</th><th scope="col" data-side="right">b</th></tr></thead><tbody><tr><td>c</td><td data-side="right">d</td></tr></tbody></table></div>',
  ],
  ["quotes", "> a", '<blockquote class="markdown-quote" dir="auto"><p>a</p></blockquote>'],
  [
    "formulas as they were written until they are drawn",
    "$a<b$",
    '<p dir="auto"><span class="markdown-formula" dir="ltr"><span></span><code>a&lt;b</code></span></p>',
  ],
  [
    "pictures of this gateway",
    "![a](/api/blobs/0f3)",
    '<p dir="auto"><img class="markdown-image" src="/api/blobs/0f3" alt="a" loading="lazy"/></p>',
  ],
];
test.each(cases)("the page shows %s", (_, markdown, markup) => {
  expect(shown(markdown)).toBe(markup);
});

test("code has its language, a button to copy it and one to wrap it", () => {
  const markup = drawn("```ts\nconst a = 1;\n```");
  expect(markup).toContain('<span class="markdown-language">TypeScript</span>');
  expect(markup).toMatch(/<button[^>]*aria-pressed="false"[^>]*>Wrap<\/button>/);
  expect(markup).toMatch(/<button[^>]*>.*Copy<\/button>/);
  expect(markup).toContain('<span class="markdown-piece">const a = 1;</span>');
});

test("the page speaks Chinese", () => {
  const markup = renderToStaticMarkup(
    <LanguageContext value="zh">
      <Markdown text={"```\na\n```\n- [ ] b"} growing={false} />
    </LanguageContext>,
  );
  for (const word of ["复制", "换行", "未完成"]) expect(markup).toContain(word);
});

describe("what a model says stays inert:", () => {
  const harmless = new Set(
    "div p h3 h4 h5 h6 ul ol li span blockquote hr strong em del code a br img figure figcaption pre button svg path table thead tbody tr th td colgroup col".split(
      " ",
    ),
  );
  const hostile = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<svg onload="alert(1)"><a xlink:href="javascript:alert(1)">x</a></svg>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt&#58;alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x) [b](file:///etc/passwd) [c](//evil.example)",
    '[a](https://b.c"onmouseover="alert(1))',
    '![a](https://b.c/"onerror="alert(1))',
    "![a](/api/blobs/../../etc)",
    "<javascript:alert(1)>",
    '```html"><script>\n</code></pre><script>alert(1)</script>\n```',
    "$\\href{javascript:alert(1)}{x}$",
    "| <script> |\n|-|\n| <img src=x onerror=y> |",
    "<style>*{display:none}</style>",
    "- [x](<javascript:alert(1)>)",
    "[a] ![a]\n\n[a]: javascript:alert(1)",
    "[a]\n\n[a]: <data:text/html,<script>alert(1)</script>>",
    '[a] ![a][]\n\n[a]: <https://b.c/"onerror="alert(1)> "><script>"',
    "![a]\n\n[a]: /api/blobs/../../etc",
  ];
  test.each(hostile)("%s", (text) => {
    const markup = drawn(text);
    expect(tagsIn(markup).filter((name) => !harmless.has(name))).toEqual([]);
    expect(markup).not.toMatch(/<[^>]* on\w+=/);
    expect(markup).not.toContain("style=");
    const addresses = [...markup.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, url = ""]) => url);
    expect(
      addresses.filter((url) => !/^(?:https?:\/\/|mailto:|\/api\/blobs\/[\w-]+$)/.test(url)),
    ).toEqual([]);
  });

  test("no picture is fetched from elsewhere", () => {
    const markup = drawn(
      "![a](https://evil.example/x.png) ![](http://evil.example/y) ![z]\n\n[z]: https://evil.example/z",
    );
    expect(tagsIn(markup)).not.toContain("img");
    expect(markup).toContain('<a href="https://evil.example/x.png"');
  });

  test("whatever is written, only tags that we know are drawn", () => {
    const piece = fc.constantFrom(
      ...hostile,
      "<",
      ">",
      '"',
      "'",
      "\n",
      "`",
      "*",
      "[",
      "](",
      ")",
      "|",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const tags = tagsIn(drawn(pieces.join("")));
        expect(tags.filter((name) => !harmless.has(name))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

test("markers become what the page makes of them; without that they are shown as they are", () => {
  const text = "A [^1] and [^7], not `[^1]`.";
  const annotations = annotate(text, (n) => n === 1);
  const cite = (n: number, resolved: boolean) => <b>{`${n}${resolved ? "" : "?"}`}</b>;
  const markup = renderToStaticMarkup(
    <Markdown text={text} annotations={annotations} growing={false} cite={cite} />,
  );
  expect(markup).toContain("A <b>1</b> and <b>7?</b>, not");
  expect(markup).toContain(">[^1]</code>");
  expect(
    renderToStaticMarkup(<Markdown text={text} annotations={annotations} growing={false} />),
  ).toContain("A [^1] and [^7]");
});

test("no heading skips a rank, and none stands above those of the page", () => {
  const markup = drawn("### a\n\n# b\n\n###### c\n\n## d\n\n> # e");
  expect(tagsIn(markup).filter((name) => /^h\d$/.test(name))).toEqual([
    "h3",
    "h3",
    "h4",
    "h4",
    "h6",
  ]);
});

test("a long list, table and code are drawn in parts", () => {
  const list = drawn(Array.from({ length: 100 }, (_, nth) => `${nth + 5}. x`).join("\n"));
  expect([...list.matchAll(/<ol start="(\d+)">/g)].map(([, start]) => start)).toEqual([
    "5",
    "45",
    "85",
  ]);
  const table = drawn(`|a|\n|-|\n${"|b|\n".repeat(100)}`);
  expect(tagsIn(table).filter((name) => name === "table").length).toBe(3);
  expect(tagsIn(table).filter((name) => name === "td").length).toBe(100);
  const code = drawn(`\`\`\`\n${"x\n".repeat(100)}\`\`\``);
  expect(code.match(/markdown-piece/g)?.length).toBe(3);
});

test("a text that has ended looks as it did when its last character came", () => {
  const text = "# a\n\nb **c**\n\n- d\n- e\n\n| f |\n|---|\n| g |\n\n```js\nh\n```\n";
  expect(drawn(text, true)).toBe(drawn(text));
});

test("before Markdown can be drawn the text is there as it is", () => {
  const markup = renderToStaticMarkup(<LazyMarkdown text={"# a\n\n<b>"} growing />);
  expect(markup).toBe('<div class="plain-text" dir="auto"># a\n\n&lt;b&gt;</div>');
});

test("of an address only what the rest of the page shows is drawn as a picture, and never linked to if it is one itself", () => {
  const picture = "data:image/png;base64,AA==";
  const link = (url: string, image?: true) =>
    renderToStaticMarkup(
      inlineView([
        { type: "link", url, inline: [{ type: "text", text: "a" }], ...(image && { image }) },
      ]),
    );
  expect(tagsIn(link(picture, true))).toEqual(["img"]);
  expect(link(picture)).toBe("a");
  for (const url of ["data:image/svg+xml,<svg/>", "data:text/html,x", "/api/chats", "/"])
    expect([link(url), link(url, true)]).toEqual(["a", "a"]);
});

test.each(["**a_", "> ", "- a\n", "[", "|a|\n|-|\n", "`a", "# a\n\n", "$a$ ", "x"])(
  "two hundred kilobytes of %j are drawn",
  { timeout: 60_000 },
  (piece) => {
    let markup = "";
    const took = workTime(() => (markup = drawn(piece.repeat(200_000 / piece.length))));
    expect(markup.length).toBeGreaterThan(100_000);
    expect(took).toBeLessThan(10_000);
  },
);
