import type { MessageItem } from "@deltawire/tasks";
import { once } from "../once.ts";
import { argumentsLine, oneLine } from "./arguments-line.ts";
import {
  isOpenState,
  stepsIn,
  type StepView,
  type SubAgentView,
  type TimelineView,
} from "./timeline-view.ts";

/** What a sub-agent does now, or what it has said last; why it failed, if it has said nothing. */
export type SubAgentNow =
  | { readonly is: "starting" | "thinking" | "writing" | "silent" }
  | { readonly is: "waiting"; readonly tool: string }
  | { readonly is: "calling"; readonly tool: string; readonly line: string }
  /** Another sub-agent, which does something itself. */
  | { readonly is: "asking"; readonly agent: string; readonly now: SubAgentNow }
  | { readonly is: "said"; readonly line: string };

export function nowOf({ timeline, error }: SubAgentView): SubAgentNow {
  const [first] = timeline.pending;
  if (first !== undefined) return { is: "waiting", tool: first.tool ?? "" };
  const last = timeline.pieces.at(-1)?.at(-1);
  if (!timeline.isRunning) {
    const said = stepsIn(timeline).findLast((step) => step.is === "message");
    const line = oneLine(said?.is === "message" ? textOf(said.item) : (error?.message ?? ""));
    return line === "" ? { is: "silent" } : { is: "said", line };
  }
  if (last === undefined) return { is: "starting" };
  if (last.is === "calls") {
    const open = last.calls.findLast(({ state }) => isOpenState(state));
    if (open === undefined) return { is: "thinking" };
    const { name, status, arguments: json } = open.call;
    if (open.child !== undefined)
      return { is: "asking", agent: open.child.agent ?? name, now: nowOf(open.child) };
    return {
      is: "calling",
      tool: name,
      line: status === "in_progress" ? "" : argumentsLine(open.changed ?? json),
    };
  }
  return { is: last.is === "message" ? "writing" : "thinking" };
}

/** How many things it has done, those of the agents that it asked not counted. */
export function stepCount(timeline: TimelineView): number {
  return timeline.pieces.reduce((sum, piece) => sum + countOf(piece), 0);
}

const countOf = once((piece: readonly StepView[]) =>
  piece.reduce((sum, step) => sum + (step.is === "calls" ? step.calls.length : 1), 0),
);

function textOf({ block_list }: MessageItem): string {
  return block_list
    .map((block) => (block.type === "text" ? block.text : ""))
    .join(" ")
    .replaceAll(/\[\^\d+\]|[*`#]/g, "");
}
