import { annotateCitations } from "../../markdown/citation-annotator.ts";
import { assertNever } from "../../error.ts";
import type { MarkdownBlock, ListItem, ColumnAlign } from "../../markdown/ast.ts";
import { markCitations } from "../../markdown/citation-marks.ts";
import { parseMarkdown } from "../../markdown/streaming-markdown.ts";
import { escapeHtml, renderInlineHtml, type RenderCitation } from "./inline-html.ts";

/** All source text passes through `escapeHtml`. */
export function markdownToHtml(
  markdown: string,
  renderCitation: RenderCitation = () => undefined,
): string {
  const annotations = annotateCitations(markdown, (n) => renderCitation(n) !== undefined);
  return renderBlocks(parseMarkdown(markCitations(markdown, annotations)), renderCitation);
}

function renderBlocks(blocks: readonly MarkdownBlock[], renderCitation: RenderCitation): string {
  return blocks.map((block) => renderBlock(block, renderCitation)).join("\n");
}

function renderBlock(block: MarkdownBlock, renderCitation: RenderCitation): string {
  switch (block.type) {
    case "paragraph":
      return `<p>${renderInlineHtml(block.inline, renderCitation)}</p>`;
    case "heading": {
      // Levels 1 and 2 are the headings of the page and of the message.
      const level = Math.min(block.level + 2, 6);
      return `<h${level}>${renderInlineHtml(block.inline, renderCitation)}</h${level}>`;
    }
    case "code":
    case "math":
      return `<pre><code>${escapeHtml(block.text)}</code></pre>`;
    case "quote":
      return `<blockquote>${renderBlocks(block.blocks, renderCitation)}</blockquote>`;
    case "details": {
      const summary = renderInlineHtml(block.summary, renderCitation) || "Details";
      const open = block.open ? " open" : "";
      return `<details${open}><summary>${summary}</summary>${renderBlocks(block.blocks, renderCitation)}</details>`;
    }
    case "footnote":
      return `<p><sup>${escapeHtml(block.label)}</sup> ${renderInlineHtml(block.inline, renderCitation)}</p>`;
    case "list": {
      const start = block.start === 1 ? "" : ` start="${block.start}"`;
      const items = block.items.map((item) => renderListItem(item, renderCitation)).join("");
      return block.ordered ? `<ol${start}>${items}</ol>` : `<ul>${items}</ul>`;
    }
    case "table": {
      const { head, rows, align } = block;
      const rowHtml = (row: typeof head, tag: "th" | "td") =>
        `<tr>${row
          .map(
            (cell, index) =>
              `<${tag}${alignClass(align[index])}>${renderInlineHtml(cell, renderCitation)}</${tag}>`,
          )
          .join("")}</tr>`;
      const body = rows.map((row) => rowHtml(row, "td")).join("");
      const table = `<thead>${rowHtml(head, "th")}</thead>${body === "" ? "" : `<tbody>${body}</tbody>`}`;
      return `<div class="scroll"><table>${table}</table></div>`;
    }
    case "rule":
      return "<hr>";
    default:
      return assertNever(block);
  }
}

/** An item with only one paragraph is rendered without `<p>`. */
function renderListItem({ blocks, checked }: ListItem, renderCitation: RenderCitation): string {
  const [first, ...rest] = withCheckbox(blocks, checked);
  const isSingleParagraph = rest.length === 0 && first?.type === "paragraph";
  const html = isSingleParagraph
    ? renderInlineHtml(first.inline, renderCitation)
    : renderBlocks(first ? [first, ...rest] : [], renderCitation);
  return `${checked === undefined ? "<li>" : '<li class="task">'}${html}</li>`;
}

function withCheckbox(
  blocks: readonly MarkdownBlock[],
  checked: boolean | undefined,
): readonly MarkdownBlock[] {
  if (checked === undefined) return blocks;
  const box = { type: "text" as const, text: checked ? "\u2611 " : "\u2610 " };
  const [first, ...rest] = blocks;
  return first !== undefined && "inline" in first
    ? [{ ...first, inline: [box, ...first.inline] }, ...rest]
    : [{ type: "paragraph", inline: [box] }, ...blocks];
}

function alignClass(align: ColumnAlign): string {
  return align === undefined ? "" : ` class="${align}"`;
}
