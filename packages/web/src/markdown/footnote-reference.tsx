import { createContext, useContext, type MouseEvent } from "react";
import { useMessages } from "../messages/use-messages.ts";
import { markdownMessages } from "./messages.ts";

/** Prefix that keeps the footnote ids of different messages on the page unique. */
export const FootnoteScopeContext = createContext("");

/** A link to a footnote. */
export function FootnoteReference({ label }: { label: string }) {
  const t = useMessages(markdownMessages);
  const id = getFootnoteId(useContext(FootnoteScopeContext), label);
  return (
    <sup className="markdown-footnote-reference" data-footnote={id}>
      <a
        href={`#${id}`}
        aria-label={t.footnote(label)}
        onClick={(event) => scrollToElement(event, document.getElementById(id))}
      >
        {label}
      </a>
    </sup>
  );
}

/** Labels are case-insensitive. */
export function getFootnoteId(scope: string, label: string): string {
  return `footnote-${scope}-${label.toLowerCase()}`;
}

/** Scrolls without following the link, because the URL hash is the route. */
export function scrollToElement(event: MouseEvent, target: HTMLElement | null): void {
  event.preventDefault();
  target?.scrollIntoView({ block: "center" });
  target?.focus({ preventScroll: true });
}
