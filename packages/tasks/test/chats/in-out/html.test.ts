import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chatToHtml, type Chat, type NewMessage } from "@deltawire/tasks/chats";
import { patience, runs } from "../../../../../test/runs.ts";
import { workTime } from "../../../../../test/work-time.ts";
import { WrittenChat } from "../written-chat.ts";
import { anyChat } from "./any-chat.ts";
import { answer, dot, sampleBlobs, sampleChat, sampleWorld, sound, text } from "./sample-chat.ts";

function page(chat: Chat): string {
  return chatToHtml(chat, { blobs: sampleBlobs });
}

/** What stands for an answer of this Markdown. */
function shown(markdown: string): string {
  const written = new WrittenChat({}, sampleWorld());
  written.answer(written.user(null, ""), "", answer([text(markdown)]));
  const [, html = ""] =
    /<div class="text" dir="auto">([^]*)<\/div>\n/.exec(page(written.chat)) ?? [];
  return html.trim();
}

function asked(message: NewMessage): string {
  const written = new WrittenChat({}, sampleWorld());
  written.edit({ type: "add_message", parent: null, message });
  return page(written.chat);
}

interface Tag {
  name: string;
  attributes: [name: string, value: string][];
}

/** Every tag of a page. Whatever is not well written as one is a fault. */
function tagsOf(html: string): Tag[] {
  const form = /<(!doctype html|\/?[a-z][a-z0-9]*)((?: [a-z-]+(?:="[^"<>]*")?)*)>/g;
  const style = /(<style>)[^]*?(<\/style>)/;
  const rest = html.replace(style, "$1$2").replaceAll(form, "");
  expect(rest).not.toMatch(/[<>]/);
  return [...html.replace(style, "$1$2").matchAll(form)].map(([, name = "", attributes = ""]) => ({
    name,
    attributes: [...attributes.matchAll(/ ([a-z-]+)(?:="([^"]*)")?/g)].map(
      ([, key = "", value = ""]) => [key, value],
    ),
  }));
}

const known = new Set(
  "html head meta title style body header main section h1 h2 h3 h4 h5 h6 small div p pre code details summary ul ol li blockquote hr a sup sub kbd strong em del br table thead tbody tr th td img audio"
    .split(" ")
    .concat("!doctype html"),
);
const harmless = new Set(
  "charset http-equiv content name lang class dir href rel id value start src alt controls preload download open".split(
    " ",
  ),
);

const addresses: Readonly<Record<string, RegExp>> = {
  src: /^data:(?:image|audio)\/[\w.+-]+;base64,[A-Za-z0-9+/=]*$/,
  href: /^(?:https?:\/\/|mailto:|#r\d+-\d+$|data:application\/octet-stream;base64,)/,
};

/** Tags, attributes and addresses that do something, or that nobody has thought of. */
function active(html: string): string[] {
  return tagsOf(html).flatMap(({ name, attributes }) => [
    ...(known.has(name.replace("/", "")) ? [] : [name]),
    ...attributes.flatMap(([key, value]) =>
      harmless.has(key) && (addresses[key]?.test(value) ?? true) ? [] : [`${key}="${value}"`],
    ),
  ]);
}

test("the page needs nothing else, and lets nothing in", () => {
  const html = page(sampleChat());
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
  expect(active(html)).toEqual([]);
});

test("pictures and sounds are in the page", () => {
  const html = page(sampleChat());
  expect(html).toContain(`<img src="data:image/png;base64,${dot.blob.base64}" alt="dot.png">`);
  expect(html).toContain(`src="data:audio/wav;base64,${sound.blob.base64}"></audio>`);
});

test("what is not at hand is linked, or named", () => {
  const html = asked({
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
  expect(active(html)).toEqual([]);
});

test("hostile words stay words, whoever says them", () => {
  const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(1)></title></style><!--`;
  const written = new WrittenChat(
    { title: hostile, settings: { instructions: hostile } },
    sampleWorld(),
  );
  const user = written.edit({
    type: "add_message",
    parent: null,
    message: {
      text: hostile,
      contexts: [{ kind: "page", title: hostile, text: hostile, url: `https://${hostile}` }],
    },
  }).node_id as string;
  written.answer(user, "", {
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
  const html = page(written.chat);
  expect(active(html)).toEqual([]);
  expect(html).not.toContain("<script");
  expect(html.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(15);
});

test("tags, folds, footnotes and entities are what they mean, and other HTML is text", () => {
  const written = new WrittenChat({}, sampleWorld());
  const said =
    "H<sub>2</sub>O <kbd>A</kbd> x<sup>2</sup> &copy;&#65; <!-- c --><b>d</b>[^1]\n\n<details open>\n<summary>*e*</summary>\n\nf\n\n</details>\n\n[^1]: g <script>";
  written.answer(written.user(null), "", answer([text(said)]));
  const html = page(written.chat);
  expect(html).toContain(
    "<p>H<sub>2</sub>O <kbd>A</kbd> x<sup>2</sup> ©A &lt;b&gt;d&lt;/b&gt;<sup>1</sup></p>\n<details open><summary><em>e</em></summary><p>f</p></details>\n<p><sup>1</sup> g &lt;script&gt;</p>",
  );
  expect(active(html)).toEqual([]);
});

test("the language is taken only if it is one", () => {
  const chat = sampleChat();
  expect(chatToHtml(chat, { blobs: sampleBlobs, language: "zh-CN" })).toContain(
    `<html lang="zh-CN">`,
  );
  expect(chatToHtml(chat, { blobs: sampleBlobs, language: '"><x' })).toContain("<html>");
});

function table(head: string, body = ""): string {
  const rows = body === "" ? "" : `<tbody>${body}</tbody>`;
  return `<div class="wide"><table><thead>${head}</thead>${rows}</table></div>`;
}

const markdown: [string, string, string][] = [
  ["paragraphs", "a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>"],
  [
    "fenced code",
    "```js\na < b\n\n`c`\n```\nd",
    "<pre><code>a &lt; b\n\n`c`</code></pre>\n<p>d</p>",
  ],
  ["an open fence", "~~~\n**a**", "<pre><code>**a**</code></pre>"],
  ["code in a line", "a ``b ` c`` `d", "<p>a <code>b ` c</code> `d</p>"],
  [
    "bold and italics",
    "**a *b* c** *d* 2 * 3 **e",
    "<p><strong>a <em>b</em> c</strong> <em>d</em> 2 * 3 **e</p>",
  ],
  ["headings", "# a\n### b", "<h3>a</h3>\n<h5>b</h5>"],
  [
    "lists in lists",
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
  ["links that would be run", "[a](javascript:alert(1)) [b](data:text/html,c)", "<p>a b</p>"],
  [
    "pictures of others",
    "![a](https://b.c/d.png)",
    `<p><a href="https://b.c/d.png" rel="noopener noreferrer nofollow">a</a></p>`,
  ],
  [
    "mail, formulas, and pictures that only the gateway has",
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
    "the sides of columns, and rows without bars at their ends",
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
  ["tables right behind words", "a\n|b|\n|-|", `<p>a</p>\n${table("<tr><th>b</th></tr>")}`],
  [
    "tables in lists",
    "- a\n\n  |b|\n  |-|",
    `<ul><li><p>a</p>\n${table("<tr><th>b</th></tr>")}</li></ul>`,
  ],
  [
    "tables that end with another block",
    "|a|\n|-|\n- b | c",
    `${table("<tr><th>a</th></tr>")}\n<ul><li>b | c</li></ul>`,
  ],
  [
    "what is no table",
    "a | b\n---|\n\n| a |\n| b |\n|--x|",
    "<p>a | b\n---|</p>\n<p>| a |\n| b |\n|--x|</p>",
  ],
  [
    "what is struck out",
    "~~a **b**~~ ~c~ ~~~d~~~ ~~e",
    "<p><del>a <strong>b</strong></del> <del>c</del> ~~~d~~~ ~~e</p>",
  ],
  [
    "boxes to tick",
    "- [ ] a\n- [x] **b**\n  - [X] c\n- [y] d [ ] e",
    '<ul><li class="task">\u2610 a</li><li class="task"><p>\u2611 <strong>b</strong></p>\n<ul><li class="task">\u2611 c</li></ul></li><li>[y] d [ ] e</li></ul>',
  ],
];
test.each(markdown)("the page shows %s", (_, source, html) => {
  expect(shown(source)).toBe(html);
});

test("a source is linked from where it is cited, and only from there", () => {
  const html = page(sampleChat());
  expect(html).toContain(`A red dot <sup><a href="#r1-1">1</a></sup>, not <code>[^1]</code>.`);
  expect(html).toContain(`<li id="r1-1" value="1"><a href="https://example.com/dots"`);
});

test("every chat becomes a page in which nothing can run", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      expect(active(page(chat))).toEqual([]);
    }),
    runs(100),
  );
});

test("no Markdown loses its words, and none come twice", () => {
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
      // An address is shown in code, and is behind its words elsewhere.
      const letters = (one: string) => one.replaceAll(/\(https:[^)]*\)|[^a-z]/g, "");
      expect(letters(shown(source).replaceAll(/<[^>]*>|&\w+;/g, ""))).toBe(letters(source));
    }),
    runs(500),
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
  "a megabyte that is all %j takes a moment",
  patience,
  (_, piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
    expect(workTime(() => shown(text))).toBeLessThan(6000);
  },
);
