import type {
  Annotation,
  Approval,
  Block,
  ExpandedArguments,
  SummaryText,
  TaskInfo,
  TaskStatus,
  Usage,
} from "./items.ts";
import { noUsage } from "./usage.ts";

/*
 * The state of the validator. It is changed in place, and contains details that the reduced state does not, such as the open part
 * of an item.
 */

export class ValidatorState {
  rootTaskId = "";
  head = -1;
  /** True if a process crashed and the task was resumed: some of the last events may be missing. */
  wasTakenOver = false;
  readonly tasks = new Map<string, TrackedTask>();
  readonly approvals = new Map<string, TrackedApproval>();
  readonly ids = new Set<string>();
  /** Call id by idempotency key. */
  readonly idempotencyKeys = new Map<string, string>();
}

export interface TrackedTask {
  readonly id: string;
  readonly parent: TrackedTask | undefined;
  readonly depth: number;
  readonly children: TrackedTask[];
  status: TaskStatus;
  epoch: number;
  readonly items: TrackedItem[];
  readonly calls: Map<string, TrackedCall>;
  /** Last reference number of earlier turns of the conversation. */
  readonly lastEarlierReference: number;
  /** Last used reference number. */
  lastReference: number;
  /** Numbers of blocks that have no reference yet. */
  readonly unreferencedNumbers: Set<number>;
  round: number;
  isRoundDone: boolean;
  roundStartIndex: number;
  usage: Usage;
  treeUsage: Usage | undefined;
  isCompacting: boolean;
  /** True if a user aborted the task: no further round or execution may start. */
  isAborted: boolean;
}

export interface TrackedItemBase {
  readonly id: string;
  readonly index: number;
  state: "open" | "closed" | "retracted";
  /** True if a reference points to it. */
  isCited: boolean;
  openPart: OpenPart | undefined;
  /** True if it was open in the restored state, which does not record whether its last part is closed. */
  readonly isRestored: boolean;
}
export interface TrackedReasoning extends TrackedItemBase {
  readonly type: "reasoning";
  readonly summary: SummaryText[];
  readonly rawParts: SummaryText[];
}
export interface TrackedCall extends TrackedItemBase {
  readonly type: "tool_call";
  readonly callId: string;
  readonly name: string;
  arguments: string;
  areArgumentsDone: boolean;
  /** True if the model completed the call, so that it may be executed. */
  isComplete: boolean;
  /** True if its outcome has been written. */
  hasOutcome: boolean;
  approval: "none" | "pending" | "approved" | "denied";
  /** The approved arguments, if they differ from `arguments`. */
  approvedArguments: ExpandedArguments | undefined;
  /** Number of pending approvals of any kind. */
  pendingApprovals: number;
  result: TrackedResult | undefined;
  child: TrackedTask | undefined;
  execution: TrackedExecution | undefined;
}
export interface TrackedResult extends TrackedItemBase {
  readonly type: "tool_result";
  readonly call: TrackedCall;
  readonly blocks: Block[];
}
export interface TrackedMessage extends TrackedItemBase {
  readonly type: "message";
  readonly blocks: Block[];
}
/** An item that was retracted before the state was restored. */
interface TrackedRetraction extends TrackedItemBase {
  readonly type: "retracted";
}
export type TrackedItem =
  | TrackedReasoning
  | TrackedCall
  | TrackedResult
  | TrackedMessage
  | TrackedRetraction;

/** The open part of an item. */
export interface OpenPart {
  readonly kind: "summary" | "raw" | Block["type"];
  readonly index: number;
  text: string;
  readonly block: Block | undefined;
  readonly annotations: Annotation[];
  partialCount: number;
}

export interface TrackedExecution {
  readonly id: string;
  readonly attempt: number;
  readonly effect: string;
  readonly idempotencyKey: string;
  isRunning: boolean;
}

export interface TrackedApproval {
  readonly task: TrackedTask;
  readonly approval: Approval;
  readonly call: TrackedCall | undefined;
  isPending: boolean;
}

export function createTrackedTask(
  id: string,
  parent: TrackedTask | undefined,
  { references_before: lastEarlierReference = 0 }: Pick<TaskInfo, "references_before">,
): TrackedTask {
  return {
    id,
    parent,
    depth: parent === undefined ? 0 : parent.depth + 1,
    children: [],
    status: "created",
    epoch: 0,
    items: [],
    calls: new Map(),
    lastEarlierReference,
    lastReference: lastEarlierReference,
    unreferencedNumbers: new Set(),
    round: 0,
    isRoundDone: true,
    roundStartIndex: 0,
    usage: noUsage,
    treeUsage: undefined,
    isCompacting: false,
    isAborted: false,
  };
}

export function createTrackedCall(
  item: { id: string; call_id: string; name: string },
  index: number,
): TrackedCall {
  return {
    type: "tool_call",
    id: item.id,
    index,
    state: "open",
    isCited: false,
    openPart: undefined,
    isRestored: false,
    callId: item.call_id,
    name: item.name,
    arguments: "",
    areArgumentsDone: false,
    isComplete: false,
    hasOutcome: false,
    approval: "none",
    approvedArguments: undefined,
    pendingApprovals: 0,
    result: undefined,
    child: undefined,
    execution: undefined,
  };
}
