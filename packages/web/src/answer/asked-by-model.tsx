import type { ToolCallItem } from "@deltawire/tasks";
import { LongText } from "../blocks/long-text.tsx";
import { Fold } from "../parts/signs.tsx";
import { readableArguments } from "../texts/revealed.ts";
import { useWords } from "../words/use-words.ts";
import { answerWords } from "./words.ts";

/** The arguments of a call that was run with others. */
export function AskedByModel({ call }: { call: ToolCallItem }) {
  const words = useWords(answerWords);
  return (
    <Fold className="answer-quiet" summary={words.askedByModel}>
      <LongText text={readableArguments(call.arguments)} mono label={words.askedByModel} />
    </Fold>
  );
}
