import { useWords } from "../words/use-words.ts";
import { answerWords, type AnswerWords } from "./words.ts";

/** What people decided about a call. */
export function Decisions({ decisions }: { decisions: readonly string[] }) {
  const words = useWords(answerWords);
  if (decisions.length === 0) return null;
  return (
    <p className="answer-quiet">
      {words.decided}: {decisions.map((decision) => inWords(decision, words)).join(", ")}
    </p>
  );
}

function inWords(decision: string, words: AnswerWords): string {
  switch (decision) {
    case "approve":
    case "deny":
    case "redact":
    case "abort":
    case "expired":
      return words[decision];
    default:
      return decision;
  }
}
