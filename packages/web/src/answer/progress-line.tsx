import type { Progress } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { answerWords } from "./words.ts";

interface ProgressLineProps {
  progress: Progress;
  label: string;
}

export function ProgressLine({ progress, label }: ProgressLineProps) {
  const words = useWords(answerWords);
  const { message, fraction, again } = progress;
  const said = again === undefined ? message : words.again(message, again.failed);
  return (
    <div className="answer-progress">
      {said !== "" && <span dir="auto">{said}</span>}
      {fraction !== undefined && <progress aria-label={label} max={1} value={fraction} />}
    </div>
  );
}
