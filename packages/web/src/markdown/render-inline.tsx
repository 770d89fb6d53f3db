import { assertNever } from "@deltawire/tasks";
import { createContext, Fragment, useContext, type ReactNode } from "react";
import type { MarkdownInline } from "@deltawire/tasks/markdown";
import { classifyUrl, isBlobUrl } from "../text/classify-url.ts";
import { FootnoteReference } from "./footnote-reference.tsx";
import { Formula } from "./formula.tsx";

export const CitationContext = createContext<
  ((reference: number, resolved: boolean) => ReactNode) | undefined
>(undefined);

/** Tooltip of the marks in the text. */
export const MarkTitleContext = createContext<string | undefined>(undefined);

/** Not a component per node, because a long streaming paragraph is rerendered whenever it grows. */
export function renderInline(nodes: readonly MarkdownInline[]): ReactNode {
  return nodes.map(renderInlineNode);
}

function renderInlineNode(node: MarkdownInline, index: number): ReactNode {
  switch (node.type) {
    case "text":
      return node.text;
    case "code":
      return (
        <code key={index} className="markdown-code">
          {node.text}
        </code>
      );
    case "math":
      return <Formula key={index} text={node.text} isComplete />;
    case "strong":
      return <strong key={index}>{renderInline(node.inline)}</strong>;
    case "em":
      return <em key={index}>{renderInline(node.inline)}</em>;
    case "del":
      return <del key={index}>{renderInline(node.inline)}</del>;
    case "sub":
      return <sub key={index}>{renderInline(node.inline)}</sub>;
    case "sup":
      return <sup key={index}>{renderInline(node.inline)}</sup>;
    case "kbd":
      return (
        <kbd key={index} className="markdown-key">
          {renderInline(node.inline)}
        </kbd>
      );
    case "footnote":
      return <FootnoteReference key={index} label={node.label} />;
    case "mark":
      return <MarkView key={index}>{renderInline(node.inline)}</MarkView>;
    case "link":
      return renderLink(node, index);
    case "unlinked":
      return (
        <span key={index} className="markdown-unlinked" title={node.destination}>
          {renderInline(node.inline)}
        </span>
      );
    case "break":
      return <br key={index} />;
    case "cite":
      return <CitationSlot key={index} reference={node.reference} resolved={node.resolved} />;
    default:
      return assertNever(node);
  }
}

/** External images become links, because the page loads images only from its gateway. */
function renderLink(
  { url, title, inline, image }: MarkdownInline & { type: "link" },
  index: number,
): ReactNode {
  const [alt] = inline;
  const link = classifyUrl(url);
  if (image && link.type === "local")
    return (
      <img
        key={index}
        className="markdown-image"
        src={url}
        alt={alt?.type === "text" ? alt.text : ""}
        title={title}
        loading="lazy"
      />
    );
  if (link.type !== "external" && !isBlobUrl(url) && !mailtoPattern.test(url))
    return <Fragment key={index}>{renderInline(inline)}</Fragment>;
  return (
    <a key={index} href={url} title={title} target="_blank" rel="noopener noreferrer">
      {renderInline(inline)}
    </a>
  );
}

export function MarkView({ children }: { children: ReactNode }) {
  return (
    <mark className="markdown-mark" title={useContext(MarkTitleContext)}>
      {children}
    </mark>
  );
}

const mailtoPattern = /^mailto:/i;

function CitationSlot({
  reference,
  resolved,
}: {
  reference: number;
  resolved: boolean;
}): ReactNode {
  const renderCitation = useContext(CitationContext);
  return renderCitation?.(reference, resolved) ?? `[^${reference}]`;
}
