import type { TaskTree, TaskWarning } from "@deltawire/tasks";
import {
  toAnswerError,
  toAnswerStatus,
  toAnswerTree,
  mergeWarnings,
  type AnswerError,
  type AnswerStatus,
  type AnswerVersion,
} from "@deltawire/tasks/chats";
import { shallowEqual } from "../shallow-equal.ts";
import { toTimelineInput } from "./timeline-input.ts";
import { buildTimeline } from "./build-timeline.ts";
import { getTimelineSteps, type TimelineViewModel } from "./timeline-view-model.ts";

/** Everything that an answer displays. */
export interface AnswerViewModel {
  readonly status: AnswerStatus;
  readonly timeline: TimelineViewModel;
  /** The resolved citation numbers in the messages, ascending. Empty while the answer runs. */
  readonly citedNumbers: readonly number[];
  readonly error: AnswerError | undefined;
  readonly notices: readonly string[];
  readonly warnings: readonly TaskWarning[];
}

/** Builds the view model from the live or stored task of an answer. Parts that equal those of `previous` are reused. */
export function buildAnswerViewModel(
  version: AnswerVersion,
  tree: TaskTree = toAnswerTree(version),
  previous?: AnswerViewModel,
): AnswerViewModel {
  const root = tree.tasks[tree.root_task_id];
  if (root === undefined) throw new TypeError("the task tree has no root task");
  const timeline = buildTimeline(toTimelineInput(tree, root), previous?.timeline);
  const citedNumbers = timeline.isRunning ? emptyList : collectCitedNumbers(timeline);
  const warnings = timeline.isRunning ? emptyList : mergeWarnings(tree);
  return {
    status: toAnswerStatus(root.status),
    timeline,
    citedNumbers:
      previous !== undefined && shallowEqual(previous.citedNumbers, citedNumbers)
        ? previous.citedNumbers
        : citedNumbers,
    error: version.error ?? toAnswerError(tree),
    notices: version.notices,
    warnings,
  };
}

const emptyList: readonly never[] = [];

function collectCitedNumbers(timeline: TimelineViewModel): number[] {
  const numbers = new Set<number>();
  for (const step of getTimelineSteps(timeline)) {
    if (step.type !== "message") continue;
    for (const block of step.item.block_list)
      for (const { type, reference_id } of block.type === "text"
        ? (block.annotations ?? emptyList)
        : emptyList)
        if (type === "reference_to_block") numbers.add(reference_id);
  }
  return [...numbers].toSorted((a, b) => a - b);
}
