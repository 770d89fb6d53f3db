import { isDeepStrictEqual } from "node:util";
import {
  emptyTree,
  reduce,
  buildTaskView,
  snapshotToTree,
  validateLog,
  type Approval,
  type LogRow,
  type OutputItem,
  type TaskEvent,
  type TaskTree,
  type TaskView,
} from "@deltawire/tasks";
import { calls, effects, secret, toolNames } from "./agents.ts";
import type { FinalState, RunResult } from "./run-once.ts";

/** Returns what is wrong with a run, compared with a run without a kill. */
export function judgeRun(
  { faults, finalState, killedAt }: RunResult,
  baseline: FinalState,
): string[] {
  if (finalState === undefined) return [...faults];
  const { log, resumedTree, freshTree, view, receivedEvents, taskIds, taskId, rows } = finalState;
  const brokenRule = validateLog(log, { complete: true });
  if (brokenRule !== undefined)
    return [...faults, `the log is broken at ${brokenRule.sequence_number}: ${brokenRule.message}`];
  const tree = reduce(emptyTree, log);
  if (view.status !== "completed")
    return [...faults, `the task ended ${view.status}: ${view.error?.message ?? ""}`];
  return [
    ...faults,
    ...(killedAt.length < 2 && receivedEvents.some(({ type }) => type === "task.snapshot")
      ? ["the client received a snapshot instead of the events after its last one"]
      : []),
    ...(isDeepStrictEqual(taskIds, [taskId])
      ? []
      : [`the server lists the tasks ${taskIds.join(", ")}`]),
    ...findStateDifferences(tree, {
      "the client that resumed": resumedTree,
      "a new client": freshTree,
    }),
    ...(isDeepStrictEqual(view, toJson(buildTaskView(tree)))
      ? []
      : ["GET returns another state than the log"]),
    ...findLost(finalState, tree),
    ...findDeniedContent(view, log, rows),
    ...findWrongRunCounts(finalState, tree),
    ...findUnneededQuestions(log, tree),
    ...findOutputDifferences(tree, reduce(emptyTree, baseline.log)),
  ];
}

function findStateDifferences(logTree: TaskTree, clientTrees: Record<string, TaskTree>): string[] {
  return Object.entries(clientTrees).flatMap(([client, clientTree]) =>
    isDeepStrictEqual(toJson(clientTree), toJson(logTree))
      ? []
      : [`${client} has another state than the log`],
  );
}

/** Returns what a client received that is not stored. */
function findLost(
  { receivedEvents, log, acknowledgedDecisions, canceledTaskIds, freshTree }: FinalState,
  tree: TaskTree,
): string[] {
  const faults: string[] = [];
  const unreleasedIds = listUnreleased(tree);
  let lastNumber = -1;
  for (const event of receivedEvents) {
    if (event.type === "task.snapshot") {
      const savedState = reduce(emptyTree, log.slice(0, event.as_of + 1));
      if (
        !isDeepStrictEqual(
          toJson(removeUnreleased(snapshotToTree(event), unreleasedIds)),
          toJson(savedState),
        )
      )
        faults.push(`the snapshot of ${event.as_of} does not match the log`);
      lastNumber = event.as_of;
      continue;
    }
    const { type, sequence_number: number, coalesced_from } = event;
    if (
      coalesced_from === undefined &&
      !isDeepStrictEqual(log[number], toStoredEvent(event, unreleasedIds))
    )
      faults.push(`${type} ${number} was sent but is not in the log`);
    if ((coalesced_from ?? number) !== lastNumber + 1)
      faults.push(`${type} ${number} was sent after ${lastNumber}`);
    lastNumber = number;
  }
  const lostDecisions = acknowledgedDecisions.filter(({ approval_id, decision }) => {
    const approval = freshTree.approvals.find((candidate) => candidate.approval_id === approval_id);
    return approval?.resolution?.decision !== decision;
  });
  for (const { approval_id } of lostDecisions)
    faults.push(`the decision of ${approval_id} was acknowledged but is lost`);
  for (const id of canceledTaskIds)
    if (freshTree.tasks[id]?.status !== "canceled")
      faults.push(`the cancellation of ${id} was acknowledged but is lost`);
  return faults;
}

/** Returns the ids of approvals whose held results were not released. Their blocks are no longer stored. */
function listUnreleased({ approvals }: TaskTree): ReadonlySet<string> {
  return new Set(
    approvals
      .filter(
        ({ status, resolution }) => status === "expired" || resolution?.decision !== "approve",
      )
      .map(({ approval_id }) => approval_id),
  );
}

/** Returns an event as it is stored now. A client may have received it before its content was denied. */
function toStoredEvent(event: TaskEvent, unreleasedIds: ReadonlySet<string>): TaskEvent {
  if (event.type !== "task.approval.requested") return event;
  return { ...event, approval: removeUnreleasedBlocks(event.approval, unreleasedIds) };
}

function removeUnreleased(tree: TaskTree, unreleasedIds: ReadonlySet<string>): TaskTree {
  return {
    ...tree,
    approvals: tree.approvals.map((approval) => removeUnreleasedBlocks(approval, unreleasedIds)),
  };
}

