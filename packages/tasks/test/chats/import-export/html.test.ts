import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chatToHtml, type Chat, type NewMessage } from "@deltawire/tasks/chats";
import { longTimeout, propertyRuns } from "../../../../../test/property-runs.ts";
import { measureCpuTime } from "../../../../../test/cpu-time.ts";
import { ChatBuilder } from "../chat-builder.ts";
import { anyChat } from "./arbitrary-chat.ts";
import {
  answer,
  dot,
  findSampleBlob,
  createSampleChat,
  createSampleEnvironment,
  audio,
  text,
} from "./sample-chat.ts";

function renderPage(chat: Chat): string {
  return chatToHtml(chat, { blobs: findSampleBlob });
}

/** Returns the HTML of an answer with this Markdown. */
function renderMarkdown(markdown: string): string {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  builder.addAnswer(builder.addMessage(null, ""), "", answer([text(markdown)]));
  const [, html = ""] =
    /<div class="text" dir="auto">([^]*)<\/div>\n/.exec(renderPage(builder.chat)) ?? [];
  return html.trim();
}

function renderMessage(message: NewMessage): string {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  builder.edit({ type: "add_message", parent: null, message });
  return renderPage(builder.chat);
}

interface Tag {
  name: string;
  attributes: [name: string, value: string][];
}

