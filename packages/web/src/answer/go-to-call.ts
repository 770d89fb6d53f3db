import { cell } from "../cell.ts";
import { usePicked } from "../hooks/use-cell.ts";
import { whileDrawn } from "../parts/lazy-mount.tsx";
import { setFold } from "./folds.ts";
import type { CallView, StepView } from "./timeline-view.ts";

const markedMs = 1600;

/** Told before: whoever keeps a list at its end lets go of it. */
export const leavesEnd = "answer-leaves-end";

/** Unfolds a call and all around it, brings it into view, marks it for a moment and gives it the focus. */
export function goToCall(from: Element, path: readonly string[]): void {
  const answer = from.closest(".answer");
  const last = path.at(-1);
  if (answer === null || last === undefined) return;
  wantSteps(path);
  for (const callId of path) setFold(callId, true);
  // What was folded, or too far away to be there, is drawn by then.
  requestAnimationFrame(() => {
    const card = answer.querySelector<HTMLElement>(`[data-call="${CSS.escape(last)}"]`);
    if (card === null) return;
    // Not before it is drawn: what has become higher moves a list to its end, which would hold it there again.
    answer.dispatchEvent(new Event(leavesEnd, { bubbles: true }));
    bringIntoView(card);
    card.focus({ preventScroll: true });
    card.toggleAttribute("data-marked", true);
    setTimeout(() => card.toggleAttribute("data-marked", false), markedMs);
  });
}

/** Further away than so many views it does not fly past what would have to be drawn on the way. */
const flownViews = 3;

function bringIntoView(card: HTMLElement): void {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (!isStill && Math.abs(card.getBoundingClientRect().top) < flownViews * innerHeight)
    return card.scrollIntoView({ block: "center", behavior: "smooth" });
  let { top } = card.getBoundingClientRect();
  const toMiddle = () => {
    card.scrollIntoView({ block: "center" });
    ({ top } = card.getBoundingClientRect());
  };
  toMiddle();
  return whileDrawn(() => {
    // Whoever presses Tab meanwhile is not held back.
    if (!card.contains(document.activeElement)) return;
    if (Math.abs(card.getBoundingClientRect().top - top) > 1) toMiddle();
  });
}

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
