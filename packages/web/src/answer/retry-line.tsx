import type { TaskRetry } from "@deltawire/tasks";
import { Spinner } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { useSecondsLeft } from "./elapsed.tsx";
import { answerWords } from "./words.ts";

/** The model could not be asked: why, which attempt is next, and when. */
export function RetryLine({ retry }: { retry: TaskRetry }) {
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
