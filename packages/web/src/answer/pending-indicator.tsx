import { modelProgressKey, type TaskRetry } from "@deltawire/tasks";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Spinner } from "../ui/indicators.tsx";
import type { ProgressState } from "../state/app-store.ts";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { useSecondsLeft } from "./elapsed-time.tsx";
import { useAnswerContext } from "./answer-context.ts";
import { answerMessages } from "./messages.ts";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";

/** Shown until the model responds: the next retry, the progress reported by the server, or a caret. */
export function PendingIndicator({ taskId }: { taskId: string }) {
  const app = useAppStore();
  const t = useMessages(answerMessages);
  const { rootTaskId = taskId } = useAnswerContext();
  const progress = useCellSelector(
    app.progress(rootTaskId),
    (progressByKey) => progressByKey[modelProgressKey(taskId)],
  );
  const retry = useCellSelector(app.taskTree(rootTaskId), (tree) => tree?.tasks[taskId]?.retry);
  if (retry !== undefined) return <RetryNotice retry={retry} />;
  if (progress === undefined) return <Caret />;
  return <ProgressLine progress={progress} label={t.modelProgress} />;
}

export function Caret() {
  const t = useMessages(answerMessages);
  return (
    <div className="answer-caret">
      <span className="visually-hidden">{t.pending}</span>
    </div>
  );
}

/** Shown after a failed request to the model: the error, and when the next attempt starts. */
function RetryNotice({ retry }: { retry: TaskRetry }) {
  const t = useMessages(answerMessages);
  const { formatCause } = useMessages(gatewayErrorMessages);
  const { attempt, message, retry_in_ms: waitMs, failed_at: failedAt } = retry;
  const seconds = useSecondsLeft(failedAt, waitMs);
  return (
    <div className="answer-retry" role="group" aria-label={t.retrying}>
      <Spinner label={t.retrying} />
      <div>
        {/* `aria-live="off"`, so that the time is not announced every second. */}
        <strong role="timer" aria-live="off">
          {t.retryingNext(attempt + 1, seconds)}
        </strong>
        <p className="plain-text" dir="auto">
          {t.retryCause(attempt, formatCause(message))}
        </p>
      </div>
    </div>
  );
}

interface ProgressLineProps {
  progress: ProgressState;
  label: string;
}

export function ProgressLine({ progress, label }: ProgressLineProps) {
  const t = useMessages(answerMessages);
  const { message, fraction, retry } = progress;
  const text = retry === undefined ? message : t.retryProgress(message, retry.failedAttempts);
  return (
    <div className="answer-progress">
      {fraction !== undefined && <ProgressBar fraction={fraction} label={label} />}
      {text !== "" && <span dir="auto">{text}</span>}
    </div>
  );
}

/** Rendered before the text, so that it does not move when the text changes. */
function ProgressBar({ fraction, label }: { fraction: number; label: string }) {
  const percent = useFormatter().percent(fraction);
  return (
    <>
      <progress aria-label={label} aria-valuetext={percent} max={1} value={fraction} />
      <span className="answer-percent" aria-hidden="true">
        {percent}
      </span>
    </>
  );
}
