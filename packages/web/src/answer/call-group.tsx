import { memo } from "react";
import { useWords } from "../words/use-words.ts";
import { CallCard, type DrawTimeline } from "./call-card.tsx";
import { isOpenState, type CallView } from "./timeline-view.ts";
import { answerWords } from "./words.ts";

interface CallGroupProps {
  calls: readonly CallView[];
  depth: number;
  draw: DrawTimeline;
}

/** Calls that the model made in one go stand in one frame; a single one stands alone. */
export const CallGroup = memo(function CallGroup({ calls, depth, draw }: CallGroupProps) {
  const words = useWords(answerWords);
  const isGroup = calls.length > 1;
  const done = calls.filter(({ state }) => !isOpenState(state)).length;
  return (
    <div
      className="answer-calls"
      data-group={isGroup || undefined}
      role={isGroup ? "group" : undefined}
      aria-label={isGroup ? words.calls(calls.length) : undefined}
    >
      {isGroup && (
        <div className="answer-calls-head">
          <span>{words.calls(calls.length)}</span>
          {done < calls.length && <span>{words.callsDone(done, calls.length)}</span>}
        </div>
      )}
      {calls.map((view) => (
        <CallCard key={view.call.call_id} view={view} depth={depth} draw={draw} />
      ))}
    </div>
  );
});
