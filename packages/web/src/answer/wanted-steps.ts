import { usePicked } from "../hooks/use-cell.ts";
import { cell } from "../cell.ts";
import type { CallView, StepView } from "./timeline-view.ts";

/** The way to the call, or to the message, that somebody went to last: these are drawn, wherever they are. */
const wanted = cell<readonly string[]>([]);

/** By the ids of calls and of messages. */
export function wantSteps(ids: readonly string[]): void {
  wanted.set([...ids]);
}

/** Also those that ask something are: what has to be decided is never hidden, and what is written for it stays. */
export function useAreCallsWanted(calls: readonly CallView[]): boolean {
  return usePicked(wanted, (ids) => areCallsWanted(calls, ids));
}

export function useAreStepsWanted(steps: readonly StepView[]): boolean {
  return usePicked(wanted, (ids) =>
    steps.some((step) =>
      step.is === "calls" ? areCallsWanted(step.calls, ids) : ids.includes(step.key),
    ),
  );
}

function areCallsWanted(calls: readonly CallView[], ids: readonly string[]): boolean {
  return calls.some(
    ({ call, asked, child }) =>
      asked.length > 0 ||
      (child !== undefined && child.timeline.pending.length > 0) ||
      ids.includes(call.call_id),
  );
}
