import { memo } from "react";
import type { MessageItem } from "@deltawire/tasks";
import { LazyMarkdown } from "../markdown/lazy-markdown.tsx";
import { Caret } from "./awaiting.tsx";
import { BlockView } from "../blocks/blocks.tsx";
import { useWords } from "../words/use-words.ts";
import { Citation } from "./citation.tsx";
import { useScene } from "./scene.ts";
import { answerWords } from "./words.ts";

export const Message = memo(function Message({ item }: { item: MessageItem }) {
  const words = useWords(answerWords);
  const { isContinued } = useScene();
  const isGrowing = item.status === "in_progress";
  const blocks = item.block_list;
  const last = blocks.at(-1);
  const isEmpty =
    last === undefined || (blocks.length === 1 && last.type === "text" && last.text === "");
  return (
    <div className="answer-message" data-said={item.id}>
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
      {item.status === "incomplete" && !isContinued && (
        <p className="answer-quiet">{words.cutOff}</p>
      )}
    </div>
  );
});

/** The same function always: what has been drawn of a growing text stays. */
function cite(reference: number, resolved: boolean) {
  return <Citation number={reference} resolved={resolved} />;
}
