import { useSource } from "../answer/earlier-sources.ts";
import { sourceName } from "../answer/source-name.ts";
import { answerWords } from "../answer/words.ts";
import { useWords } from "../words/use-words.ts";

interface CitedProps {
  number: number;
  resolved: boolean;
}

/** A reference where the calls are not shown: it says what it stands for, and leads nowhere. */
export function Cited({ number, resolved }: CitedProps) {
  const words = useWords(answerWords);
  const source = useSource(number);
  const isKnown = resolved && source !== undefined;
  const name = isKnown ? words.sourceNamed(number, sourceName(source)) : words.unresolved(number);
  return (
    <span
      className="answer-chip"
      data-unresolved={!isKnown || undefined}
      role="img"
      aria-label={name}
      title={name}
    >
      {number}
      {!isKnown && "?"}
    </span>
  );
}
