import {
  changedArguments,
  hasEnded,
  type Execution,
  type Reference,
  type TaskApproval,
  type TaskInput,
  type TaskReference,
  type TaskState,
  type TaskTree,
  type Usage,
} from "@deltawire/tasks";
import { childTask, taskError, type CallError } from "@deltawire/tasks/chats";
import { once } from "../once.ts";

/** What of a task its timeline shows. */
export interface TaskParts {
  readonly taskId: string;
  readonly isRunning: boolean;
  readonly output: TaskState["output"];
  /** When the last of them began, where that is known. */
  readonly lastBeganAt: string | undefined;
  readonly inputs: readonly TaskInput[];
  readonly references: readonly Reference[];
  /** Those that wait, without those of tasks below it. */
  readonly pending: readonly TaskApproval[];
  notes(callId: string): CallNotes | undefined;
  child(callId: string): ChildParts | undefined;
}

interface ChildParts {
  readonly agent: string | undefined;
  readonly usage: Usage | undefined;
  readonly error: CallError | undefined;
  readonly parts: TaskParts;
}

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

export function taskParts(tree: TaskTree, task: TaskState): TaskParts {
  const { task_id: taskId } = task;
  const isRunning = !hasEnded(task.status);
  const isRoot = taskId === tree.root_task_id;
  const approvals = approvalsOf(tree.approvals).get(taskId) ?? noApprovals;
  return {
    taskId,
    isRunning,
    output: task.output,
    lastBeganAt: task.item_added_at,
    inputs: isRoot ? task.inputs : noInputs,
    references: referencesOf(tree.references).get(taskId) ?? noReferences,
    pending: isRunning ? approvals.pending : noApprovals.pending,
    notes: (callId) => notesOf(executionsOf(task.executions).get(callId), approvals, callId),
    child(callId) {
      const child = childTask(tree, task, callId);
      return (
        child && {
          agent: child.info.agent === "" ? undefined : child.info.agent,
          usage: unlessNothing(child.tree_usage ?? child.usage),
          error: errorOf(child),
          parts: taskParts(tree, child),
        }
      );
    },
  };
}

const errorOf = once(taskError);

/** A sub-agent that has used nothing has nothing to show. */
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

function notesOf(
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
