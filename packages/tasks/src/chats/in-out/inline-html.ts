import { unreachable } from "../../error.ts";
import type { Inline } from "../../markdown/blocks.ts";

/** What a `[^n]` becomes; undefined: it stays text. */
export type Cite = (n: number) => string | undefined;

export function inlineHtml(nodes: readonly Inline[], cite: Cite): string {
  return nodes.map((node) => nodeHtml(node, cite)).join("");
}

function nodeHtml(node: Inline, cite: Cite): string {
  switch (node.type) {
    case "text":
      return escaped(node.text);
    case "code":
    case "math":
      return `<code>${escaped(node.text)}</code>`;
    case "strong":
    case "em":
    case "del":
    case "sub":
    case "sup":
    case "kbd":
    case "mark":
      return `<${node.type}>${inlineHtml(node.inline, cite)}</${node.type}>`;
    case "link": {
      const label = inlineHtml(node.inline, () => undefined);
      // A blob of the gateway is nowhere for who has only this file.
      return node.url.startsWith("/") ? label : linkTo(node.url, label);
    }
    case "unlinked":
      return inlineHtml(node.inline, () => undefined);
    case "break":
      return "<br>";
    case "footnote":
      return `<sup>${escaped(node.label)}</sup>`;
    case "cite":
      return (node.resolved ? cite(node.reference) : undefined) ?? `[^${node.reference}]`;
    default:
      return unreachable(node);
  }
}

export function linkTo(url: string, html: string): string {
  return `<a href="${escaped(url)}" rel="noopener noreferrer nofollow">${html}</a>`;
}

const named: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** As text, or within the quotes of an attribute. Nul and other characters that HTML forbids are shown as unknown ones. */
export function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => named[character] ?? "")
    .replaceAll(forbidden, "\u{FFFD}");
}

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const forbidden = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/g;
