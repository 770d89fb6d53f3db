import { changedArguments } from "../arguments-hash.ts";
import type {
  Block,
  OutputItem,
  TaskFailure,
  ToolCallItem,
  ToolResultItem,
  Usage,
} from "../items.ts";
import type { Execution, TaskApproval, TaskState, TaskTree, TaskWarning } from "../state.ts";
import { wholeCharacters } from "../well-formed.ts";

/* What the tools of an answer did, for people who look back at it: derived from the state of its task. */

export interface CallRecord {
  readonly call_id: string;
  /** Of the sub-agent that called, if it was one. */
  readonly task_id?: string;
  /** Calls of the same reply have the same number; from 1 in each task. */
  readonly round: number;
  readonly name: string;
  readonly arguments: string;
  /** What a person had run in place of the model's arguments. */
  readonly changed_arguments?: string;
  /** `in_progress` as long as there is no result. */
  readonly outcome: string;
  /** The text of its result, cut where it is long; none of a result that was refused. */
  readonly result?: string;
  readonly started_at?: string;
  /** Of the tool's run, without the wait for people. */
  readonly duration_ms?: number;
  /** What people decided, in order: "approve", "deny", … */
  readonly decisions?: readonly string[];
  /**
   * Why it failed: the error of the last run of its tool or of its sub-agent's task. `code` is the failure's own, or the
   * outcome of a tool. None of a tool whose result was refused.
   */
  readonly error?: CallError;
  /** Of a call that asked a sub-agent: what that used. */
  readonly usage?: Usage;
}

export type CallError = Pick<TaskFailure, "code" | "message">;

export interface ChainStats {
  readonly rounds: number;
  readonly calls: number;
  /** By outcome: completed, failed, timeout, denied, canceled, incomplete, unknown. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly model_ms: number;
  readonly tool_ms: number;
  /** Waited for people. */
  readonly waited_ms: number;
}

/** How many characters of a result's text are shown. */
const longestResult = 4000;

/** All calls, those of a sub-agent behind the call that asked it. */
export function callRecords(tree: TaskTree): CallRecord[] {
  const notes = new Map<string, CallNotes>();
  const notesOf = (taskId: string, callId = ""): CallNotes => {
    const key = JSON.stringify([taskId, callId]);
    const known = notes.get(key) ?? { runs: [], approvals: [] };
    notes.set(key, known);
    return known;
  };
  for (const { task_id, executions } of Object.values(tree.tasks))
    for (const run of executions) notesOf(task_id, run.call_id).runs.push(run);
  for (const approval of tree.approvals)
    if (approval.status !== "pending")
      notesOf(approval.task_id, approval.call_id).approvals.push(approval);
  return callsIn(tree).map((called) => {
    const { task_id } = called.task;
    const record = recordOf(called, notesOf(task_id, called.call.call_id));
    return task_id === tree.root_task_id ? record : { ...record, task_id };
  });
}

