import { annotate } from "../../markdown/annotator.ts";
import { unreachable } from "../../error.ts";
import type { Block, ListItem, Side } from "../../markdown/blocks.ts";
import { withCites } from "../../markdown/cites.ts";
import { parseMarkdown } from "../../markdown/growing-markdown.ts";
import { escaped, inlineHtml, type Cite } from "./inline-html.ts";

/** Every character of the source goes through `escaped`. */
export function markdownToHtml(markdown: string, cite: Cite = () => undefined): string {
  const cited = annotate(markdown, (n) => cite(n) !== undefined);
  return blocksHtml(parseMarkdown(withCites(markdown, cited)), cite);
}

function blocksHtml(blocks: readonly Block[], cite: Cite): string {
  return blocks.map((block) => blockHtml(block, cite)).join("\n");
}

function blockHtml(block: Block, cite: Cite): string {
  switch (block.type) {
    case "paragraph":
      return `<p>${inlineHtml(block.inline, cite)}</p>`;
    case "heading": {
      // The page has a heading, and each message one: what is said stands below them.
      const level = Math.min(block.level + 2, 6);
      return `<h${level}>${inlineHtml(block.inline, cite)}</h${level}>`;
    }
    case "code":
    case "math":
      return `<pre><code>${escaped(block.text)}</code></pre>`;
    case "quote":
      return `<blockquote>${blocksHtml(block.blocks, cite)}</blockquote>`;
    case "details": {
      const summary = inlineHtml(block.summary, cite) || "Details";
      const open = block.open ? " open" : "";
      return `<details${open}><summary>${summary}</summary>${blocksHtml(block.blocks, cite)}</details>`;
    }
    case "footnote":
      return `<p><sup>${escaped(block.label)}</sup> ${inlineHtml(block.inline, cite)}</p>`;
    case "list": {
      const start = block.start === 1 ? "" : ` start="${block.start}"`;
      const items = block.items.map((item) => itemHtml(item, cite)).join("");
      return block.ordered ? `<ol${start}>${items}</ol>` : `<ul>${items}</ul>`;
    }
    case "table": {
      const { head, rows, sides } = block;
      const rowHtml = (row: typeof head, tag: "th" | "td") =>
        `<tr>${row
          .map((cell, at) => `<${tag}${sideClass(sides[at])}>${inlineHtml(cell, cite)}</${tag}>`)
          .join("")}</tr>`;
      const body = rows.map((row) => rowHtml(row, "td")).join("");
      const table = `<thead>${rowHtml(head, "th")}</thead>${body === "" ? "" : `<tbody>${body}</tbody>`}`;
      return `<div class="wide"><table>${table}</table></div>`;
    }
    case "rule":
      return "<hr>";
    default:
      return unreachable(block);
  }
}

/** An item of one paragraph is no paragraph. */
function itemHtml({ blocks, checked }: ListItem, cite: Cite): string {
  const [first, ...rest] = withBox(blocks, checked);
  const alone = rest.length === 0 && first?.type === "paragraph";
  const html = alone
    ? inlineHtml(first.inline, cite)
    : blocksHtml(first ? [first, ...rest] : [], cite);
  return `${checked === undefined ? "<li>" : '<li class="task">'}${html}</li>`;
}

function withBox(blocks: readonly Block[], checked: boolean | undefined): readonly Block[] {
  if (checked === undefined) return blocks;
  const box = { type: "text" as const, text: checked ? "\u2611 " : "\u2610 " };
  const [first, ...rest] = blocks;
  return first !== undefined && "inline" in first
    ? [{ ...first, inline: [box, ...first.inline] }, ...rest]
    : [{ type: "paragraph", inline: [box] }, ...blocks];
}

function sideClass(side: Side): string {
  return side === undefined ? "" : ` class="${side}"`;
}
