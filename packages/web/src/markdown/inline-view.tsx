import { createContext, Fragment, useContext, type ReactNode } from "react";
import type { Inline } from "@deltawire/tasks/markdown";
import { addressOf, isBlob } from "../texts/address.ts";
import { unreachable } from "../unreachable.ts";
import { FootnoteMark } from "./footnote-mark.tsx";
import { Formula } from "./formula.tsx";

export const CiteContext = createContext<
  ((reference: number, resolved: boolean) => ReactNode) | undefined
>(undefined);

/** What the marks in a text say. */
export const MarkContext = createContext<string | undefined>(undefined);

/** Elements at once, without a component for each: a long paragraph that grows is made anew at every step. */
export function inlineView(nodes: readonly Inline[]): ReactNode {
  return nodes.map(nodeView);
}

function nodeView(node: Inline, at: number): ReactNode {
  switch (node.type) {
    case "text":
      return node.text;
    case "code":
      return (
        <code key={at} className="markdown-code">
          {node.text}
        </code>
      );
    case "math":
      return <Formula key={at} text={node.text} ready />;
    case "strong":
      return <strong key={at}>{inlineView(node.inline)}</strong>;
    case "em":
      return <em key={at}>{inlineView(node.inline)}</em>;
    case "del":
      return <del key={at}>{inlineView(node.inline)}</del>;
    case "sub":
      return <sub key={at}>{inlineView(node.inline)}</sub>;
    case "sup":
      return <sup key={at}>{inlineView(node.inline)}</sup>;
    case "kbd":
      return (
        <kbd key={at} className="markdown-key">
          {inlineView(node.inline)}
        </kbd>
      );
    case "footnote":
      return <FootnoteMark key={at} label={node.label} />;
    case "mark":
      return <MarkView key={at}>{inlineView(node.inline)}</MarkView>;
    case "link":
      return linkView(node, at);
    case "unlinked":
      return (
        <span key={at} className="markdown-unlinked" title={node.destination}>
          {inlineView(node.inline)}
        </span>
      );
    case "break":
      return <br key={at} />;
    case "cite":
      return <Cite key={at} reference={node.reference} resolved={node.resolved} />;
    default:
      return unreachable(node);
  }
}

/** Pictures of others are links: the page asks nobody but its own gateway for anything. */
function linkView({ url, title, inline, image }: Inline & { type: "link" }, at: number): ReactNode {
  const [alt] = inline;
  const address = addressOf(url);
  if (image && address.is === "here")
    return (
      <img
        key={at}
        className="markdown-image"
        src={url}
        alt={alt?.type === "text" ? alt.text : ""}
        title={title}
        loading="lazy"
      />
    );
  if (address.is !== "elsewhere" && !isBlob(url) && !mail.test(url))
    return <Fragment key={at}>{inlineView(inline)}</Fragment>;
  return (
    <a key={at} href={url} title={title} target="_blank" rel="noopener noreferrer">
      {inlineView(inline)}
    </a>
  );
}

export function MarkView({ children }: { children: ReactNode }) {
  return (
    <mark className="markdown-mark" title={useContext(MarkContext)}>
      {children}
    </mark>
  );
}

const mail = /^mailto:/i;

function Cite({ reference, resolved }: { reference: number; resolved: boolean }): ReactNode {
  const cite = useContext(CiteContext);
  return cite?.(reference, resolved) ?? `[^${reference}]`;
}