function removeUnreleasedBlocks<One extends Approval>(
  approval: One,
  unreleasedIds: ReadonlySet<string>,
): One {
  if (!unreleasedIds.has(approval.approval_id)) return approval;
  const { block_list: _held, ...rest } = approval;
  return rest as One;
}

/** Returns where denied content is still sent or stored. */
function findDeniedContent(
  view: TaskView,
  log: readonly TaskEvent[],
  rows: readonly LogRow[],
): string[] {
  const locations = [
    ...(JSON.stringify(view).includes(secret) ? ["the reply of GET"] : []),
    ...log
      .filter((event) => JSON.stringify(event).includes(secret))
      .map(({ sequence_number: number, type }) => `${type} ${number}`),
    ...rows
      .filter(({ json: text, private: privateText = "" }) => (text + privateText).includes(secret))
      .map(({ sequence_number: number }) => `row ${number} of the store`),
  ];
  return locations.map((location) => `denied content is still in ${location}`);
}

/** Returns which tools ran too often or too rarely, by the counts of the separate process. */
function findWrongRunCounts({ counts, scenario }: FinalState, tree: TaskTree): string[] {
  const executions = Object.values(tree.tasks).flatMap((task) => task.executions);
  const reconciledCalls = findReconciledCalls(tree);
  return toolNames.flatMap((tool) => {
    const keys = Object.entries(counts[tool] ?? {});
    const faults: string[] = [];
    const unknownOutcomes = [...reconciledCalls.values()].filter((name) => name === tool).length;
    const expectedRuns = scenario === "helper canceled" && tool === "send" ? 0 : calls[tool];
    if (keys.length > expectedRuns) faults.push(`${tool} ran under ${keys.length} keys`);
    if (keys.length < expectedRuns - unknownOutcomes)
      faults.push(`${tool} ran only ${keys.length} times`);
    for (const [key, times] of keys) {
      if (effects[tool] === "once" && times > 1) faults.push(`${tool} ran ${times} times`);
      if (!executions.some(({ idempotency_key: executionKey }) => executionKey === key))
        faults.push(`${tool} ran, but the run is not in the log`);
    }
    return faults;
  });
}

/** Checks that the user is asked about exactly the executions with unknown outcome. */
function findUnneededQuestions(log: readonly TaskEvent[], tree: TaskTree): string[] {
  const unknownCallIds = new Set<string>();
  const onceCallIds = new Set<string>();
  for (const event of log) {
    if (event.type === "task.tool_execution.started" && event.effect === "once")
      onceCallIds.add(event.call_id);
    if (
      event.type === "task.tool_execution.done" &&
      event.outcome === "unknown" &&
      onceCallIds.has(event.call_id)
    )
      unknownCallIds.add(event.call_id);
  }
  const reconciledCalls = new Set(findReconciledCalls(tree).keys());
  return isDeepStrictEqual(reconciledCalls, unknownCallIds)
    ? []
    : [
        `the user was asked about ${reconciledCalls.size} calls, but ${unknownCallIds.size} have an unknown outcome`,
      ];
}

/** Returns the calls whose outcome the user had to report, with their tools. */
function findReconciledCalls({ approvals }: TaskTree): Map<string, string> {
  return new Map(
    approvals
      .filter(({ kind }) => kind === "reconcile")
      .map(({ call_id = "", tool = "" }) => [call_id, tool]),
  );
}

function findOutputDifferences(tree: TaskTree, baseline: TaskTree): string[] {
  const unknownOutcomes = new Set(findReconciledCalls(tree).keys());
  const [actual, expected] = [buildTaskView(tree), buildTaskView(baseline)];
  const faults: string[] = [];
  compare(actual.output, expected.output, "output");
  if (
    !isDeepStrictEqual(
      removeIdsAndDurations(actual.references),
      removeIdsAndDurations(expected.references),
    )
  )
    faults.push("the references differ from the run without a kill");
  return faults;

  function compare(items: readonly object[], others: readonly object[], path: string): void {
    if (items.length !== others.length)
      return void faults.push(
        `${path} has ${items.length} parts; without a kill it has ${others.length}`,
      );
    for (const [index, item] of items.entries()) {
      const { block_list = [], ...own } = item as Partial<
        Extract<OutputItem, { call_id: string }>
      > & { block_list?: object[] };
      const { block_list: blocks = [], ...other } = others[index] as typeof own & {
        block_list?: object[];
      };
      const itemPath = `${path}[${index}]`;
      // Only the position of a call with unknown outcome is known.
      if (own.call_id !== undefined && unknownOutcomes.has(own.call_id)) continue;
      if (!isDeepStrictEqual(removeIdsAndDurations(own), removeIdsAndDurations(other)))
        faults.push(`${itemPath} differs from the run without a kill`);
      compare(block_list, blocks, itemPath);
    }
  }
}

/** Removes ids and durations, which differ between runs. Keeps numeric ids, which are citation numbers. */
function removeIdsAndDurations(value: unknown): unknown {
  const ids = ["id", "call_id", "item_id", "task_id", "child_task_ids"];
  const differsBetweenRuns = (key: string, value: unknown): boolean =>
    key === "duration_ms" || (ids.includes(key) && typeof value !== "number");
  return JSON.parse(
    JSON.stringify(value, (key, value: unknown) =>
      differsBetweenRuns(key, value) ? undefined : value,
    ),
  );
}

function toJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
