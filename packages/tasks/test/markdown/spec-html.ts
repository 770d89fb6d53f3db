import type { MarkdownBlock, MarkdownInline, ListItem } from "@deltawire/tasks/markdown";

/** Renders blocks as the HTML of the examples in the CommonMark and GFM specifications. Raw HTML is not escaped. */
export function toSpecHtml(blocks: readonly MarkdownBlock[]): string {
  return blocks.map((block) => `${blockToHtml(block)}\n`).join("");
}

function blockToHtml(block: MarkdownBlock): string {
  switch (block.type) {
    case "paragraph":
      return block.html ? inlineToHtml(block.inline) : `<p>${inlineToHtml(block.inline)}</p>`;
    case "heading":
      return `<h${block.level}>${inlineToHtml(block.inline)}</h${block.level}>`;
    case "code": {
      const language =
        block.language === "" ? "" : ` class="language-${escapeHtml(block.language)}"`;
      const text = block.text === "" ? "" : `${escapeHtml(block.text)}\n`;
      return `<pre><code${language}>${text}</code></pre>`;
    }
    case "quote":
      return `<blockquote>\n${toSpecHtml(block.blocks)}</blockquote>`;
    case "list": {
      const isLoose = block.items.some(({ tight }) => !tight);
      const items = block.items.map((item) => itemToHtml(item, isLoose)).join("");
      const start = block.start === 1 ? "" : ` start="${block.start}"`;
      return block.ordered ? `<ol${start}>\n${items}</ol>` : `<ul>\n${items}</ul>`;
    }
    case "table": {
      const row = (cells: readonly MarkdownInline[][], tag: string) =>
        `<tr>\n${cells
          .map((cell, index) => {
            const side = block.align[index];
            const align = side === undefined ? "" : ` align="${side}"`;
            return `<${tag}${align}>${inlineToHtml(cell)}</${tag}>\n`;
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

function itemToHtml({ blocks, checked }: ListItem, isLoose: boolean): string {
  const box =
    checked === undefined
      ? ""
      : `<input ${checked ? 'checked="" ' : ""}disabled="" type="checkbox"> `;
  const parts = blocks.map((block) =>
    block.type === "paragraph" && !block.html && !isLoose
      ? { html: inlineToHtml(block.inline), isLine: true }
      : { html: blockToHtml(block), isLine: false },
  );
  let html = "";
  for (const { html: part, isLine } of parts) {
    if (!isLine && !html.endsWith("\n")) html += "\n";
    html += isLine ? part : `${part}\n`;
  }
  return `<li>${box}${html}</li>\n`;
}

function inlineToHtml(nodes: readonly MarkdownInline[]): string {
  return nodes
    .map((node) => {
      switch (node.type) {
        case "text":
          return node.html ? node.text : escapeHtml(node.text);
        case "code":
          return `<code>${escapeHtml(node.text)}</code>`;
        case "break":
          return "<br />\n";
        case "link":
          return linkToHtml(node, node.url);
        case "unlinked":
          return linkToHtml(node, node.destination);
        case "strong":
        case "em":
        case "del":
        case "sub":
        case "sup":
        case "kbd":
        case "mark":
          return `<${node.type}>${inlineToHtml(node.inline)}</${node.type}>`;
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

function linkToHtml(node: MarkdownInline & { type: "link" | "unlinked" }, url: string): string {
  const title = node.title === undefined ? "" : ` title="${escapeHtml(node.title)}"`;
  return node.image
    ? `<img src="${escapeHtml(encodeUrl(url))}" alt="${inlineToHtml(node.inline)}"${title} />`
    : `<a href="${escapeHtml(encodeUrl(url))}"${title}>${inlineToHtml(node.inline)}</a>`;
}

/** Percent-encodes a URL. Existing escapes are not encoded again. */
function encodeUrl(url: string): string {
  return url.replaceAll(/%[\da-f]{2}|[^\w.~:/?#@!$&'()*+,;=%-]+/giu, (match) =>
    match.startsWith("%") && match.length === 3 ? match : encodeURIComponent(match),
  );
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
