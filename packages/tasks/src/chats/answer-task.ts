import { protocolVersion } from "../events.ts";
import type { TaskInfo, TaskStatus } from "../items.ts";
import type { TaskApproval, TaskState, TaskTree } from "../state.ts";
import { noUsage } from "../usage.ts";
import type {
  AnswerError,
  AnswerPhase,
  AnswerStatus,
  AnswerTask,
  AnswerVersion,
} from "./shapes.ts";

/** What a chat stores of a task, while it runs and once it has ended. */
export function answerTask(tree: TaskTree): AnswerTask {
  const { usage, tree_usage, round, output, inputs, executions, ...root } = rootTask(tree);
  const { [tree.root_task_id]: _root, ...child_tasks } = tree.tasks;
  const { references, approvals } = tree;
  const child_references = references.filter(({ task_id }) => task_id !== tree.root_task_id);
  return {
    output,
    references: references
      .filter(({ task_id }) => task_id === tree.root_task_id)
      .map(({ task_id: _own, ...reference }) => reference),
    ...(child_references.length === 0 ? {} : { child_references }),
    ...(Object.keys(child_tasks).length === 0 ? {} : { child_tasks }),
    ...(approvals.length === 0 ? {} : { approvals: approvals.map(storedApproval) }),
    ...(executions.length === 0 ? {} : { executions }),
    ...(inputs.length === 0 ? {} : { inputs }),
    ...(root.warnings === undefined ? {} : { warnings: root.warnings }),
    usage,
    ...(tree_usage === undefined ? {} : { tree_usage }),
    round,
    ...(root.model_ms === undefined ? {} : { model_ms: root.model_ms }),
    ...(root.waited_ms === undefined ? {} : { waited_ms: root.waited_ms }),
  };
}

/** A result that was released stands in the output. */
function storedApproval(approval: TaskApproval): TaskApproval {
  return approval.status === "pending" ? approval : withoutBlocks(approval);
}

export function withoutBlocks(approval: TaskApproval): TaskApproval {
  const { block_list: _held, ...rest } = approval;
  return rest;
}

/** The task of an answer, in the shape in which a task that runs is followed. The same object for the same version. */
export function answerTree(version: AnswerVersion): TaskTree {
  const known = trees.get(version);
  if (known !== undefined) return known;
  const { task_id = version.version_id, child_references = [], child_tasks } = version;
  const root = rootOf(version, task_id);
  const tree: TaskTree = {
    root_task_id: task_id,
    head: -1,
    tasks: { ...(child_tasks && validChildren(root, child_tasks)), [task_id]: root },
    references: [
      ...version.references.map((reference) => ({ ...reference, task_id })),
      ...child_references,
    ],
    approvals: version.approvals ?? [],
  };
  trees.set(version, tree);
  return tree;
}

const trees = new WeakMap<AnswerVersion, TaskTree>();

/** The configuration allows fewer levels of sub-agents. */
const maxDepth = 100;

/**
 * Without the tasks that more than one call refers to, or that are nested too deeply: an imported file can contain anything, and
 * if every call of a task named the same sub-agent, at each level, the calls to read would grow exponentially.
 */
function validChildren(
  root: TaskState,
  childTasks: Readonly<Record<string, TaskState>>,
): Record<string, TaskState> {
  const parents = new Map([...Object.values(childTasks), root].map((task) => [task.task_id, task]));
  const repeated = new Map([...parents].map(([id, task]) => [id, repeatedCalls(task)]));
  return Object.fromEntries(
    Object.entries(childTasks).filter(([id, { task_id, info }]) => {
      const { parent_task_id: parent = "", depth } = info;
      return (
        id === task_id &&
        id !== root.task_id &&
        depth <= maxDepth &&
        depth > (parents.get(parent)?.info.depth ?? 0) &&
        repeated.get(parent)?.has(id) !== true
      );
    }),
  );
}

/** The ids that more than one call or more than one result has. */
function repeatedCalls({ output }: TaskState): ReadonlySet<string> {
  const seen = { tool_call: new Set<string>(), tool_result: new Set<string>() };
  const repeated = new Set<string>();
  for (const item of output) {
    if (item.type !== "tool_call" && item.type !== "tool_result") continue;
    if (seen[item.type].has(item.call_id)) repeated.add(item.call_id);
    seen[item.type].add(item.call_id);
  }
  return repeated;
}

