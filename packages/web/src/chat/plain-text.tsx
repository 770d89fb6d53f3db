import { useState } from "react";
import { Button } from "../parts/button.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { foldedText } from "./groups.ts";
import { chatWords } from "./words.ts";

/** As it was written; of a long text the beginning, until somebody wants more. */
export function PlainText({ text, className }: { text: string; className: string }) {
  const words = useWords(chatWords);
  const [isWhole, setWhole] = useState(false);
  const format = useFormat();
  const beginning = foldedText(text);
  const lines = text.trimEnd().split("\n").length;
  const more =
    lines === 1 ? words.showMoreOfLine(format.tokens(text.length)) : words.showMore(lines);
  return (
    <div className={className} data-folded={(beginning !== undefined && !isWhole) || undefined}>
      <div className="plain-text chat-text" dir="auto">
        {isWhole ? text : (beginning ?? text)}
      </div>
      {beginning !== undefined && (
        <Button
          kind="ghost"
          small
          icon={isWhole ? "up" : "down"}
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? words.showLess : more}
        </Button>
      )}
    </div>
  );
}
