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
 * What the validator has to remember of a log. Beside the reduced state, which is for readers: this is changed in place,
 * and knows what a state does not tell, such as which part of an item is open.
 */

export class LogNotes {
  root = "";
  head = -1;
  /** A process was lost, and with it perhaps the second half of what it wrote together. */
  takenOver = false;
  readonly tasks = new Map<string, TaskNotes>();
  readonly approvals = new Map<string, ApprovalNotes>();
  readonly ids = new Set<string>();
  /** Idempotency keys, with the calls that they are for. */
  readonly keys = new Map<string, string>();
}

export interface TaskNotes {
  readonly id: string;
  readonly parent: TaskNotes | undefined;
  readonly depth: number;
  readonly children: TaskNotes[];
  status: TaskStatus;
  epoch: number;
  readonly items: ItemNotes[];
  readonly calls: Map<string, CallNotes>;
  /** The last number that earlier turns of the conversation have used. */
  readonly referencesBefore: number;
  /** The last number that is used. */
  references: number;
  /** Numbers of blocks that nothing refers to yet. */
  readonly unreferenced: Set<number>;
  round: number;
  roundDone: boolean;
  roundFrom: number;
  usage: Usage;
  treeUsage: Usage | undefined;
  compressing: boolean;
  /** A person has ended it: nothing is begun any more. */
  aborted: boolean;
}

export interface AnyItem {
  readonly id: string;
  readonly index: number;
  state: "open" | "closed" | "retracted";
  /** Whether something refers to it. */
  cited: boolean;
  part: Part | undefined;
  /** It was open in the state that this went on from, where it cannot be seen whether its last part is closed. */
  readonly restored: boolean;
}
export interface ReasoningNotes extends AnyItem {
  readonly type: "reasoning";
  readonly summary: SummaryText[];
  readonly raw: SummaryText[];
}
export interface CallNotes extends AnyItem {
  readonly type: "tool_call";
  readonly callId: string;
  readonly name: string;
  arguments: string;
  argumentsDone: boolean;
  /** Whether it may be run at all. */
  whole: boolean;
  /** Its outcome has been told. */
  settled: boolean;
  approval: "none" | "pending" | "approved" | "refused";
  /** What a person has approved, where that is not `arguments`. */
  approved: ExpandedArguments | undefined;
  /** Approvals of any kind. */
  pending: number;
  result: ResultNotes | undefined;
  child: TaskNotes | undefined;
  execution: ExecutionNotes | undefined;
}
export interface ResultNotes extends AnyItem {
  readonly type: "tool_result";
  readonly call: CallNotes;
  readonly blocks: Block[];
}
export interface MessageNotes extends AnyItem {
  readonly type: "message";
  readonly blocks: Block[];
}
/** One that was taken back before these notes begin. */
interface ForgottenNotes extends AnyItem {
  readonly type: "retracted";
}
export type ItemNotes = ReasoningNotes | CallNotes | ResultNotes | MessageNotes | ForgottenNotes;

/** The part of an item that is open. */
export interface Part {
  readonly kind: "summary" | "raw" | Block["type"];
  readonly index: number;
  text: string;
  readonly block: Block | undefined;
  readonly annotations: Annotation[];
  partials: number;
}

export interface ExecutionNotes {
  readonly id: string;
  readonly attempt: number;
  readonly effect: string;
  readonly key: string;
  running: boolean;
}

export interface ApprovalNotes {
  readonly task: TaskNotes;
  readonly approval: Approval;
  readonly call: CallNotes | undefined;
  pending: boolean;
}

export function newTaskNotes(
  id: string,
  parent: TaskNotes | undefined,
  { references_before: referencesBefore = 0 }: Pick<TaskInfo, "references_before">,
): TaskNotes {
  return {
    id,
    parent,
    depth: parent === undefined ? 0 : parent.depth + 1,
    children: [],
    status: "created",
    epoch: 0,
    items: [],
    calls: new Map(),
    referencesBefore,
    references: referencesBefore,
    unreferenced: new Set(),
    round: 0,
    roundDone: true,
    roundFrom: 0,
    usage: noUsage,
    treeUsage: undefined,
    compressing: false,
    aborted: false,
  };
}

export function newCallNotes(
  item: { id: string; call_id: string; name: string },
  index: number,
): CallNotes {
  return {
    type: "tool_call",
    id: item.id,
    index,
    state: "open",
    cited: false,
    part: undefined,
    restored: false,
    callId: item.call_id,
    name: item.name,
    arguments: "",
    argumentsDone: false,
    whole: false,
    settled: false,
    approval: "none",
    approved: undefined,
    pending: 0,
    result: undefined,
    child: undefined,
    execution: undefined,
  };
}