function rootOf(version: AnswerVersion, task_id: string): TaskState {
  const { output, usage, tree_usage, round, inputs, executions, error, status } = version;
  const { warnings, model_ms, waited_ms } = version;
  return {
    task_id,
    info: answerTaskInfo(version),
    status: taskStatuses[status],
    output,
    usage: usage ?? noUsage,
    ...(tree_usage === undefined ? {} : { tree_usage }),
    round: round ?? 0,
    round_done: true,
    round_started_at_index: 0,
    epoch: 0,
    executions: executions ?? [],
    inputs: inputs ?? [],
    ...(warnings === undefined ? {} : { warnings }),
    ...(model_ms === undefined ? {} : { model_ms }),
    ...(waited_ms === undefined ? {} : { waited_ms }),
    ...(status === "error" && error !== undefined
      ? { error: { code: error.code, message: error.message, retryable: false } }
      : {}),
    ...(status === "timeout" && error !== undefined ? { ended: { reason: error.message } } : {}),
  };
}

/** What an answer knows of the beginning of its task. */
export function answerTaskInfo({
  task_id,
  version_id,
  agent = "",
  model = "",
  created_at,
}: AnswerVersion): TaskInfo {
  return {
    root_task_id: task_id ?? version_id,
    attempt: 1,
    depth: 0,
    agent,
    model,
    status: "created",
    limits: {},
    created_at,
    protocol_version: protocolVersion,
  };
}

const taskStatuses: Readonly<Record<AnswerStatus, TaskStatus>> = {
  running: "working",
  completed: "completed",
  aborted: "canceled",
  error: "failed",
  timeout: "expired",
};

export function answerStatus(status: TaskStatus): AnswerStatus {
  return answerStatuses[status] ?? "running";
}

const answerStatuses: Partial<Record<TaskStatus, AnswerStatus>> = {
  completed: "completed",
  canceled: "aborted",
  failed: "error",
  expired: "timeout",
};

/** Why an answer did not come to its own end. A person who stops an answer knows why. */
export function answerError(tree: TaskTree): AnswerError | undefined {
  const root = rootTask(tree);
  const { status, error, ended } = root;
  if (status === "failed")
    return {
      phase: phaseOf(tree, root),
      code: error?.code ?? "failed",
      message: error?.message ?? "the task failed",
    };
  if (status === "expired")
    return {
      phase: phaseOf(tree, root),
      code: "timeout",
      message: ended?.reason ?? "the time was up",
    };
  const abort = tree.approvals.find(({ resolution }) => resolution?.decision === "abort");
  if (status !== "canceled" || abort === undefined) return undefined;
  const message = abort.resolution?.reason ?? "it was ended instead of approved";
  return { phase: "approval", code: "aborted", message };
}

function rootTask(tree: TaskTree): TaskState {
  const root = tree.tasks[tree.root_task_id];
  if (root === undefined) throw new TypeError("a task without a beginning has no answer");
  return root;
}

/** What was under way when a task ended: the end of a task closes all of it, each in its own way. */
function phaseOf(tree: TaskTree, task: TaskState): AnswerPhase {
  if (!task.round_done) return "model";
  const child = Object.values(tree.tasks).findLast(
    ({ info, status, task_id }) =>
      info.parent_task_id === task.task_id &&
      info.depth > task.info.depth &&
      (status === "canceled" || status === "expired") &&
      isLast(task, task_id),
  );
  if (child !== undefined) return phaseOf(tree, child);
  if (task.executions.some(({ outcome }) => outcome === "unknown")) return "tool";
  const waited = tree.approvals.some(
    ({ task_id, status }) => task_id === task.task_id && status === "expired",
  );
  return waited ? "approval" : "tool";
}

/** Whether nothing came of a call any more: the model has said nothing behind its result. */
function isLast({ output }: TaskState, callId: string): boolean {
  const result = output.findIndex((item) => item.type === "tool_result" && item.call_id === callId);
  return result === -1 || output.slice(result + 1).every(({ type }) => type === "tool_result");
}
