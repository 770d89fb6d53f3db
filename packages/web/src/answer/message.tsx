import { memo } from "react";
import type { MessageItem } from "@deltawire/tasks";
import { LazyMarkdown } from "../markdown/lazy-markdown.tsx";
import { useWords } from "../words/words.ts";
import { Caret } from "./awaiting.tsx";
import { BlockView } from "./blocks.tsx";
import { Citation } from "./citation.tsx";
import { answerWords } from "./words.ts";

export const Message = memo(function Message({ item }: { item: MessageItem }) {
  const words = useWords(answerWords);
  const isGrowing = item.status === "in_progress";
  const blocks = item.block_list;
  const last = blocks.at(-1);
  const isEmpty =
    last === undefined || (blocks.length === 1 && last.type === "text" && last.text === "");
  return (
    <div className="answer-message">
      {blocks.map((block, at) =>
        block.type === "text" ? (
          <LazyMarkdown
            key={at}
            text={block.text}
            annotations={block.annotations}
            growing={isGrowing && block === last}
            cite={cite}
          />
        ) : (
          <BlockView key={at} block={block} number={at + 1} />
        ),
      )}
      {isGrowing && isEmpty && <Caret />}
      {item.status === "incomplete" && <p className="answer-quiet">{words.cutOff}</p>}
    </div>
  );
});

/** The same function always: what has been drawn of a growing text stays. */
function cite(reference: number, resolved: boolean) {
  return <Citation number={reference} resolved={resolved} />;
}
