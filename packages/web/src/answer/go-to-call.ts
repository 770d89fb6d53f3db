import { setFold } from "./folds.ts";

const markedMs = 1600;

/** Told before: whoever keeps a list at its end lets go of it. */
export const leavesEnd = "answer-leaves-end";

/** Unfolds a call and all around it, brings it into view, marks it for a moment and gives it the focus. */
export function goToCall(from: Element, path: readonly string[]): void {
  const answer = from.closest(".answer");
  const last = path.at(-1);
  if (answer === null || last === undefined) return;
  answer.dispatchEvent(new Event(leavesEnd, { bubbles: true }));
  for (const callId of path) setFold(callId, true);
  // What was folded is drawn by then.
  requestAnimationFrame(() => {
    const card = answer.querySelector<HTMLElement>(`[data-call="${CSS.escape(last)}"]`);
    if (card === null) return;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    card.scrollIntoView({ block: "center", behavior: isStill ? "auto" : "smooth" });
    card.focus({ preventScroll: true });
    card.toggleAttribute("data-marked", true);
    setTimeout(() => card.toggleAttribute("data-marked", false), markedMs);
  });
}
