import { getChangedArguments } from "../arguments-hash.ts";
import type {
  Block,
  OutputItem,
  TaskFailure,
  ToolCallItem,
  ToolResultItem,
  Usage,
} from "../items.ts";
import type { ToolExecution, TaskApproval, TaskState, TaskTree, TaskWarning } from "../state.ts";
import { trimSplitSurrogates } from "../well-formed.ts";

/* A summary of the tool calls of an answer, derived from the state of its task. */

export interface CallRecord {
  readonly call_id: string;
  /** The task of the sub-agent, if a sub-agent made the call. */
  readonly task_id?: string;
  /** Calls of the same reply have the same number, counted from 1 in each task. */
  readonly round: number;
  readonly name: string;
  readonly arguments: string;
  /** The arguments that a user has edited, which were executed instead of those of the model. */
  readonly changed_arguments?: string;
  /** `in_progress` until there is a result. */
  readonly outcome: string;
  /** The text of the result, truncated if it is long. Absent if the result was rejected. */
  readonly result?: string;
  readonly started_at?: string;
  /** Duration of the execution, without waiting for approvals. */
  readonly duration_ms?: number;
  /** The decisions of users, in order: "approve", "deny", … */
  readonly decisions?: readonly string[];
  /**
   * Why the call failed: the error of its last execution or of its sub-agent. `code`: the code of the error, or the outcome of the
   * execution. Absent for a tool whose result was rejected.
   */
  readonly error?: CallError;
  /** Usage of the sub-agent, if the call started one. */
  readonly usage?: Usage;
}

export type CallError = Pick<TaskFailure, "code" | "message">;

export interface ChainStats {
  readonly rounds: number;
  readonly calls: number;
  /** Number of calls by outcome: completed, failed, timeout, denied, canceled, incomplete, unknown. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly model_ms: number;
  readonly tool_ms: number;
  /** Time spent waiting for approvals. */
  readonly waited_ms: number;
}

/** In characters. */
const maxResultLength = 4000;

/** Returns all calls; those of a sub-agent follow the call that started it. */
export function buildCallRecords(tree: TaskTree): CallRecord[] {
  const histories = new Map<string, CallHistory>();
  const getHistory = (taskId: string, callId = ""): CallHistory => {
    const key = JSON.stringify([taskId, callId]);
    const history = histories.get(key) ?? { executions: [], approvals: [] };
    histories.set(key, history);
    return history;
  };
  for (const { task_id, executions } of Object.values(tree.tasks))
    for (const execution of executions)
      getHistory(task_id, execution.call_id).executions.push(execution);
  for (const approval of tree.approvals)
    if (approval.status !== "pending")
      getHistory(approval.task_id, approval.call_id).approvals.push(approval);
  return collectCalls(tree).map((treeCall) => {
    const { task_id } = treeCall.task;
    const record = buildCallRecord(treeCall, getHistory(task_id, treeCall.call.call_id));
    return task_id === tree.root_task_id ? record : { ...record, task_id };
  });
}

