import { assertNever, type Block, type ContentPart } from "@deltawire/tasks";
import { estimateLines, lineHeight } from "../ui/lazy-mount.tsx";
import type { CallViewModel, StepViewModel } from "./timeline-view-model.ts";

/* Estimated heights in px of steps that were never mounted, good enough for a correct scrollbar. Collapsed steps are one line. */

const callHeight = 41;
const groupHeaderHeight = 34;
const disclosureHeight = 32;
const gap = 12;
/** Label and frame of a message that the user sent while the answer ran. */
const messageChromeHeight = 44;

export function estimateStepsHeight(steps: readonly StepViewModel[]): number {
  return (
    steps.reduce((sum, step) => sum + estimateStepHeight(step), 0) +
    gap * Math.max(0, steps.length - 1)
  );
}

export function estimateCallsHeight(calls: readonly CallViewModel[]): number {
  return calls.length * callHeight;
}

function estimateStepHeight(step: StepViewModel): number {
  switch (step.type) {
    case "reasoning":
      return disclosureHeight;
    case "calls":
      return estimateCallsHeight(step.calls) + (step.calls.length > 1 ? groupHeaderHeight : 1);
    case "message":
      return estimateTextHeight(step.item.block_list);
    case "input":
      return estimateTextHeight(step.item.content) + messageChromeHeight;
    default:
      return assertNever(step);
  }
}

function estimateTextHeight(parts: readonly (Block | ContentPart)[]): number {
  return parts.reduce(
    (sum, part) => sum + (part.type === "text" ? estimateLines(part.text) * lineHeight : 0),
    0,
  );
}
