import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { annotateCitations } from "@deltawire/tasks";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import { renderInline } from "../../src/markdown/render-inline.tsx";
import { LazyMarkdown } from "../../src/markdown/lazy-markdown.tsx";
import { Markdown } from "../../src/markdown/markdown.tsx";
import { LanguageContext } from "../../src/messages/use-messages.ts";

function renderMarkdown(text: string, isStreaming = false): string {
  return renderToStaticMarkup(<Markdown text={text} isStreaming={isStreaming} />);
}

/** Returns the markup within the only section. */
function renderVisibleText(text: string): string {
  return renderMarkdown(text)
    .replace('<div class="markdown"><div class="markdown-section">', "")
    .replace(/<\/div><\/div>$/, "");
}

function listTags(markup: string): string[] {
  return [...markup.matchAll(/<([a-zA-Z][^\s/>]*)/g)].map(([, name = ""]) => name);
}

const cases: [what: string, markdown: string, markup: string][] = [
  [
    "emphasis",
    "a **b** *c* ~~d~~",
    '<p dir="auto">a <strong>b</strong> <em>c</em> <del>d</del></p>',
  ],
  ["inline code", "`a<b`", '<p dir="auto"><code class="markdown-code">a&lt;b</code></p>'],
  [
    "links that open in a new tab without a referrer",
    "[a](https://b.c)",
    '<p dir="auto"><a href="https://b.c" target="_blank" rel="noopener noreferrer">a</a></p>',
  ],
  [
    "reference links and images, without their definitions",
    '[a][b] ![c]\n\n[B]: https://b.c "d"\n[c]: </api/blobs/0f3>',
    '<p dir="auto"><a href="https://b.c" title="d" target="_blank" rel="noopener noreferrer">a</a> <img class="markdown-image" src="/api/blobs/0f3" alt="c" loading="lazy"/></p>',
  ],
  [
    "ordered lists with any start",
    "3. a\n4. b",
    '<div class="markdown-list"><ol start="3"><li dir="auto" data-tight="true"><p>a</p></li><li dir="auto" data-tight="true"><p>b</p></li></ol></div>',
  ],
  [
    "checkboxes with an accessible name",
    "- [x] a",
    '<div class="markdown-list"><ul><li dir="auto" data-tight="true" data-checkbox=""><span class="markdown-checkbox" role="img" aria-label="done" data-checked="true"></span><p>a</p></li></ul></div>',
  ],
  [
    "tables with column alignment",
    "|a|b|\n|-|-:|\n|c|d|",
    '<div class="markdown-table" dir="auto"><table><thead><tr><th scope="col">a</th><th scope="col" data-align="right">b</th></tr></thead><tbody><tr><td>c</td><td data-align="right">d</td></tr></tbody></table></div>',
  ],
  ["quotes", "> a", '<blockquote class="markdown-quote" dir="auto"><p>a</p></blockquote>'],
  [
    "the source of formulas until they are rendered",
    "$a<b$",
    '<p dir="auto"><span class="markdown-formula" dir="ltr"><span></span><code>a&lt;b</code></span></p>',
  ],
  [
    "images of this gateway",
    "![a](/api/blobs/0f3)",
    '<p dir="auto"><img class="markdown-image" src="/api/blobs/0f3" alt="a" loading="lazy"/></p>',
  ],
];
test.each(cases)("Markdown renders %s", (_, markdown, markup) => {
  expect(renderVisibleText(markdown)).toBe(markup);
});

test("a code block has its language, a copy button and a wrap button", () => {
  const markup = renderMarkdown("```ts\nconst a = 1;\n```");
  expect(markup).toContain('<span class="markdown-language">TypeScript</span>');
  expect(markup).toMatch(/<button[^>]*aria-pressed="false"[^>]*>Wrap<\/button>/);
  expect(markup).toMatch(/<button[^>]*>.*Copy<\/button>/);
  expect(markup).toContain('<span class="markdown-code-piece">const a = 1;</span>');
});

test("the labels of buttons and checkboxes are translated", () => {
  const markup = renderToStaticMarkup(
    <LanguageContext value="zh">
      <Markdown text={"```\na\n```\n- [ ] b"} isStreaming={false} />
    </LanguageContext>,
  );
  for (const word of ["复制", "换行", "未完成"]) expect(markup).toContain(word);
});

