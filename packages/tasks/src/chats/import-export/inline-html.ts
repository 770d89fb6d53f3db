import { assertNever } from "../../error.ts";
import type { MarkdownInline } from "../../markdown/ast.ts";

/** Renders the citation `[^n]`. Returns undefined to leave it as text. */
export type RenderCitation = (n: number) => string | undefined;

export function renderInlineHtml(
  nodes: readonly MarkdownInline[],
  renderCitation: RenderCitation,
): string {
  return nodes.map((node) => renderInlineNode(node, renderCitation)).join("");
}

function renderInlineNode(node: MarkdownInline, renderCitation: RenderCitation): string {
  switch (node.type) {
    case "text":
      return escapeHtml(node.text);
    case "code":
    case "math":
      return `<code>${escapeHtml(node.text)}</code>`;
    case "strong":
    case "em":
    case "del":
    case "sub":
    case "sup":
    case "kbd":
    case "mark":
      return `<${node.type}>${renderInlineHtml(node.inline, renderCitation)}</${node.type}>`;
    case "link": {
      const label = renderInlineHtml(node.inline, () => undefined);
      // A blob URL only works on the gateway.
      return node.url.startsWith("/") ? label : renderLink(node.url, label);
    }
    case "unlinked":
      return renderInlineHtml(node.inline, () => undefined);
    case "break":
      return "<br>";
    case "footnote":
      return `<sup>${escapeHtml(node.label)}</sup>`;
    case "cite":
      return (node.resolved ? renderCitation(node.reference) : undefined) ?? `[^${node.reference}]`;
    default:
      return assertNever(node);
  }
}

export function renderLink(url: string, html: string): string {
  return `<a href="${escapeHtml(url)}" rel="noopener noreferrer nofollow">${html}</a>`;
}

const htmlEntities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML content and quoted attributes. Control characters that HTML forbids become U+FFFD. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => htmlEntities[character] ?? "")
    .replaceAll(forbiddenCharacters, "\u{FFFD}");
}

// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const forbiddenCharacters = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/g;
