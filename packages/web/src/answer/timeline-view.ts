import type {
  Block,
  MessageItem,
  ReasoningItem,
  TaskApproval,
  InputItem,
  ToolCallItem,
  Usage,
} from "@deltawire/tasks";
import type { CallError } from "@deltawire/tasks/chats";
import type { Sources } from "./sources.ts";

/** What a task did, in order. */
export interface TimelineView {
  readonly taskId: string;
  readonly isRunning: boolean;
  /** Nothing is to be seen at its end, and something will come. */
  readonly awaitsModel: boolean;
  /** In lists of a few: one that is full stays the same object while others grow. */
  readonly pieces: readonly (readonly StepView[])[];
  readonly sources: Sources;
  /** What is asked of people that belongs to no call of it: a limit. */
  readonly asked: readonly TaskApproval[];
  /** All that people are asked, here and below. */
  readonly pending: readonly TaskApproval[];
}

export type StepView =
  | {
      readonly is: "reasoning";
      readonly key: string;
      readonly item: ReasoningItem;
      /** Of one that goes on, where it is known. */
      readonly startedAt: string | undefined;
    }
  | { readonly is: "message"; readonly key: string; readonly item: MessageItem }
  /** What the user said meanwhile. */
  | {
      readonly is: "said";
      readonly key: string;
      readonly item: InputItem;
      readonly delivery: "steer" | "queue";
      readonly isHeard: boolean;
    }
  /** Calls that the model made in one go. */
  | { readonly is: "calls"; readonly key: string; readonly calls: readonly CallView[] };

export interface CallView {
  readonly call: ToolCallItem;
  readonly state: CallState;
  readonly resultId: string | undefined;
  readonly blocks: readonly Block[];
  readonly startedAt: string | undefined;
  readonly durationMs: number | undefined;
  readonly decisions: readonly string[];
  /** What people had run in place of the model's arguments. */
  readonly changed: string | undefined;
  /** Its run went wrong, and people are asked whether the model may know. */
  readonly isHeldFailure: boolean;
  /** What people are asked about it now. */
  readonly asked: readonly TaskApproval[];
  readonly child: SubAgentView | undefined;
}

export type CallState =
  | "preparing"
  | "waiting"
  | "running"
  | "completed"
  | "failed"
  | "timeout"
  | "denied"
  | "canceled"
  | "incomplete"
  | "unknown";

export interface SubAgentView {
  readonly agent: string | undefined;
  readonly usage: Usage | undefined;
  readonly error: CallError | undefined;
  readonly timeline: TimelineView;
}

export function stepsIn({ pieces }: Pick<TimelineView, "pieces">): readonly StepView[] {
  return pieces.flat();
}

export function callsIn(timeline: Pick<TimelineView, "pieces">): CallView[] {
  return callsOf(stepsIn(timeline));
}

export function callsOf(steps: readonly StepView[]): CallView[] {
  return steps.flatMap((step) => (step.is === "calls" ? step.calls : []));
}

/** Whether more will come of a call. */
export function isOpenState(state: CallState): boolean {
  return state === "preparing" || state === "waiting" || state === "running";
}

export function wentWrong(outcome: string | undefined): boolean {
  return outcome === "failed" || outcome === "timeout" || outcome === "unknown";
}