/** Of tasks that make one answer together, with their sub-agents. */
export function chainStats(...trees: readonly TaskTree[]): ChainStats {
  const outcomes: Record<string, number> = {};
  const sum = { rounds: 0, calls: 0, model_ms: 0, tool_ms: 0, waited_ms: 0 };
  for (const tree of trees) {
    const roundsWithCalls = new Map<TaskState, number>();
    for (const { task, round, outcome } of callsIn(tree)) {
      sum.calls += 1;
      roundsWithCalls.set(task, round);
      if (outcome !== "in_progress") outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    for (const task of Object.values(tree.tasks)) {
      // Of an imported answer no other rounds are known.
      sum.rounds += Math.max(task.round, roundsWithCalls.get(task) ?? 0);
      sum.model_ms += task.model_ms ?? 0;
      // The time of a sub-agent is that of its model and its tools.
      for (const { call_id, duration_ms = 0 } of task.executions)
        if (!Object.hasOwn(tree.tasks, call_id)) sum.tool_ms += duration_ms;
    }
    // A task above one that waits for a person waits too.
    sum.waited_ms += tree.tasks[tree.root_task_id]?.waited_ms ?? 0;
  }
  return { ...sum, outcomes };
}

/** Round trips between the model and its tools, without those of sub-agents. */
export function toolRounds(tree: TaskTree): number {
  return callsIn(tree).findLast(({ task }) => task.task_id === tree.root_task_id)?.round ?? 0;
}

/** Of several that say the same there is one, those of sub-agents too. */
export function chainWarnings(tree: TaskTree): TaskWarning[] {
  const all = new Map<string, TaskWarning>();
  for (const { warnings = [] } of Object.values(tree.tasks))
    for (const { code, message, count } of warnings) {
      const key = JSON.stringify([code, message]);
      all.set(key, { code, message, count: count + (all.get(key)?.count ?? 0) });
    }
  return [...all.values()];
}

/** Why a task did not come to its own end. */
export function taskError({ status, error, ended }: TaskState): CallError | undefined {
  if (error !== undefined) return { code: error.code, message: error.message };
  if (status !== "expired") return undefined;
  return { code: "timeout", message: ended?.reason ?? "the time was up" };
}

/** The task of the sub-agent that a call has asked. A log that runs in a circle is not followed round it. */
export function childTask(tree: TaskTree, task: TaskState, callId: string): TaskState | undefined {
  const child = Object.hasOwn(tree.tasks, callId) ? tree.tasks[callId] : undefined;
  return child?.info.parent_task_id === task.task_id && child.info.depth > task.info.depth
    ? child
    : undefined;
}

interface Call {
  readonly task: TaskState;
  readonly call: ToolCallItem;
  readonly result: ToolResultItem | undefined;
  readonly outcome: string;
  /** The task of the sub-agent that was asked. */
  readonly child: TaskState | undefined;
  readonly round: number;
}

function callsIn(tree: TaskTree): Call[] {
  const root = tree.tasks[tree.root_task_id];
  return root === undefined ? [] : [...callsOf(tree, root)];
}

function* callsOf(tree: TaskTree, task: TaskState): Generator<Call> {
  const results = new Map<string, ToolResultItem>();
  for (const item of task.output)
    if (item.type === "tool_result" && item.status !== "in_progress")
      results.set(item.call_id, item);
  let round = 0;
  let isOpen = false;
  for (const item of task.output) {
    if (item.type === "tool_result") isOpen = false;
    if (item.type !== "tool_call" || item.status === "in_progress") continue;
    if (!isOpen) round += 1;
    isOpen = true;
    const result = results.get(item.call_id);
    const outcome =
      item.outcome ?? (result === undefined ? "in_progress" : (result.outcome ?? "completed"));
    const child = childTask(tree, task, item.call_id);
    yield { task, call: item, result, outcome, child, round };
    if (child !== undefined) yield* callsOf(tree, child);
  }
}

/** What is known of a call beside its items. */
interface CallNotes {
  readonly runs: Execution[];
  /** Those that were decided or have expired. */
  readonly approvals: TaskApproval[];
}

function recordOf(
  { call, result, outcome, child, round }: Call,
  { runs, approvals }: CallNotes,
): CallRecord {
  const changed = approvals.map(({ resolution }) => resolution && changedArguments(resolution));
  const decisions = approvals.map(({ resolution }) => resolution?.decision ?? "expired");
  const isShown =
    outcome !== "denied" &&
    !approvals.some(
      ({ kind, resolution }) => kind === "result" && resolution?.decision !== "approve",
    );
  const text = result && (textOf(result.block_list) || lastWords(child));
  const last = runs.findLast((run) => run.outcome !== undefined);
  const times = runs.flatMap(({ duration_ms = [] }) => duration_ms);
  const failure =
    last?.error === undefined ? undefined : { code: last.outcome ?? "failed", message: last.error };
  // What a sub-agent did is shown whatever becomes of its last message.
  const error = child === undefined ? (isShown ? failure : undefined) : taskError(child);
  const usage = child?.tree_usage ?? child?.usage;
  return {
    call_id: call.call_id,
    round,
    name: call.name,
    arguments: call.arguments,
    ...pick(
      "changed_arguments",
      changed.findLast((one) => one !== undefined),
    ),
    outcome,
    ...pick("result", isShown && text !== undefined ? shortened(text) : undefined),
    ...pick("started_at", runs[0]?.started_at),
    ...pick("duration_ms", times.length === 0 ? undefined : workedMs(times, child)),
    ...pick("decisions", decisions.length === 0 ? undefined : decisions),
    ...pick("error", error),
    ...pick("usage", usage === undefined || usage.total_tokens === 0 ? undefined : usage),
  };
}

function workedMs(times: readonly number[], child: TaskState | undefined): number {
  const { waited_ms = 0 } = child ?? {};
  return times.reduce((sum, ms) => sum + Math.max(0, ms - waited_ms), 0);
}

function pick<Name extends keyof CallRecord>(
  name: Name,
  value: CallRecord[Name] | undefined,
): Partial<CallRecord> {
  return value === undefined ? {} : { [name]: value };
}

/** The result of a sub-agent is its last message. */
function lastWords(child: TaskState | undefined): string | undefined {
  const said = child?.output.findLast((item) => item.type === "message");
  return child && textOf(said?.block_list ?? []);
}

function textOf(blocks: readonly (Block | OutputItem)[]): string {
  const texts = blocks.map((block) => {
    if (block.type === "text") return block.text;
    return block.type === "data" ? JSON.stringify(block.data) : "";
  });
  return texts.filter((text) => text !== "").join("\n");
}

function shortened(text: string): string {
  if (text.length <= longestResult) return text;
  return `${wholeCharacters(text.slice(0, longestResult - 1))}…`;
}
