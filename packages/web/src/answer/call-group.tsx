import { memo } from "react";
import { partsOf } from "../parts-of.ts";
import { LazyMount } from "../parts/lazy-mount.tsx";
import { isSame } from "../same.ts";
import { useWords } from "../words/use-words.ts";
import { CallCard, type DrawTimeline } from "./call-card.tsx";
import { guessedHeightOfCalls } from "./guessed-height.ts";
import { isOpenState, type CallView } from "./timeline-view.ts";
import { useAreCallsWanted } from "./wanted-steps.ts";
import { answerWords } from "./words.ts";

interface CallGroupProps {
  calls: readonly CallView[];
  depth: number;
  draw: DrawTimeline;
}

const partLength = 16;
/** So many at the end, and the first part: all of a small group, and what is added to a large one or unfolded. */
const drawnAtOnce = 2 * partLength;

/** Calls that the model made in one go stand in one frame; a single one stands alone. */
export const CallGroup = memo(function CallGroup({ calls, depth, draw }: CallGroupProps) {
  const words = useWords(answerWords);
  const parts = partsOf(calls, partLength);
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
      {parts.map(({ from, part }) => (
        <Calls
          key={from}
          calls={part}
          depth={depth}
          draw={draw}
          isDrawnAtOnce={from === 0 || from >= calls.length - drawnAtOnce}
          isWhole={parts.length === 1}
        />
      ))}
    </div>
  );
});

interface CallsProps extends CallGroupProps {
  isDrawnAtOnce: boolean;
  /** All of the group: drawn with the steps around it, so that whoever presses Tab there finds it. */
  isWhole: boolean;
}

const Calls = memo(
  function Calls({ calls, depth, draw, isDrawnAtOnce, isWhole }: CallsProps) {
    const isWanted = useAreCallsWanted(calls);
    return (
      <LazyMount
        name={`calls from ${calls[0]?.call.call_id}`}
        className="answer-calls-part"
        guess={() => guessedHeightOfCalls(calls)}
        isWanted={isWanted || isWhole}
        isDrawnAtOnce={isDrawnAtOnce}
      >
        {() =>
          calls.map((view) => (
            <CallCard key={view.call.call_id} view={view} depth={depth} draw={draw} />
          ))
        }
      </LazyMount>
    );
  },
  ({ calls: before, ...rest }, { calls, ...others }) =>
    isSame(before, calls) && isSame(rest, others),
);
