import type { Block, ContentPart } from "@deltawire/tasks";
import { guessedLines, lineHeight } from "../parts/lazy-mount.tsx";
import { unreachable } from "../unreachable.ts";
import type { CallView, StepView } from "./timeline-view.ts";

/* How high steps may be that were never drawn, in px: near enough that the scrollbar does not lie. Folded they are lines. */

const callHeight = 41;
const groupHead = 34;
const foldHeight = 32;
const gap = 12;
/** The label and the frame of what the user said. */
const around = 44;

export function guessedHeight(steps: readonly StepView[]): number {
  return steps.reduce((sum, step) => sum + heightOf(step), 0) + gap * Math.max(0, steps.length - 1);
}

export function guessedHeightOfCalls(calls: readonly CallView[]): number {
  return calls.length * callHeight;
}

function heightOf(step: StepView): number {
  switch (step.is) {
    case "reasoning":
      return foldHeight;
    case "calls":
      return guessedHeightOfCalls(step.calls) + (step.calls.length > 1 ? groupHead : 1);
    case "message":
      return heightOfTexts(step.item.block_list);
    case "said":
      return heightOfTexts(step.item.content) + around;
    default:
      return unreachable(step);
  }
}

function heightOfTexts(parts: readonly (Block | ContentPart)[]): number {
  return parts.reduce(
    (sum, part) => sum + (part.type === "text" ? guessedLines(part.text) * lineHeight : 0),
    0,
  );
}
