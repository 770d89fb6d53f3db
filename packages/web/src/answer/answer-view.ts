import type { TaskTree, TaskWarning } from "@deltawire/tasks";
import {
  answerError,
  answerStatus,
  answerTree,
  chainWarnings,
  type AnswerError,
  type AnswerStatus,
  type AnswerVersion,
} from "@deltawire/tasks/chats";
import { isSame } from "../same.ts";
import { taskParts } from "./task-parts.ts";
import { timelineOf } from "./timeline-of.ts";
import { stepsIn, type TimelineView } from "./timeline-view.ts";

/** An answer as it is drawn. */
export interface AnswerView {
  readonly status: AnswerStatus;
  readonly timeline: TimelineView;
  /** The numbers that its messages cite and that something has, here or in an earlier answer, in order: once it has ended. */
  readonly cited: readonly number[];
  readonly error: AnswerError | undefined;
  readonly notices: readonly string[];
  readonly warnings: readonly TaskWarning[];
}

/** `tree` is the task of the answer, as it is followed or stored. What has not changed since `before` is the same object. */
export function answerView(
  version: AnswerVersion,
  tree: TaskTree = answerTree(version),
  before?: AnswerView,
): AnswerView {
  const root = tree.tasks[tree.root_task_id];
  if (root === undefined) throw new TypeError("the task of an answer has a root");
  const timeline = timelineOf(taskParts(tree, root), before?.timeline);
  const cited = timeline.isRunning ? none : citedIn(timeline);
  const warnings = timeline.isRunning ? none : chainWarnings(tree);
  return {
    status: answerStatus(root.status),
    timeline,
    cited: before !== undefined && isSame(before.cited, cited) ? before.cited : cited,
    error: version.error ?? answerError(tree),
    notices: version.notices,
    warnings,
  };
}

const none: readonly never[] = [];

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
