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
} from "./chat-types.ts";

/** Returns the part of a task tree that a chat stores, while the task runs and after it has ended. */
export function toAnswerTask(tree: TaskTree): AnswerTask {
  const { usage, tree_usage, round, output, inputs, executions, ...root } = getRootTask(tree);
  const { [tree.root_task_id]: _root, ...child_tasks } = tree.tasks;
  const { references, approvals } = tree;
  const child_references = references.filter(({ task_id }) => task_id !== tree.root_task_id);
  return {
    output,
    references: references
      .filter(({ task_id }) => task_id === tree.root_task_id)
      .map(({ task_id: _taskId, ...reference }) => reference),
    ...(child_references.length === 0 ? {} : { child_references }),
    ...(Object.keys(child_tasks).length === 0 ? {} : { child_tasks }),
    ...(approvals.length === 0 ? {} : { approvals: approvals.map(toStoredApproval) }),
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

/** Omits the blocks of a resolved approval, because a released result is part of the output. */
function toStoredApproval(approval: TaskApproval): TaskApproval {
  return approval.status === "pending" ? approval : omitBlocks(approval);
}

export function omitBlocks(approval: TaskApproval): TaskApproval {
  const { block_list: _blocks, ...rest } = approval;
  return rest;
}

/** Returns the stored task of an answer as a task tree, so that it can be shown like a running task. Cached by version. */
export function toAnswerTree(version: AnswerVersion): TaskTree {
  const cachedTree = treeCache.get(version);
  if (cachedTree !== undefined) return cachedTree;
  const { task_id = version.version_id, child_references = [], child_tasks } = version;
  const root = buildRootTask(version, task_id);
  const tree: TaskTree = {
    root_task_id: task_id,
    head: -1,
    tasks: { ...(child_tasks && filterValidChildren(root, child_tasks)), [task_id]: root },
    references: [
      ...version.references.map((reference) => ({ ...reference, task_id })),
      ...child_references,
    ],
    approvals: version.approvals ?? [],
  };
  treeCache.set(version, tree);
  return tree;
}

const treeCache = new WeakMap<AnswerVersion, TaskTree>();

/** Maximum depth of child tasks. Higher than any configuration allows. */
const maxDepth = 100;

/**
 * Removes child tasks that several calls refer to or that are nested too deeply. An imported file can contain anything: if
 * every call at every level referred to the same sub-agent, the number of calls to read would grow exponentially.
 */
function filterValidChildren(
  root: TaskState,
  childTasks: Readonly<Record<string, TaskState>>,
): Record<string, TaskState> {
  const parents = new Map([...Object.values(childTasks), root].map((task) => [task.task_id, task]));
  const repeatedCalls = new Map([...parents].map(([id, task]) => [id, findRepeatedCalls(task)]));
  return Object.fromEntries(
    Object.entries(childTasks).filter(([id, { task_id, info }]) => {
      const { parent_task_id: parent = "", depth } = info;
      return (
        id === task_id &&
        id !== root.task_id &&
        depth <= maxDepth &&
        depth > (parents.get(parent)?.info.depth ?? 0) &&
        repeatedCalls.get(parent)?.has(id) !== true
      );
    }),
  );
}

/** Returns the call ids that occur in more than one call or in more than one result. */
function findRepeatedCalls({ output }: TaskState): ReadonlySet<string> {
  const seen = { tool_call: new Set<string>(), tool_result: new Set<string>() };
  const repeatedCalls = new Set<string>();
  for (const item of output) {
    if (item.type !== "tool_call" && item.type !== "tool_result") continue;
    if (seen[item.type].has(item.call_id)) repeatedCalls.add(item.call_id);
    seen[item.type].add(item.call_id);
  }
  return repeatedCalls;
}

function buildRootTask(version: AnswerVersion, task_id: string): TaskState {
  const { output, usage, tree_usage, round, inputs, executions, error, status } = version;
  const { warnings, model_ms, waited_ms } = version;
  return {
    task_id,
    info: toTaskInfo(version),
    status: taskStatusByAnswerStatus[status],
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

/** Rebuilds the task info from the fields that an answer stores. */
export function toTaskInfo({
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

const taskStatusByAnswerStatus: Readonly<Record<AnswerStatus, TaskStatus>> = {
  running: "working",
  completed: "completed",
  aborted: "canceled",
  error: "failed",
  timeout: "expired",
};

export function toAnswerStatus(status: TaskStatus): AnswerStatus {
  return answerStatusByTaskStatus[status] ?? "running";
}

const answerStatusByTaskStatus: Partial<Record<TaskStatus, AnswerStatus>> = {
  completed: "completed",
  canceled: "aborted",
  failed: "error",
  expired: "timeout",
};

/** Returns why an answer failed, expired or was aborted at an approval. Undefined for any other end, and while it is running. */
export function toAnswerError(tree: TaskTree): AnswerError | undefined {
  const root = getRootTask(tree);
  const { status, error, ended } = root;
  if (status === "failed")
    return {
      phase: findFailurePhase(tree, root),
      code: error?.code ?? "failed",
      message: error?.message ?? "the task failed",
    };
  if (status === "expired")
    return {
      phase: findFailurePhase(tree, root),
      code: "timeout",
      message: ended?.reason ?? "the time limit was reached",
    };
  const abort = tree.approvals.find(({ resolution }) => resolution?.decision === "abort");
  if (status !== "canceled" || abort === undefined) return undefined;
  const message = abort.resolution?.reason ?? "the task was aborted instead of approved";
  return { phase: "approval", code: "aborted", message };
}

function getRootTask(tree: TaskTree): TaskState {
  const root = tree.tasks[tree.root_task_id];
  if (root === undefined) throw new TypeError("the root task has no task.created event");
  return root;
}

/** Returns what was in progress when the task ended, derived from its last round, its executions and its approvals. */
function findFailurePhase(tree: TaskTree, task: TaskState): AnswerPhase {
  if (!task.round_done) return "model";
  const child = Object.values(tree.tasks).findLast(
    ({ info, status, task_id }) =>
      info.parent_task_id === task.task_id &&
      info.depth > task.info.depth &&
      (status === "canceled" || status === "expired") &&
      isLastCall(task, task_id),
  );
  if (child !== undefined) return findFailurePhase(tree, child);
  if (task.executions.some(({ outcome }) => outcome === "unknown")) return "tool";
  const hasExpiredApproval = tree.approvals.some(
    ({ task_id, status }) => task_id === task.task_id && status === "expired",
  );
  return hasExpiredApproval ? "approval" : "tool";
}

/** True if the model wrote nothing after the result of the call. */
function isLastCall({ output }: TaskState, callId: string): boolean {
  const resultIndex = output.findIndex(
    (item) => item.type === "tool_result" && item.call_id === callId,
  );
  return (
    resultIndex === -1 || output.slice(resultIndex + 1).every(({ type }) => type === "tool_result")
  );
}
