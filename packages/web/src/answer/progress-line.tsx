import type { Progress } from "../state/page.ts";
import { useFormat } from "../words/format.ts";
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
      {fraction !== undefined && <Bar fraction={fraction} label={label} />}
      {said !== "" && <span dir="auto">{said}</span>}
    </div>
  );
}

/** Before the words: they grow and shrink, and it stays where it is. */
function Bar({ fraction, label }: { fraction: number; label: string }) {
  const percent = useFormat().percent(fraction);
  return (
    <>
      <progress aria-label={label} aria-valuetext={percent} max={1} value={fraction} />
      <span className="answer-percent" aria-hidden="true">
        {percent}
      </span>
    </>
  );
}
