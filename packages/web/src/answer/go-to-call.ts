import { createCell } from "../cell.ts";
import { useCellSelector } from "../hooks/use-cell.ts";
import { repeatWhileMounting } from "../ui/lazy-mount.tsx";
import { setDisclosureOpen } from "./disclosure-state.ts";
import type { CallViewModel, StepViewModel } from "./timeline-view-model.ts";

const highlightMs = 1600;

/** Dispatched before scrolling to a call, so that auto-scrolling stops. */
export const stopFollowingEvent = "answer-stop-following";

/**
 * Expands a call and everything that contains it, scrolls it into view, highlights it for a moment and focuses it. `path` holds
 * the call ids from the outermost call to this one; `element` is any element of its answer.
 */
export function goToCall(element: Element, path: readonly string[]): void {
  const answer = element.closest(".answer");
  const callId = path.at(-1);
  if (answer === null || callId === undefined) return;
  forceMountSteps(path);
  for (const id of path) setDisclosureOpen(id, true);
  // By the next frame, collapsed and distant calls on the path are mounted.
  requestAnimationFrame(() => {
    const card = answer.querySelector<HTMLElement>(`[data-call="${CSS.escape(callId)}"]`);
    if (card === null) return;
    // Not before this frame: the growing content would scroll the list to its end, which restarts auto-scrolling.
    answer.dispatchEvent(new Event(stopFollowingEvent, { bubbles: true }));
    scrollCardIntoView(card);
    card.focus({ preventScroll: true });
    card.toggleAttribute("data-highlighted", true);
    setTimeout(() => card.toggleAttribute("data-highlighted", false), highlightMs);
  });
}

/** Longer distances, in viewport heights, are scrolled instantly: a smooth scroll would mount everything on the way. */
const maxSmoothViewports = 3;

function scrollCardIntoView(card: HTMLElement): void {
  const prefersReducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (
    !prefersReducedMotion &&
    Math.abs(card.getBoundingClientRect().top) < maxSmoothViewports * innerHeight
  )
    return card.scrollIntoView({ block: "center", behavior: "smooth" });
  let { top } = card.getBoundingClientRect();
  const scrollToCenter = () => {
    card.scrollIntoView({ block: "center" });
    ({ top } = card.getBoundingClientRect());
  };
  scrollToCenter();
  return repeatWhileMounting(() => {
    // The user may have moved the focus in the meantime.
    if (!card.contains(document.activeElement)) return;
    if (Math.abs(card.getBoundingClientRect().top - top) > 1) scrollToCenter();
  });
}

/** Ids of the calls on the path to the last visited call, or of the last visited message. Their steps stay mounted. */
const forceMountedIds = createCell<readonly string[]>([]);

/** Mounts the steps with these call or message ids. */
export function forceMountSteps(ids: readonly string[]): void {
  forceMountedIds.set([...ids]);
}

/**
 * True if calls must stay mounted: they are on the path to the last visited call, or have a pending approval, which must be
 * visible and whose form must keep its state.
 */
export function useForceMountCalls(calls: readonly CallViewModel[]): boolean {
  return useCellSelector(forceMountedIds, (ids) => shouldForceMountCalls(calls, ids));
}

export function useForceMountSteps(steps: readonly StepViewModel[]): boolean {
  return useCellSelector(forceMountedIds, (ids) =>
    steps.some((step) =>
      step.type === "calls" ? shouldForceMountCalls(step.calls, ids) : ids.includes(step.key),
    ),
  );
}

function shouldForceMountCalls(calls: readonly CallViewModel[], ids: readonly string[]): boolean {
  return calls.some(
    ({ call, pendingApprovals, child }) =>
      pendingApprovals.length > 0 ||
      (child !== undefined && child.timeline.pendingApprovals.length > 0) ||
      ids.includes(call.call_id),
  );
}
