import type { TaskState, TaskTree } from "@deltawire/tasks";
import type {
  AnswerError,
  AnswerStatus,
  AnswerVersion,
  ChainWarning,
} from "@deltawire/tasks/chats";
import { isSame } from "../same.ts";
import { failureOf, keptParts, liveParts } from "./task-parts.ts";
import { timelineOf } from "./timeline-of.ts";
import { stepsIn, type TimelineView } from "./timeline-view.ts";

/** An answer as it is drawn: the same while its task runs and when the chat has kept it. */
export interface AnswerView {
  readonly status: AnswerStatus;
  readonly timeline: TimelineView;
  /** The numbers that its messages cite and that something has, here or in an earlier answer, in order: once it has ended. */
  readonly cited: readonly number[];
  /** Where a failure came from is known when the chat has it. */
  readonly error:
    | (Omit<AnswerError, "phase"> & { readonly phase?: AnswerError["phase"] })
    | undefined;
  readonly notices: readonly string[];
  readonly warnings: readonly ChainWarning[];
}

/** From the task of an answer that runs. What has not changed since `before` is the same object. */
export function liveAnswer(
  tree: TaskTree,
  version: AnswerVersion,
  before?: AnswerView,
): AnswerView {
  const root = Object.hasOwn(tree.tasks, tree.root_task_id)
    ? tree.tasks[tree.root_task_id]
    : undefined;
  if (root === undefined) return keptAnswer(version, before);
  const view = answerOf(version, timelineOf(liveParts(tree, root), before?.timeline), before);
  return {
    ...view,
    status: statuses[root.status] ?? "running",
    error: view.error ?? failureOf(root),
  };
}

/** From what the chat has. */
export function keptAnswer(version: AnswerVersion, before?: AnswerView): AnswerView {
  return answerOf(version, timelineOf(keptParts(version), before?.timeline), before);
}

function answerOf(version: AnswerVersion, timeline: TimelineView, before?: AnswerView): AnswerView {
  const { status, error, notices, chain } = version;
  const cited = timeline.isRunning ? none : citedIn(timeline);
  return {
    status,
    timeline,
    cited: before !== undefined && isSame(before.cited, cited) ? before.cited : cited,
    error,
    notices,
    warnings: chain?.warnings ?? none,
  };
}

const none: readonly never[] = [];

const statuses: Partial<Record<TaskState["status"], AnswerStatus>> = {
  completed: "completed",
  canceled: "aborted",
  failed: "error",
  expired: "timeout",
};

function citedIn(timeline: TimelineView): number[] {
  const numbers = new Set<number>();
  for (const step of stepsIn(timeline)) {
    if (step.is !== "message") continue;
    for (const block of step.item.block_list)
      for (const { type, reference_id } of block.type === "text"
        ? (block.annotations ?? none)
        : none)
        if (type === "reference_to_block") numbers.add(reference_id);
  }
  return [...numbers].toSorted((one, other) => one - other);
}
