import { createContext, useContext, type MouseEvent } from "react";
import { useWords } from "../words/use-words.ts";
import { markdownWords } from "./words.ts";

/** Makes the ids of the footnotes of one text unlike those of any other on the page. */
export const FootnotesContext = createContext("");

/** Goes to what a footnote says. */
export function FootnoteMark({ label }: { label: string }) {
  const words = useWords(markdownWords);
  const id = footnoteId(useContext(FootnotesContext), label);
  return (
    <sup className="markdown-footnote-mark" data-footnote={id}>
      <a
        href={`#${id}`}
        aria-label={words.footnote(label)}
        onClick={(event) => goWithinPage(event, document.getElementById(id))}
      >
        {label}
      </a>
    </sup>
  );
}

/** Labels that differ in case alone are one. */
export function footnoteId(text: string, label: string): string {
  return `footnote-${text}-${label.toLowerCase()}`;
}

/** The address of the page says which chat is shown, and stays. */
export function goWithinPage(event: MouseEvent, to: HTMLElement | null): void {
  event.preventDefault();
  to?.scrollIntoView({ block: "center" });
  to?.focus({ preventScroll: true });
}
