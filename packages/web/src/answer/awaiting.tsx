import { modelProgressKey, type TaskRetry } from "@deltawire/tasks";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Spinner } from "../parts/signs.tsx";
import type { Progress } from "../state/page.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { useSecondsLeft } from "./elapsed.tsx";
import { useScene } from "./scene.ts";
import { answerWords } from "./words.ts";

/** Nothing has come yet: when the model is asked again, what the model tells of its way, or a caret. */
export function Awaiting({ taskId }: { taskId: string }) {
  const page = usePage();
  const words = useWords(answerWords);
  const { rootTaskId = taskId } = useScene();
  const progress = usePicked(page.progress(rootTaskId), (all) => all[modelProgressKey(taskId)]);
  const retry = usePicked(page.taskTree(rootTaskId), (tree) => tree?.tasks[taskId]?.retry);
  if (retry !== undefined) return <RetryLine retry={retry} />;
  if (progress === undefined) return <Caret />;
  return <ProgressLine progress={progress} label={words.modelProgress} />;
}

export function Caret() {
  const words = useWords(answerWords);
  return (
    <div className="answer-caret">
      <span className="for-readers">{words.comes}</span>
    </div>
  );
}

/** The model could not be asked: why, which attempt is next, and when. */
function RetryLine({ retry }: { retry: TaskRetry }) {
  const words = useWords(answerWords);
  const { attempt, message, retry_in_ms: waitMs, failed_at: failedAt } = retry;
  const seconds = useSecondsLeft(failedAt, waitMs);
  return (
    <div className="answer-retry" role="group" aria-label={words.retrying}>
      <Spinner label={words.retrying} />
      <div>
        <strong>
          {words.retryingNext(attempt + 1)} {/* Not announced every second. */}
          <span role="timer" aria-live="off">
            {seconds > 0 ? words.retryIn(seconds) : words.retryNow}
          </span>
        </strong>
        <p className="plain-text" dir="auto">
          {words.retryCause(attempt, message)}
        </p>
      </div>
    </div>
  );
}

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
