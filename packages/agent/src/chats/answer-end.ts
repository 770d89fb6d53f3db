import {
  taskView,
  type TaskInput,
  type TaskState,
  type TaskStatus,
  type TaskTree,
} from "@deltawire/tasks";
import type {
  AnswerEnd,
  AnswerError,
  AnswerPhase,
  AnswerVersion,
  ChainRecord,
} from "@deltawire/tasks/chats";

/** What a task that has ended leaves in its chat. What it finished is kept, however it ended. */
export function answerEnd(tree: TaskTree, chain: ChainRecord, timeMs: number): AnswerEnd {
  const root = rootOf(tree);
  const { tree_usage } = root;
  const error = errorOf(tree, root);
  return {
    status: statuses[root.status] ?? "error",
    ...answerOf(tree),
    ...(error === undefined ? {} : { error }),
    usage: root.usage,
    ...(tree_usage === undefined ? {} : { tree_usage }),
    time_ms: timeMs,
    chain,
  };
}

/** What there is of an answer so far. */
export function answerOf(
  tree: TaskTree,
): Pick<AnswerVersion, "output" | "references" | "child_references" | "inputs"> {
  const { output, references } = taskView(tree);
  const below = tree.references.filter(({ task_id }) => task_id !== tree.root_task_id);
  const inputs = inputsOf(rootOf(tree));
  return {
    output,
    references,
    ...(below.length === 0 ? {} : { child_references: below }),
    ...(inputs.length === 0 ? {} : { inputs }),
  };
}

/** What was taken back has a place in the task and none in the answer. */
function inputsOf({ inputs, output }: TaskState): readonly TaskInput[] {
  return inputs.map((input) => {
    if (input.taken_at === undefined) return input;
    const before = output.slice(0, input.taken_at);
    return { ...input, taken_at: before.filter(({ type }) => type !== "retracted").length };
  });
}

const statuses: Partial<Record<TaskStatus, AnswerEnd["status"]>> = {
  completed: "completed",
  canceled: "aborted",
  failed: "error",
  expired: "timeout",
};

function rootOf(tree: TaskTree): TaskState {
  const root = tree.tasks[tree.root_task_id];
  if (root === undefined) throw new TypeError("a task without a beginning has no answer");
  return root;
}

/** A person who stops an answer knows why. */
function errorOf(tree: TaskTree, root: TaskState): AnswerError | undefined {
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

/** What was under way when a task ended: the end of a task closes all of it, each in its own way. */
function phaseOf(tree: TaskTree, task: TaskState): AnswerPhase {
  if (!task.round_done) return "model";
  const child = Object.values(tree.tasks).findLast(
    ({ info, status, task_id }) =>
      info.parent_task_id === task.task_id &&
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
