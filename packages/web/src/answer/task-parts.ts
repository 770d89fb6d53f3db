import type {
  Block,
  Execution,
  OutputItem,
  Reference,
  RetractedItem,
  TaskApproval,
  TaskInput,
  TaskReference,
  TaskState,
  TaskTree,
  ToolCallItem,
  ToolResultItem,
  Usage,
} from "@deltawire/tasks";
import { changedArguments } from "@deltawire/tasks";
import type { AnswerVersion, CallRecord } from "@deltawire/tasks/chats";
import { once } from "../once.ts";

/** What a task is made of, wherever it is read from. */
export interface TaskParts {
  readonly taskId: string;
  readonly isRunning: boolean;
  readonly output: readonly (OutputItem | RetractedItem)[];
  /** When the last of them began, where that is known. */
  readonly lastBeganAt: string | undefined;
  readonly inputs: readonly TaskInput[];
  /** Undefined: of an older chat, which kept none of sub-agents. What their results number is all that is known then. */
  readonly references: readonly Reference[] | undefined;
  /** Those that wait, without those of tasks below it. */
  readonly pending: readonly TaskApproval[];
  notes(callId: string): CallNotes | undefined;
  /** What a result shows by itself. */
  blocks(result: ToolResultItem): readonly Block[];
  child(call: ToolCallItem, result: ToolResultItem | undefined): ChildParts | undefined;
}

interface ChildParts {
  readonly agent: string | undefined;
  readonly usage: Usage | undefined;
  readonly error: Failure | undefined;
  readonly parts: TaskParts;
}

/** Why a task did not come to its own end. */
export type Failure = NonNullable<CallRecord["error"]>;

/** What is known of a call beside its items. */
export interface CallNotes {
  readonly startedAt: string | undefined;
  /** Of all its runs that have ended. */
  readonly durationMs: number | undefined;
  readonly isExecuting: boolean;
  /** What its last run came to. */
  readonly outcome: string | undefined;
  /** What people decided about it, in order. */
  readonly decisions: readonly string[];
  /** What they had run in place of the model's arguments. */
  readonly changed: string | undefined;
}

export function liveParts(tree: TaskTree, task: TaskState): TaskParts {
  const { task_id: taskId } = task;
  const isRoot = taskId === tree.root_task_id;
  const isRunning = !endings.has(task.status);
  const approvals = approvalsOf(tree.approvals).get(taskId) ?? noApprovals;
  return {
    taskId,
    isRunning,
    output: task.output,
    lastBeganAt: task.item_added_at,
    inputs: isRoot ? task.inputs : noInputs,
    references: referencesOf(tree.references).get(taskId) ?? noReferences,
    pending: approvals.pending,
    notes: (callId) => liveNotes(executionsOf(task.executions).get(callId), approvals, callId),
    blocks: (result) => result.block_list as Block[],
    child(call) {
      const child = Object.hasOwn(tree.tasks, call.call_id) ? tree.tasks[call.call_id] : undefined;
      // A log that runs in a circle is not followed round it.
      if (child?.info.parent_task_id !== taskId || child.info.depth <= task.info.depth)
        return undefined;
      return {
        agent: child.info.agent,
        usage: unlessNothing(child.tree_usage ?? child.usage),
        error: failureOf(child),
        parts: liveParts(tree, child),
      };
    },
  };
}

/** As a chat keeps it. */
export const failureOf = once(({ status, error, ended }: TaskState): Failure | undefined => {
  if (error !== undefined) return { code: error.code, message: error.message };
  if (status !== "expired") return undefined;
  return { code: "timeout", message: ended?.reason ?? "the time was up" };
});

export function keptParts(version: AnswerVersion): TaskParts {
  const { child_references, chain } = version;
  const notes: KeptNotes = {
    records: new Map(chain?.calls.map((record) => [record.call_id, record])),
    references: child_references && referencesOf(child_references),
  };
  const isRunning = version.status === "running";
  return {
    ...keptTask(version.task_id ?? version.version_id, version.output, isRunning, notes),
    inputs: version.inputs ?? noInputs,
    references: version.references,
  };
}

/** What a chat keeps of all tasks of an answer, beside their items. */
interface KeptNotes {
  /** By call. */
  readonly records: ReadonlyMap<string, CallRecord>;
  /** By task, those of the root not among them. */
  readonly references: ReadonlyMap<string, readonly Reference[]> | undefined;
}