/** Returns all tags of a page. Fails if any is malformed. */
function parseTags(html: string): Tag[] {
  const tagPattern = /<(!doctype html|\/?[a-z][a-z0-9]*)((?: [a-z-]+(?:="[^"<>]*")?)*)>/g;
  const style = /(<style>)[^]*?(<\/style>)/;
  const rest = html.replace(style, "$1$2").replaceAll(tagPattern, "");
  expect(rest).not.toMatch(/[<>]/);
  return [...html.replace(style, "$1$2").matchAll(tagPattern)].map(
    ([, name = "", attributes = ""]) => ({
      name,
      attributes: [...attributes.matchAll(/ ([a-z-]+)(?:="([^"]*)")?/g)].map(
        ([, key = "", value = ""]) => [key, value],
      ),
    }),
  );
}

const allowedTags = new Set(
  "html head meta title style body header main section h1 h2 h3 h4 h5 h6 small div p pre code details summary ul ol li blockquote hr a sup sub kbd strong em del br table thead tbody tr th td img audio"
    .split(" ")
    .concat("!doctype html"),
);
const allowedAttributes = new Set(
  "charset http-equiv content name lang class dir href rel id value start src alt controls preload download open".split(
    " ",
  ),
);

const allowedUrls: Readonly<Record<string, RegExp>> = {
  src: /^data:(?:image|audio)\/[\w.+-]+;base64,[A-Za-z0-9+/=]*$/,
  href: /^(?:https?:\/\/|mailto:|#r\d+-\d+$|data:application\/octet-stream;base64,)/,
};

/** Returns all tags, attributes and URLs that are not allowed. */
function findDisallowed(html: string): string[] {
  return parseTags(html).flatMap(({ name, attributes }) => [
    ...(allowedTags.has(name.replace("/", "")) ? [] : [name]),
    ...attributes.flatMap(([key, value]) =>
      allowedAttributes.has(key) && (allowedUrls[key]?.test(value) ?? true)
        ? []
        : [`${key}="${value}"`],
    ),
  ]);
}

test("the page is self-contained, and its content security policy blocks other resources", () => {
  const html = renderPage(createSampleChat());
  const [, policy = ""] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
  const [, style = ""] = /<style>([^]*)<\/style>/.exec(html) ?? [];
  const hash = createHash("sha256").update(style).digest("base64");
  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    "img-src data:",
    "media-src data:",
    `style-src 'sha256-${hash}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  expect(style).toContain("prefers-color-scheme:dark");
  expect(style).not.toMatch(/url\(|@import/);
  expect(html).toContain(`<meta name="viewport" content="width=device-width, initial-scale=1">`);
  expect(findDisallowed(html)).toEqual([]);
});

test("images and audio are embedded in the page", () => {
  const html = renderPage(createSampleChat());
  expect(html).toContain(`<img src="data:image/png;base64,${dot.blob.base64}" alt="dot.png">`);
  expect(html).toContain(`src="data:audio/wav;base64,${audio.blob.base64}"></audio>`);
});

test("media that the chat does not contain are linked or named", () => {
  const html = renderMessage({
    text: "",
    attachments: [
      { kind: "image", url: "https://example.com/a.png", filename: "a.png" },
      { kind: "image", url: `/api/blobs/${"0".repeat(64)}`, filename: "b.png" },
      { kind: "file", url: "javascript:alert(1)", filename: '"><script>' },
      { kind: "image", url: "data:text/html;base64,PHNjcmlwdD4=", filename: "c.png" },
    ],
  });
  expect(html).toContain(
    `<a href="https://example.com/a.png" rel="noopener noreferrer nofollow">a.png</a>`,
  );
  expect(html).toContain("b.png (not in this file)");
  expect(html).toContain(`&quot;&gt;&lt;script&gt; (not in this file)`);
  expect(html).toContain(
    `href="data:application/octet-stream;base64,PHNjcmlwdD4=" download="c.png"`,
  );
  expect(findDisallowed(html)).toEqual([]);
});

test("hostile text is escaped in every field", () => {
  const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(1)></title></style><!--`;
  const builder = new ChatBuilder(
    { title: hostile, settings: { instructions: hostile } },
    createSampleEnvironment(),
  );
  const user = builder.edit({
    type: "add_message",
    parent: null,
    message: {
      text: hostile,
      contexts: [{ kind: "page", title: hostile, text: hostile, url: `https://${hostile}` }],
    },
  }).node_id as string;
  builder.addAnswer(user, "", {
    ...answer([
      { type: "reasoning", id: "rs", summary: [{ type: "text", text: hostile }] },
      { type: "tool_call", id: "fc", call_id: "c", name: hostile, arguments: hostile },
      {
        type: "tool_result",
        id: "out",
        call_id: "c",
        block_list: [{ type: "data", data: { [hostile]: hostile } }],
      },
      text(
        `${hostile}\n# ${hostile}\n- ${hostile}\n\`${hostile}\` **${hostile}**\n\`\`\`${hostile}\n${hostile}`,
      ),
    ]),
    model: hostile,
    notices: [hostile],
    status: "error",
    error: { phase: "model", code: hostile, message: hostile },
    references: [
      {
        reference_id: 1,
        item_id: "x",
        block_indexes: [],
        title: hostile,
        url: "javascript:alert(1)",
      },
    ],
  });
  const html = renderPage(builder.chat);
  expect(findDisallowed(html)).toEqual([]);
  expect(html).not.toContain("<script");
  expect(html.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(15);
});

test("supported tags, details, footnotes and entities are rendered, and other HTML is text", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const source =
    "H<sub>2</sub>O <kbd>A</kbd> x<sup>2</sup> &copy;&#65; <!-- c --><b>d</b>[^1]\n\n<details open>\n<summary>*e*</summary>\n\nf\n\n</details>\n\n[^1]: g <script>";
  builder.addAnswer(builder.addMessage(null), "", answer([text(source)]));
  const html = renderPage(builder.chat);
  expect(html).toContain(
    "<p>H<sub>2</sub>O <kbd>A</kbd> x<sup>2</sup> ©A &lt;b&gt;d&lt;/b&gt;<sup>1</sup></p>\n<details open><summary><em>e</em></summary><p>f</p></details>\n<p><sup>1</sup> g &lt;script&gt;</p>",
  );
  expect(findDisallowed(html)).toEqual([]);
});

test("the page has a lang attribute only for a valid language", () => {
  const chat = createSampleChat();
  expect(chatToHtml(chat, { blobs: findSampleBlob, language: "zh-CN" })).toContain(
    `<html lang="zh-CN">`,
  );
  expect(chatToHtml(chat, { blobs: findSampleBlob, language: '"><x' })).toContain("<html>");
});

function table(head: string, body = ""): string {
  const rows = body === "" ? "" : `<tbody>${body}</tbody>`;
  return `<div class="scroll"><table><thead>${head}</thead>${rows}</table></div>`;
}

const markdown: [string, string, string][] = [
  ["paragraphs", "a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>"],
  [
    "fenced code",
    "```js\na < b\n\n`c`\n```\nd",
    "<pre><code>a &lt; b\n\n`c`</code></pre>\n<p>d</p>",
  ],
  ["an unclosed fence", "~~~\n**a**", "<pre><code>**a**</code></pre>"],
  ["inline code", "a ``b ` c`` `d", "<p>a <code>b ` c</code> `d</p>"],
  [
    "bold and italic text",
    "**a *b* c** *d* 2 * 3 **e",
    "<p><strong>a <em>b</em> c</strong> <em>d</em> 2 * 3 **e</p>",
  ],
  ["headings", "# a\n### b", "<h3>a</h3>\n<h5>b</h5>"],
  [
    "nested lists",
    "- a\n  - b\n- c\n\n3. d\n4. e",
    `<ul><li><p>a</p>\n<ul><li>b</li></ul></li><li>c</li></ul>\n<ol start="3"><li>d</li><li>e</li></ol>`,
  ],
  [
    "code in lists",
    "1. a\n   ```\n   b\n   ```\n2. c",
    "<ol><li><p>a</p>\n<pre><code>b</code></pre></li><li>c</li></ol>",
  ],
  ["quotes", "> a\n> > b", "<blockquote><p>a</p>\n<blockquote><p>b</p></blockquote></blockquote>"],
  ["rules", "a\n\n---\n\nb", "<p>a</p>\n<hr>\n<p>b</p>"],
  [
    "links",
    "[a](https://b.c/d_(e)) https://f.g/h.",
    `<p><a href="https://b.c/d_(e)" rel="noopener noreferrer nofollow">a</a> <a href="https://f.g/h" rel="noopener noreferrer nofollow">https://f.g/h</a>.</p>`,
  ],
  ["links that would be executed", "[a](javascript:alert(1)) [b](data:text/html,c)", "<p>a b</p>"],
  [
    "external images",
    "![a](https://b.c/d.png)",
    `<p><a href="https://b.c/d.png" rel="noopener noreferrer nofollow">a</a></p>`,
  ],
  [
    "mail links, formulas, and images of the gateway",
    "[a](mailto:b@c.d) $e^2$ ![f](/api/blobs/0)",
    `<p><a href="mailto:b@c.d" rel="noopener noreferrer nofollow">a</a> <code>e^2</code> f</p>`,
  ],
  ["escapes", String.raw`\*a\* \<b`, "<p>*a* &lt;b</p>"],
  [
    "tables",
    "| a | b |\n|---|---|\n| **c** | `d` |\n\ne",
    table(
      "<tr><th>a</th><th>b</th></tr>",
      "<tr><td><strong>c</strong></td><td><code>d</code></td></tr>",
    ) + "\n<p>e</p>",
  ],
  [
    "column alignment, and rows without outer bars",
    "a | b | c | d\n:-- | :-: | --: | -\n1 | 2 | 3 | 4",
    table(
      '<tr><th class="left">a</th><th class="center">b</th><th class="right">c</th><th>d</th></tr>',
      '<tr><td class="left">1</td><td class="center">2</td><td class="right">3</td><td>4</td></tr>',
    ),
  ],
  [
    "bars in cells",
    "|a|\n|-|\n|b \\| `c\\|d` \\\\|",
    table("<tr><th>a</th></tr>", "<tr><td>b | <code>c|d</code> \\</td></tr>"),
  ],
  [
    "rows that are too short, too long, or empty",
    "|a|b|\n|-|-|\n|c|\n|d|e|f|\n|||",
    table(
      "<tr><th>a</th><th>b</th></tr>",
      "<tr><td>c</td><td></td></tr><tr><td>d</td><td>e</td></tr><tr><td></td><td></td></tr>",
    ),
  ],
  [
    "line breaks in cells",
    "|a|\n|-|\n|b<br>c<BR />`<br>`|",
    table("<tr><th>a</th></tr>", "<tr><td>b<br>c<br><code>&lt;br&gt;</code></td></tr>"),
  ],
  ["tables directly after text", "a\n|b|\n|-|", `<p>a</p>\n${table("<tr><th>b</th></tr>")}`],
  [
    "tables in lists",
    "- a\n\n  |b|\n  |-|",
    `<ul><li><p>a</p>\n${table("<tr><th>b</th></tr>")}</li></ul>`,
  ],
  [
    "tables that are followed by another block",
    "|a|\n|-|\n- b | c",
    `${table("<tr><th>a</th></tr>")}\n<ul><li>b | c</li></ul>`,
  ],
  [
    "text that is not a table",
    "a | b\n---|\n\n| a |\n| b |\n|--x|",
    "<p>a | b\n---|</p>\n<p>| a |\n| b |\n|--x|</p>",
  ],
  [
    "strikethrough text",
    "~~a **b**~~ ~c~ ~~~d~~~ ~~e",
    "<p><del>a <strong>b</strong></del> <del>c</del> ~~~d~~~ ~~e</p>",
  ],
  [
    "checkboxes",
    "- [ ] a\n- [x] **b**\n  - [X] c\n- [y] d [ ] e",
    '<ul><li class="task">\u2610 a</li><li class="task"><p>\u2611 <strong>b</strong></p>\n<ul><li class="task">\u2611 c</li></ul></li><li>[y] d [ ] e</li></ul>',
  ],
];
test.each(markdown)("the page renders %s", (_, source, html) => {
  expect(renderMarkdown(source)).toBe(html);
});

test("a citation links to its source, except in code", () => {
  const html = renderPage(createSampleChat());
  expect(html).toContain(`A red dot <sup><a href="#r1-1">1</a></sup>, not <code>[^1]</code>.`);
  expect(html).toContain(`<li id="r1-1" value="1"><a href="https://example.com/dots"`);
});

test("the page of any chat has only allowed tags, attributes and URLs", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      expect(findDisallowed(renderPage(chat))).toEqual([]);
    }),
    propertyRuns(100),
  );
});

