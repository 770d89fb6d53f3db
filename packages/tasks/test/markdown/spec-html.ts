import type { Block, Inline, ListItem } from "@deltawire/tasks/markdown";

/** Blocks as the HTML that the examples of the CommonMark and GFM specifications expect. Raw HTML is written as it is. */
export function specHtml(blocks: readonly Block[]): string {
  return blocks.map((block) => `${blockHtml(block)}\n`).join("");
}

function blockHtml(block: Block): string {
  switch (block.type) {
    case "paragraph":
      return block.html ? inlineHtml(block.inline) : `<p>${inlineHtml(block.inline)}</p>`;
    case "heading":
      return `<h${block.level}>${inlineHtml(block.inline)}</h${block.level}>`;
    case "code": {
      const language = block.language === "" ? "" : ` class="language-${escape(block.language)}"`;
      const text = block.text === "" ? "" : `${escape(block.text)}\n`;
      return `<pre><code${language}>${text}</code></pre>`;
    }
    case "quote":
      return `<blockquote>\n${specHtml(block.blocks)}</blockquote>`;
    case "list": {
      const isLoose = block.items.some(({ tight }) => !tight);
      const items = block.items.map((item) => itemHtml(item, isLoose)).join("");
      const start = block.start === 1 ? "" : ` start="${block.start}"`;
      return block.ordered ? `<ol${start}>\n${items}</ol>` : `<ul>\n${items}</ul>`;
    }
    case "table": {
      const row = (cells: readonly Inline[][], tag: string) =>
        `<tr>\n${cells
          .map((cell, at) => {
            const side = block.sides[at];
            const align = side === undefined ? "" : ` align="${side}"`;
            return `<${tag}${align}>${inlineHtml(cell)}</${tag}>\n`;
          })
          .join("")}</tr>\n`;
      const body = block.rows.map((cells) => row(cells, "td")).join("");
      const rows = body === "" ? "" : `<tbody>\n${body}</tbody>\n`;
      return `<table>\n<thead>\n${row(block.head, "th")}</thead>\n${rows}</table>`;
    }
    case "rule":
      return "<hr />";
    case "math":
    case "details":
    case "footnote":
      return `<${block.type}>`;
    default:
      return block;
  }
}

function itemHtml({ blocks, checked }: ListItem, isLoose: boolean): string {
  const box =
    checked === undefined
      ? ""
      : `<input ${checked ? 'checked="" ' : ""}disabled="" type="checkbox"> `;
  const parts = blocks.map((block) =>
    block.type === "paragraph" && !block.html && !isLoose
      ? { html: inlineHtml(block.inline), isLine: true }
      : { html: blockHtml(block), isLine: false },
  );
  let html = "";
  for (const { html: part, isLine } of parts) {
    if (!isLine && !html.endsWith("\n")) html += "\n";
    html += isLine ? part : `${part}\n`;
  }
  return `<li>${box}${html}</li>\n`;
}

function inlineHtml(nodes: readonly Inline[]): string {
  return nodes
    .map((node) => {
      switch (node.type) {
        case "text":
          return node.html ? node.text : escape(node.text);
        case "code":
          return `<code>${escape(node.text)}</code>`;
        case "break":
          return "<br />\n";
        case "link":
          return linkHtml(node, node.url);
        case "unlinked":
          return linkHtml(node, node.destination);
        case "strong":
        case "em":
        case "del":
        case "sub":
        case "sup":
        case "kbd":
        case "mark":
          return `<${node.type}>${inlineHtml(node.inline)}</${node.type}>`;
        case "math":
        case "cite":
        case "footnote":
          return `<${node.type}>`;
        default:
          return node;
      }
    })
    .join("");
}

function linkHtml(node: Inline & { type: "link" | "unlinked" }, url: string): string {
  const title = node.title === undefined ? "" : ` title="${escape(node.title)}"`;
  return node.image
    ? `<img src="${escape(encode(url))}" alt="${inlineHtml(node.inline)}"${title} />`
    : `<a href="${escape(encode(url))}"${title}>${inlineHtml(node.inline)}</a>`;
}

/** Percent-encoded, but for what already is. */
function encode(url: string): string {
  return url.replaceAll(/%[\da-f]{2}|[^\w.~:/?#@!$&'()*+,;=%-]+/giu, (found) =>
    found.startsWith("%") && found.length === 3 ? found : encodeURIComponent(found),
  );
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
