/** Realistic pages, each with the expected text. URLs are relative to `pageAddress`. */
export const pageAddress = new URL("https://pages.example/docs/a.html");

export const htmlPages: readonly { name: string; html: string; text: string }[] = [
  {
    name: "headings, lists, links, tables, code and images",
    html: `<!doctype html><html><head><title>T</title><style>p > a {}</style>
      <script>if (a < b) document.write("<p>no</p>")</script></head>
      <body><nav><a href="/">Home</a><nav>x</nav></nav>
      <h2>Two  <em>words</em></h2><p>One<br>line &lt;b&gt; &eacute;&#233;&#xE9; &nope; &amp;amp;
      <a href='b.html?x=1&amp;y=2'>next</a>, <a href="javascript:x">not</a>, <a href="#top">up</a></p>
      <!-- <p>gone</p> --><ul><li>a<li>b</ul>
      <table><tr><th>k<th>v</tr><tr><td>1<td>2</tr></table>
      <pre>  x &lt; y\n    z</pre><img alt="A cat" src=c.png><img src=d.png>
      <noscript>enable it</noscript><p title="a > b">end</p></body></html>`,
    text: `## Two words

One
line <b> ééé &nope; &amp; [next](https://pages.example/docs/b.html?x=1&y=2), not, up

- a
- b

k | v
1 | 2

\`\`\`
  x < y
    z
\`\`\`

[image: A cat]

end`,
  },
  {
    name: "an SVG without content",
    html: `<p>Before <svg viewBox="0 0 1 1"/> after</p><p>Last</p>`,
    text: "Before after\n\nLast",
  },
  {
    name: "an SVG with labels",
    html: `<p>Before</p><svg><title>Icon</title><text>label</text><path d="M0"/></svg><p>After</p>`,
    text: "Before\n\nAfter",
  },
  {
    name: "navigation that is never closed",
    html: `<body><nav><a href="/">Home</a><p>The text of the page.</p></body>`,
    text: "[Home](https://pages.example/)\n\nThe text of the page.",
  },
  {
    name: "navigation that ends with the element around it",
    html: `<div><nav>Home</div><h1>Title</h1><p>Text</p><nav>Footer</nav>`,
    text: "Home\n\n# Title\n\nText",
  },
  {
    name: "navigation inside a paragraph, a list and a link",
    html: `<ul><li>one <nav>skip</nav>two</ul><a href="x">link <button>press</button>text</a>`,
    text: "- one two\n\n[link text](https://pages.example/docs/x)",
  },
  {
    name: "self-closing tags of HTML",
    html: `a<br/>b<hr/>c<img alt="x"/><p/>d<div/>e`,
    text: "a\nb\n\n---\n\nc[image: x]\n\nd\n\ne",
  },
  {
    name: "links that are not closed",
    html: `<a href="one">One <a href="two">Two</a> <a href="three">Three`,
    text:
      "[One](https://pages.example/docs/one) [Two](https://pages.example/docs/two) " +
      "[Three](https://pages.example/docs/three)",
  },
  {
    name: "links below another base",
    html: `<base href="https://other.example/x/"><a href="y">y</a> <a href="mailto:a@b.example">mail</a>`,
    text: "[y](https://other.example/x/y) mail",
  },
  {
    name: "all kinds of entities",
    html: "<p>&hearts; &notin; &CounterClockwiseContourIntegral; &copy 2026 AT&T &#128640; &#x1F680; &#151; &Amacr;&nbsp;x",
    text: "♥ ∉ ∳ © 2026 AT&T 🚀 🚀 — Ā x",
  },
  {
    name: "entities of invalid characters",
    html: "<p>&#0;&#xD800;&#99999999;",
    text: "\uFFFD\uFFFD\uFFFD",
  },
  {
    name: "entities in attributes",
    html: `<a href="?a=1&copy=2&amp;b=3">q</a><img alt="&quot;x&quot; &lt; y">`,
    text: `[q](https://pages.example/docs/a.html?a=1&copy=2&b=3)[image: "x" < y]`,
  },
  {
    name: "scripts that write tags",
    html: `<script>var s = "<nav>" + "</scr" + "ipt>" + "<!--";</script><p>Text</p><style>a::before { content: "</p>" }</style>`,
    text: "Text",
  },
  {
    name: "all forms of comments",
    html: "a<!-->b<!--->c<!-- - -- > -->d<!x>e<?y?>f",
    text: "abcdef",
  },
  {
    name: "comparisons",
    html: "a < b, 1 <2 and x<=y, p -> q & r",
    text: "a < b, 1 <2 and x<=y, p -> q & r",
  },
  {
    name: "quotes and brackets in attributes",
    html: `<p data-x="a > b" title='"' class=a"b>one</p><p "'>two</p>`,
    text: "one\n\ntwo",
  },
  {
    name: "code",
    html: "<p>Run:</p><pre><code class='sh'>\nnpm ci\n  npm test &amp;&amp; echo &lt;done&gt;\n</code></pre><p>Then <code>x</code>.</p>",
    text: "Run:\n\n```\nnpm ci\n  npm test && echo <done>\n\n```\n\nThen x.",
  },
  {
    name: "tables without end tags",
    html: "<table><thead><tr><th>Name<th>Size<tbody><tr><td>a<td>1<tr><td>b<td>2</table>after",
    text: "Name | Size\na | 1\nb | 2\n\nafter",
  },
  {
    name: "definition lists and headings without end tags",
    html: "<dl><dt>Term<dd>Meaning<dt>Other<dd>More</dl><h2>Head<h3>Sub</h3>text",
    text: "Term\nMeaning\nOther\nMore\n\n## Head\n\n### Sub\n\ntext",
  },
  {
    name: "templates, selects and dialogs",
    html: "<template><p>no</p></template><select><option>1<option>2</select><dialog>Cookies?</dialog><textarea>t</textarea><p>yes",
    text: "yes",
  },
  {
    name: "misnested tags",
    html: "<b>one <i>two</b> three</i><p>four</div></p>five",
    text: "one two three\n\nfour\n\nfive",
  },
  { name: "a title with markup", html: "<title>a <b> &amp; c</title><p>x", text: "x" },
  {
    name: "XHTML",
    html: `<?xml version="1.0"?><!DOCTYPE html><html xmlns="x"><head><title>T</title></head><body><p>a</p><p>b<br /></p></body></html>`,
    text: "a\n\nb",
  },
  {
    name: "words that markup joins",
    html: "<p>un<b>believ</b>able, two <b>words</b> <i>here</i>",
    text: "unbelievable, two words here",
  },
];
