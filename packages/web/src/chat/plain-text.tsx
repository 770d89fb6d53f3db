import { useState } from "react";
import { Button } from "../parts/button.tsx";
import { useWords } from "../words/use-words.ts";
import { foldedText } from "./groups.ts";
import { chatWords } from "./words.ts";

/** As it was written; of a long text the beginning, until somebody wants more. */
export function PlainText({ text, className }: { text: string; className: string }) {
  const words = useWords(chatWords);
  const [isWhole, setWhole] = useState(false);
  const beginning = foldedText(text);
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
          {isWhole ? words.showLess : words.showMore(text.split("\n").length)}
        </Button>
      )}
    </div>
  );
}
