import type { Progress } from "../state/page.ts";

interface ProgressLineProps {
  progress: Progress;
  label: string;
}

export function ProgressLine({ progress: { message, fraction }, label }: ProgressLineProps) {
  return (
    <div className="answer-progress">
      {message !== "" && <span dir="auto">{message}</span>}
      {fraction !== undefined && <progress aria-label={label} max={1} value={fraction} />}
    </div>
  );
}