/** Sums the statistics of the tasks that form one answer, including their sub-agents. */
export function computeChainStats(...trees: readonly TaskTree[]): ChainStats {
  const outcomes: Record<string, number> = {};
  const sum = { rounds: 0, calls: 0, model_ms: 0, tool_ms: 0, waited_ms: 0 };
  for (const tree of trees) {
    const roundsWithCalls = new Map<TaskState, number>();
    for (const { task, round, outcome } of collectCalls(tree)) {
      sum.calls += 1;
      roundsWithCalls.set(task, round);
      if (outcome !== "in_progress") outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    for (const task of Object.values(tree.tasks)) {
      // An imported answer has no recorded rounds, only calls.
      sum.rounds += Math.max(task.round, roundsWithCalls.get(task) ?? 0);
      sum.model_ms += task.model_ms ?? 0;
      // Excludes the calls of sub-agents, whose own models and tools are counted.
      for (const { call_id, duration_ms = 0 } of task.executions)
        if (!Object.hasOwn(tree.tasks, call_id)) sum.tool_ms += duration_ms;
    }
    // Only the root is counted: it waits whenever a task below it waits.
    sum.waited_ms += tree.tasks[tree.root_task_id]?.waited_ms ?? 0;
  }
  return { ...sum, outcomes };
}

/** Counts the round trips between the model and its tools, without those of sub-agents. */
export function countToolRounds(tree: TaskTree): number {
  return collectCalls(tree).findLast(({ task }) => task.task_id === tree.root_task_id)?.round ?? 0;
}

/** Merges equal warnings of all tasks, and sums their counts. */
export function mergeWarnings(tree: TaskTree): TaskWarning[] {
  const mergedWarnings = new Map<string, TaskWarning>();
  for (const { warnings = [] } of Object.values(tree.tasks))
    for (const { code, message, count } of warnings) {
      const key = JSON.stringify([code, message]);
      mergedWarnings.set(key, {
        code,
        message,
        count: count + (mergedWarnings.get(key)?.count ?? 0),
      });
    }
  return [...mergedWarnings.values()];
}

/** Returns why a task failed or expired. Undefined otherwise. */
export function toCallError({ status, error, ended }: TaskState): CallError | undefined {
  if (error !== undefined) return { code: error.code, message: error.message };
  if (status !== "expired") return undefined;
  return { code: "timeout", message: ended?.reason ?? "the time limit was reached" };
}

/** Returns the task of the sub-agent that a call started. Undefined if the link would form a cycle. */
export function findChildTask(
  tree: TaskTree,
  task: TaskState,
  callId: string,
): TaskState | undefined {
  const child = Object.hasOwn(tree.tasks, callId) ? tree.tasks[callId] : undefined;
  return child?.info.parent_task_id === task.task_id && child.info.depth > task.info.depth
    ? child
    : undefined;
}

interface TreeCall {
  readonly task: TaskState;
  readonly call: ToolCallItem;
  readonly result: ToolResultItem | undefined;
  readonly outcome: string;
  /** The task of the sub-agent that the call started. */
  readonly child: TaskState | undefined;
  readonly round: number;
}

function collectCalls(tree: TaskTree): TreeCall[] {
  const root = tree.tasks[tree.root_task_id];
  return root === undefined ? [] : [...iterateCalls(tree, root)];
}

function* iterateCalls(tree: TaskTree, task: TaskState): Generator<TreeCall> {
  const results = new Map<string, ToolResultItem>();
  for (const item of task.output)
    if (item.type === "tool_result" && item.status !== "in_progress")
      results.set(item.call_id, item);
  let round = 0;
  let isRoundOpen = false;
  for (const item of task.output) {
    if (item.type === "tool_result") isRoundOpen = false;
    if (item.type !== "tool_call" || item.status === "in_progress") continue;
    if (!isRoundOpen) round += 1;
    isRoundOpen = true;
    const result = results.get(item.call_id);
    const outcome =
      item.outcome ?? (result === undefined ? "in_progress" : (result.outcome ?? "completed"));
    const child = findChildTask(tree, task, item.call_id);
    yield { task, call: item, result, outcome, child, round };
    if (child !== undefined) yield* iterateCalls(tree, child);
  }
}

/** The executions and approvals of a call. */
interface CallHistory {
  readonly executions: ToolExecution[];
  /** Resolved or expired. */
  readonly approvals: TaskApproval[];
}

function buildCallRecord(
  { call, result, outcome, child, round }: TreeCall,
  { executions, approvals }: CallHistory,
): CallRecord {
  const changedArguments = approvals.map(
    ({ resolution }) => resolution && getChangedArguments(resolution),
  );
  const decisions = approvals.map(({ resolution }) => resolution?.decision ?? "expired");
  const isResultShown =
    outcome !== "denied" &&
    !approvals.some(
      ({ kind, resolution }) => kind === "result" && resolution?.decision !== "approve",
    );
  const text = result && (joinBlockTexts(result.block_list) || getLastMessageText(child));
  const lastExecution = executions.findLast((execution) => execution.outcome !== undefined);
  const times = executions.flatMap(({ duration_ms = [] }) => duration_ms);
  const failure =
    lastExecution?.error === undefined
      ? undefined
      : { code: lastExecution.outcome ?? "failed", message: lastExecution.error };
  // The error of a sub-agent is shown even if its last message was rejected.
  const error = child === undefined ? (isResultShown ? failure : undefined) : toCallError(child);
  const usage = child?.tree_usage ?? child?.usage;
  return {
    call_id: call.call_id,
    round,
    name: call.name,
    arguments: call.arguments,
    ...optionalField(
      "changed_arguments",
      changedArguments.findLast((args) => args !== undefined),
    ),
    outcome,
    ...optionalField(
      "result",
      isResultShown && text !== undefined ? truncateResult(text) : undefined,
    ),
    ...optionalField("started_at", executions[0]?.started_at),
    ...optionalField("duration_ms", times.length === 0 ? undefined : sumExecutionMs(times, child)),
    ...optionalField("decisions", decisions.length === 0 ? undefined : decisions),
    ...optionalField("error", error),
    ...optionalField("usage", usage === undefined || usage.total_tokens === 0 ? undefined : usage),
  };
}

function sumExecutionMs(times: readonly number[], child: TaskState | undefined): number {
  const { waited_ms = 0 } = child ?? {};
  return times.reduce((sum, ms) => sum + Math.max(0, ms - waited_ms), 0);
}

function optionalField<Name extends keyof CallRecord>(
  name: Name,
  value: CallRecord[Name] | undefined,
): Partial<CallRecord> {
  return value === undefined ? {} : { [name]: value };
}

/** Returns the text of the last message of a sub-agent, which is its result. */
function getLastMessageText(child: TaskState | undefined): string | undefined {
  const message = child?.output.findLast((item) => item.type === "message");
  return child && joinBlockTexts(message?.block_list ?? []);
}

function joinBlockTexts(blocks: readonly (Block | OutputItem)[]): string {
  const texts = blocks.map((block) => {
    if (block.type === "text") return block.text;
    return block.type === "data" ? JSON.stringify(block.data) : "";
  });
  return texts.filter((text) => text !== "").join("\n");
}

function truncateResult(text: string): string {
  if (text.length <= maxResultLength) return text;
  return `${trimSplitSurrogates(text.slice(0, maxResultLength - 1))}…`;
}
