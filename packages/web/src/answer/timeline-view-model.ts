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

/** The steps of a task, in order. */
export interface TimelineViewModel {
  readonly taskId: string;
  readonly isRunning: boolean;
  /** True if the task is running, and no call, message or reasoning is in progress and no approval is pending. */
  readonly isAwaitingModel: boolean;
  /** Grouped in chunks: a full chunk stays the same object while later ones grow. */
  readonly stepChunks: readonly (readonly StepViewModel[])[];
  readonly sources: Sources;
  /** Pending approvals that are not about a call, for example about a limit. */
  readonly taskApprovals: readonly TaskApproval[];
  /** All pending approvals, including those of sub-agents. */
  readonly pendingApprovals: readonly TaskApproval[];
}

export type StepViewModel =
  | {
      readonly type: "reasoning";
      readonly key: string;
      readonly item: ReasoningItem;
      /** Set while it is streaming, if known. */
      readonly startedAt: string | undefined;
    }
  | { readonly type: "message"; readonly key: string; readonly item: MessageItem }
  /** A message that the user sent while the task ran. */
  | {
      readonly type: "input";
      readonly key: string;
      readonly item: InputItem;
      readonly delivery: "steer" | "queue";
      readonly isDelivered: boolean;
    }
  /** Consecutive calls. */
  | { readonly type: "calls"; readonly key: string; readonly calls: readonly CallViewModel[] };

export interface CallViewModel {
  readonly call: ToolCallItem;
  readonly state: CallState;
  readonly resultId: string | undefined;
  readonly blocks: readonly Block[];
  readonly startedAt: string | undefined;
  readonly durationMs: number | undefined;
  readonly decisions: readonly string[];
  /** The arguments with which the call ran, if the user edited those of the model. */
  readonly editedArguments: string | undefined;
  /** True if the run failed and an approval decides whether the model may see the error. */
  readonly isHeldFailure: boolean;
  /** Pending approvals about this call. */
  readonly pendingApprovals: readonly TaskApproval[];
  readonly child: SubAgentViewModel | undefined;
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

export interface SubAgentViewModel {
  readonly agent: string | undefined;
  readonly usage: Usage | undefined;
  readonly error: CallError | undefined;
  readonly timeline: TimelineViewModel;
}

export function getTimelineSteps({
  stepChunks,
}: Pick<TimelineViewModel, "stepChunks">): readonly StepViewModel[] {
  return stepChunks.flat();
}

export function getTimelineCalls(timeline: Pick<TimelineViewModel, "stepChunks">): CallViewModel[] {
  return collectCalls(getTimelineSteps(timeline));
}

export function collectCalls(steps: readonly StepViewModel[]): CallViewModel[] {
  return steps.flatMap((step) => (step.type === "calls" ? step.calls : []));
}

export function isCallUnfinished(state: CallState): boolean {
  return state === "preparing" || state === "waiting" || state === "running";
}

export function isFailedOutcome(outcome: string | undefined): boolean {
  return outcome === "failed" || outcome === "timeout" || outcome === "unknown";
}