function keptTask(
  taskId: string,
  output: readonly OutputItem[],
  isRunning: boolean,
  kept: KeptNotes,
): TaskParts {
  const { records, references } = kept;
  return {
    taskId,
    isRunning,
    output,
    lastBeganAt: undefined,
    inputs: noInputs,
    references: references && (references.get(taskId) ?? noReferences),
    pending: noApprovals.pending,
    notes(callId) {
      const record = records.get(callId);
      return (
        record && {
          startedAt: record.started_at,
          durationMs: record.duration_ms,
          isExecuting: false,
          outcome: record.outcome,
          decisions: record.decisions ?? noDecisions,
          changed: record.changed_arguments,
        }
      );
    },
    blocks: (result) => result.block_list.filter((one) => !isItem(one)),
    child(call, result) {
      const nested = result?.block_list.filter(isItem) ?? [];
      if (nested.length === 0 && call.child_task_ids === undefined) return undefined;
      const record = records.get(call.call_id);
      return {
        agent: agentIn(record?.changed_arguments ?? call.arguments),
        usage: unlessNothing(record?.usage),
        error: record?.error,
        parts: keptTask(call.call_id, nested, isRunning && result?.outcome === undefined, kept),
      };
    },
  };
}

const endings: ReadonlySet<TaskState["status"]> = new Set([
  "completed",
  "failed",
  "canceled",
  "expired",
]);

/** A task that has used nothing says so; a chat keeps nothing then. */
function unlessNothing(usage: Usage | undefined): Usage | undefined {
  return usage?.total_tokens === 0 && usage.cost === undefined ? undefined : usage;
}

interface TaskApprovals {
  readonly pending: readonly TaskApproval[];
  /** By call. */
  readonly decided: ReadonlyMap<string, Decided>;
}

type Decided = Pick<CallNotes, "decisions" | "changed">;

const noApprovals: TaskApprovals = nothingAsked();

function nothingAsked(): { pending: TaskApproval[]; decided: Map<string, Decided> } {
  return { pending: [], decided: new Map() };
}

/** By task. They are few and seldom change, so they are sorted once. */
const approvalsOf = once((approvals: readonly TaskApproval[]) => {
  const byTask = new Map<string, ReturnType<typeof nothingAsked>>();
  for (const approval of approvals) {
    const { task_id, call_id, status, resolution } = approval;
    const own = byTask.get(task_id) ?? nothingAsked();
    byTask.set(task_id, own);
    if (status === "pending") own.pending.push(approval);
    else if (call_id !== undefined) {
      const { decisions, changed } = own.decided.get(call_id) ?? nothingDecided;
      own.decided.set(call_id, {
        decisions: [...decisions, resolution?.decision ?? "expired"],
        changed: (resolution && changedArguments(resolution)) ?? changed,
      });
    }
  }
  return byTask;
});

const executionsOf = once((executions: readonly Execution[]) =>
  Map.groupBy(executions, ({ call_id }) => call_id),
);

/** By task. */
const referencesOf = once((references: readonly TaskReference[]) =>
  Map.groupBy(references, ({ task_id }) => task_id),
);

const noReferences: readonly Reference[] = [];
const noInputs: readonly TaskInput[] = [];

function liveNotes(
  runs: readonly Execution[] | undefined,
  approvals: TaskApprovals,
  callId: string,
): CallNotes | undefined {
  const decided = approvals.decided.get(callId);
  if (runs === undefined && decided === undefined) return undefined;
  const times = (runs ?? []).flatMap(({ duration_ms }) => duration_ms ?? []);
  return {
    startedAt: runs?.[0]?.started_at,
    durationMs: times.length === 0 ? undefined : times.reduce((sum, time) => sum + time, 0),
    isExecuting: runs?.at(-1)?.outcome === undefined && runs !== undefined,
    outcome: runs?.at(-1)?.outcome,
    ...(decided ?? nothingDecided),
  };
}

const noDecisions: readonly string[] = [];
const nothingDecided: Decided = { decisions: noDecisions, changed: undefined };

function isItem(one: Block | OutputItem): one is OutputItem {
  return itemTypes.has(one.type);
}

const itemTypes: ReadonlySet<string> = new Set<OutputItem["type"]>([
  "reasoning",
  "tool_call",
  "tool_result",
  "message",
]);

/** A chat keeps no name of a sub-agent but the one that it was called by. */
function agentIn(json: string): string | undefined {
  try {
    const given = JSON.parse(json) as { name?: unknown } | null;
    return typeof given?.name === "string" ? given.name : undefined;
  } catch {
    return undefined;
  }
}