test("rendering any Markdown neither drops nor duplicates letters", () => {
  const marks = ["\n```\n", "\n~~~~\n", "\n> ", "\n- ", "\n  - ", "\n     - ", "\n3. ", "\n   "];
  const inline = [
    " **",
    "** ",
    "*",
    "a`b`c",
    "[x](https://y.z) ",
    "[v]",
    "\\*",
    "o~~",
    "~~o",
    "[ ] ",
  ];
  const tables = ["|", "|", "\n|", "\n|-|-|\n", "\n-|:-:\n", "\\|"];
  const piece = fc.constantFrom(
    "one ",
    "two ",
    "\n",
    "\n\n",
    "\n# ",
    "\n---\n",
    ...marks,
    ...inline,
    ...tables,
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const source = pieces.join("");
      // The URL of a link is only visible in code.
      const extractLetters = (one: string) => one.replaceAll(/\(https:[^)]*\)|[^a-z]/g, "");
      expect(extractLetters(renderMarkdown(source).replaceAll(/<[^>]*>|&\w+;/g, ""))).toBe(
        extractLetters(source),
      );
    }),
    propertyRuns(500),
  );
});

const hostile = [
  "**a ",
  "[a](b",
  "`a ``b ```c ",
  "*a ",
  "[a]",
  "> ",
  "- ",
  "https://",
  "((",
  "|",
  "|a",
  "\\|",
  "|-\n",
  "a|b\n",
  "|a|\n|-|\n",
  "a|b\n-\n",
  "~~a ",
  "~",
  "- [ ] ",
  "<br",
  `${"|a".repeat(1000)}\n${"|-".repeat(1000)}\n${"|\n".repeat(100_000)}`,
];

test.each(hostile.map((piece) => [piece.slice(0, 20), piece] as const))(
  "a megabyte of %j is rendered in a few seconds",
  longTimeout,
  (_, piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
    expect(measureCpuTime(() => renderMarkdown(text))).toBeLessThan(6000);
  },
);
