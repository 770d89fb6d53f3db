import { memo, type ReactNode } from "react";
import { Icon } from "../parts/icon.tsx";
import { useWords } from "../words/use-words.ts";
import type { AnswerView } from "./answer-view.ts";
import { endingOf } from "./ending-of.ts";
import { answerWords } from "./words.ts";

interface EndingProps extends Pick<AnswerView, "status" | "error"> {
  /** Its last words say that they break off. */
  isCut: boolean;
  /** Buttons, if something can be done here. */
  actions?: ReactNode;
}

/** How an answer ended that did not come to its own end: what happened, and what to do. */
export const Ending = memo(function Ending({ status, error, isCut, actions }: EndingProps) {
  const words = useWords(answerWords);
  const ending = endingOf(status, error);
  if (ending === undefined) return null;
  if (ending.is === "stopped")
    return isCut ? null : <p className="answer-stopped">{words.stopped}</p>;
  return (
    <div className="answer-failure" data-kind={ending.is}>
      <Icon name="warning" />
      <div>
        <strong>{words[ending.title]}</strong>
        {ending.message !== "" && (
          <p className="plain-text" dir="auto">
            {ending.message}
          </p>
        )}
        {ending.advice !== undefined && <p>{words[ending.advice]}</p>}
        <p className="answer-quiet">{words.code(ending.code)}</p>
        {actions !== undefined && <div className="answer-failure-actions">{actions}</div>}
      </div>
    </div>
  );
});
