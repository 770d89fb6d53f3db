import { useContext } from "react";
import type { Block } from "@deltawire/tasks/markdown";
import { useWords } from "../words/use-words.ts";
import { footnoteId, FootnotesContext, goWithinPage } from "./footnote-mark.tsx";
import { inlineView } from "./inline-view.tsx";
import { markdownWords } from "./words.ts";

interface FootnoteProps {
  note: Block & { type: "footnote" };
  dir: "auto" | undefined;
}

export function Footnote({ note, dir }: FootnoteProps) {
  const words = useWords(markdownWords);
  const { label, inline } = note;
  const id = footnoteId(useContext(FootnotesContext), label);
  const findMark = () =>
    document.querySelector<HTMLElement>(`[data-footnote="${CSS.escape(id)}"] a`);
  return (
    <div className="markdown-footnote" id={id} role="note" tabIndex={-1} dir={dir}>
      <sup>{label}</sup> {inlineView(inline)}{" "}
      <a
        href={`#${id}`}
        aria-label={words.back}
        onClick={(event) => goWithinPage(event, findMark())}
      >
        ↩
      </a>
    </div>
  );
}
