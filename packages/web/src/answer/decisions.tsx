import { decisionInWords, decisionWords } from "../texts/decisions-in-words.ts";
import { useWords } from "../words/use-words.ts";
import type { CallView } from "./timeline-view.ts";
import { answerWords } from "./words.ts";

/** What people decided about a call. */
export function Decisions({ view: { decisions, changed } }: { view: CallView }) {
  const words = useWords(answerWords);
  const inWords = useWords(decisionWords);
  if (decisions.length === 0) return null;
  // Arguments are approved before a result is.
  const changedAt = changed === undefined ? -1 : decisions.indexOf("approve");
  const told = decisions.map((decision, at) =>
    at === changedAt ? inWords.approveChanged : decisionInWords(decision, inWords),
  );
  return (
    <p className="answer-quiet">
      {words.decided}: {told.join(", ")}
    </p>
  );
}