describe("hostile text of a model stays inert:", () => {
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
    const markup = renderMarkdown(text);
    expect(listTags(markup).filter((name) => !harmless.has(name))).toEqual([]);
    expect(markup).not.toMatch(/<[^>]* on\w+=/);
    expect(markup).not.toContain("style=");
    const addresses = [...markup.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, url = ""]) => url);
    expect(
      addresses.filter((url) => !/^(?:https?:\/\/|mailto:|\/api\/blobs\/[\w-]+$)/.test(url)),
    ).toEqual([]);
  });

  test("external images are not loaded", () => {
    const markup = renderMarkdown(
      "![a](https://evil.example/x.png) ![](http://evil.example/y) ![z]\n\n[z]: https://evil.example/z",
    );
    expect(listTags(markup)).not.toContain("img");
    expect(markup).toContain('<a href="https://evil.example/x.png"');
  });

  test("any input renders only known tags", () => {
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
        const tags = listTags(renderMarkdown(pieces.join("")));
        expect(tags.filter((name) => !harmless.has(name))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

test("citation markers are rendered by the page, or as text without a renderer", () => {
  const text = "A [^1] and [^7], not `[^1]`.";
  const annotations = annotateCitations(text, (n) => n === 1);
  const cite = (n: number, resolved: boolean) => <b>{`${n}${resolved ? "" : "?"}`}</b>;
  const markup = renderToStaticMarkup(
    <Markdown text={text} annotations={annotations} isStreaming={false} renderCitation={cite} />,
  );
  expect(markup).toContain("A <b>1</b> and <b>7?</b>, not");
  expect(markup).toContain(">[^1]</code>");
  expect(
    renderToStaticMarkup(<Markdown text={text} annotations={annotations} isStreaming={false} />),
  ).toContain("A [^1] and [^7]");
});

test("headings skip no level and rank below those of the page", () => {
  const markup = renderMarkdown("### a\n\n# b\n\n###### c\n\n## d\n\n> # e");
  expect(listTags(markup).filter((name) => /^h\d$/.test(name))).toEqual([
    "h3",
    "h3",
    "h4",
    "h4",
    "h6",
  ]);
});

test("a long list, table and code block are rendered in chunks", () => {
  const list = renderMarkdown(Array.from({ length: 100 }, (_, nth) => `${nth + 5}. x`).join("\n"));
  expect([...list.matchAll(/<ol start="(\d+)">/g)].map(([, start]) => start)).toEqual([
    "5",
    "45",
    "85",
  ]);
  const table = renderMarkdown(`|a|\n|-|\n${"|b|\n".repeat(100)}`);
  expect(listTags(table).filter((name) => name === "table").length).toBe(3);
  expect(listTags(table).filter((name) => name === "td").length).toBe(100);
  const code = renderMarkdown(`\`\`\`\n${"x\n".repeat(100)}\`\`\``);
  expect(code.match(/markdown-code-piece/g)?.length).toBe(3);
});

test("text is rendered in the same way while it streams and when it is finished", () => {
  const text = "# a\n\nb **c**\n\n- d\n- e\n\n| f |\n|---|\n| g |\n\n```js\nh\n```\n";
  expect(renderMarkdown(text, true)).toBe(renderMarkdown(text));
});

test("plain text is shown until Markdown is loaded", () => {
  const markup = renderToStaticMarkup(<LazyMarkdown text={"# a\n\n<b>"} isStreaming />);
  expect(markup).toBe('<div class="plain-text" dir="auto"># a\n\n&lt;b&gt;</div>');
});

test("only local images are rendered as images, and their URLs are never links", () => {
  const imageUrl = "data:image/png;base64,AA==";
  const link = (url: string, image?: true) =>
    renderToStaticMarkup(
      renderInline([
        { type: "link", url, inline: [{ type: "text", text: "a" }], ...(image && { image }) },
      ]),
    );
  expect(listTags(link(imageUrl, true))).toEqual(["img"]);
  expect(link(imageUrl)).toBe("a");
  for (const url of ["data:image/svg+xml,<svg/>", "data:text/html,x", "/api/chats", "/"])
    expect([link(url), link(url, true)]).toEqual(["a", "a"]);
});

test.each(["**a_", "> ", "- a\n", "[", "|a|\n|-|\n", "`a", "# a\n\n", "$a$ ", "x"])(
  "200 KB of %j are rendered in less than 10 s",
  { timeout: 60_000 },
  (piece) => {
    let markup = "";
    const took = measureCpuTime(
      () => (markup = renderMarkdown(piece.repeat(200_000 / piece.length))),
    );
    expect(markup.length).toBeGreaterThan(100_000);
    expect(took).toBeLessThan(10_000);
  },
);
