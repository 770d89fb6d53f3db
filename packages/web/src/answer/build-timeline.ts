import type { Block, TaskInput, ToolCallItem, ToolResultItem } from "@deltawire/tasks";
import { memoizeByObject } from "../memoize.ts";
import { shallowEqual } from "../shallow-equal.ts";
import { formatArguments } from "../text/reveal-invisible.ts";
import { resolveSources, type Sources } from "./sources.ts";
import type { CallExecutionSummary, TimelineInput } from "./timeline-input.ts";
import {
  getTimelineCalls,
  collectCalls,
  isCallUnfinished,
  isFailedOutcome,
  type CallState,
  type CallViewModel,
  type StepViewModel,
  type TimelineViewModel,
} from "./timeline-view-model.ts";

/** Small enough that rerendering one chunk is cheap, large enough that a thousand items are few chunks. */
const chunkSize = 16;

type StepChunks = TimelineViewModel["stepChunks"];

/** What a view model was built from, stored for the next build. */
interface BuildState {
  readonly input: TimelineInput;
  readonly settled: SettledPrefix;
}

const buildStates = new WeakMap<TimelineViewModel, BuildState>();

/** Builds incrementally: settled steps are reused from `previous`, so a delta only rebuilds the steps after them. */
export function buildTimeline(
  timelineInput: TimelineInput,
  previous?: TimelineViewModel,
): TimelineViewModel {
  const previousState = previous && buildStates.get(previous);
  const isContextUnchanged =
    previousState !== undefined && hasSameContext(previousState.input, timelineInput);
  const settledPrefix = isContextUnchanged
    ? reuseSettledPrefix(previousState, timelineInput)
    : emptyPrefix;
  const previousSteps =
    previous === undefined ? [] : getStepsAfter(previous.stepChunks, settledPrefix.stepCount);
  const { steps, settled } = buildSteps(timelineInput, {
    settledPrefix,
    previousSteps,
    isContextUnchanged,
  });
  const calls = collectCalls(steps);
  const stepChunks = toStepChunks(steps, settledPrefix.stepCount, previous?.stepChunks ?? []);
  const callApprovals = new Set(calls.flatMap(({ pendingApprovals }) => pendingApprovals));
  const childApprovals = calls.flatMap(({ child }) => child?.timeline.pendingApprovals ?? []);
  const hasSameSources =
    previous !== undefined &&
    shallowEqual(previousState?.input.references, timelineInput.references) &&
    shallowEqual(collectCitableResults(collectCalls(previousSteps)), collectCitableResults(calls));
  const view: TimelineViewModel = {
    taskId: timelineInput.taskId,
    isRunning: timelineInput.isRunning,
    isAwaitingModel:
      timelineInput.isRunning &&
      timelineInput.pendingApprovals.length === 0 &&
      looksIdle(steps.at(-1), calls),
    stepChunks: reuseEqualList(previous?.stepChunks, stepChunks),
    sources: hasSameSources
      ? previous.sources
      : resolveSources(timelineInput.references, getTimelineCalls({ stepChunks })),
    taskApprovals: reuseEqualList(
      previous?.taskApprovals,
      timelineInput.pendingApprovals.filter((approval) => !callApprovals.has(approval)),
    ),
    pendingApprovals: reuseEqualList(previous?.pendingApprovals, [
      ...timelineInput.pendingApprovals,
      ...childApprovals,
    ]),
  };
  const stable = previous !== undefined && shallowEqual(previous, view) ? previous : view;
  buildStates.set(stable, { input: timelineInput, settled });
  return stable;
}

/** True if neither the timeline nor any sub-agent's timeline in it can still change. */
function isFinal(timeline: TimelineViewModel): boolean {
  const previousState = buildStates.get(timeline);
  return (
    previousState !== undefined &&
    !previousState.input.isRunning &&
    previousState.settled.itemCount === previousState.input.output.length
  );
}

/** True if only items may have changed. Any other change, for example of an approval, may affect any step. */
function hasSameContext(previous: TimelineInput, current: TimelineInput): boolean {
  return (
    previous.isRunning === current.isRunning &&
    previous.inputs === current.inputs &&
    previous.pendingApprovals === current.pendingApprovals
  );
}

function reuseSettledPrefix(
  { input: { output }, settled }: BuildState,
  current: TimelineInput,
): SettledPrefix {
  if (output === current.output) return settled;
  for (let index = 0; index < settled.itemCount; index += 1)
    if (output[index] !== current.output[index]) return emptyPrefix;
  return settled;
}

function getStepsAfter(stepChunks: StepChunks, count: number): readonly StepViewModel[] {
  const fullChunks = Math.floor(count / chunkSize);
  return stepChunks
    .slice(fullChunks)
    .flat()
    .slice(count % chunkSize);
}

function toStepChunks(
  steps: readonly StepViewModel[],
  settledCount: number,
  previous: StepChunks,
): StepChunks {
  const fullChunks = Math.floor(settledCount / chunkSize);
  const stepChunks = previous.slice(0, fullChunks);
  const rest = [...(previous[fullChunks] ?? []).slice(0, settledCount % chunkSize), ...steps];
  for (let start = 0; start < rest.length; start += chunkSize)
    stepChunks.push(
      reuseEqualList(previous[stepChunks.length], rest.slice(start, start + chunkSize)),
    );
  return stepChunks;
}

/** Returns the blocks and sources that `resolveSources` reads from calls. Calls without a result are skipped. */
function collectCitableResults(
  calls: readonly CallViewModel[],
): (CallViewModel["blocks"] | Sources)[] {
  return calls.flatMap(({ blocks, child }) => [
    ...(blocks.length === 0 ? [] : [blocks]),
    ...(child === undefined ? [] : [child.timeline.sources]),
  ]);
}

/** True if no visible step shows activity. */
function looksIdle(lastStep: StepViewModel | undefined, calls: readonly CallViewModel[]): boolean {
  if (calls.some(({ state }) => isCallUnfinished(state))) return false;
  if (lastStep?.type === "reasoning" || lastStep?.type === "message")
    return lastStep.item.status !== "in_progress";
  return true;
}

/** The part at the start of a task that can no longer change. */
interface SettledPrefix {
  /** Number of items in `output`. */
  readonly itemCount: number;
  /** Number of steps built from these items. */
  readonly stepCount: number;
}

const emptyPrefix: SettledPrefix = { itemCount: 0, stepCount: 0 };

/** The part of the previous build that is reused. */
interface PreviousBuild {
  readonly settledPrefix: SettledPrefix;
  /** The previous steps after `settledPrefix`. */
  readonly previousSteps: readonly StepViewModel[];
  /** True if only the items have changed. */
  readonly isContextUnchanged: boolean;
}

/** Builds the steps after the settled prefix. Unchanged steps are the same objects. */
function buildSteps(
  timelineInput: TimelineInput,
  previous: PreviousBuild,
): { steps: StepViewModel[]; settled: SettledPrefix } {
  const { output, isRunning } = timelineInput;
  const { settledPrefix } = previous;
  const reusable = indexReusableViews(previous);
  const results = indexResults(timelineInput, settledPrefix.itemCount);
  const inputsByPosition = groupInputsByPosition(timelineInput.inputs);
  const steps: StepViewModel[] = [];
  let settled = settledPrefix;
  let isSettled = true;
  /** Consecutive calls, shown as one group. */
  let openCalls: CallViewModel[] = [];
  const closeCalls = () => {
    const [first] = openCalls;
    if (first !== undefined)
      steps.push(
        reuseEqualStep(reusable, { type: "calls", key: first.call.call_id, calls: openCalls }),
      );
    openCalls = [];
  };
  const settle = (itemCount: number) => {
    if (isSettled) settled = { itemCount, stepCount: settledPrefix.stepCount + steps.length };
  };
  const pushInput = ({ item, delivery, taken_at }: TaskInput) => {
    closeCalls();
    const isDelivered = taken_at !== undefined;
    steps.push(
      reuseEqualStep(reusable, { type: "input", key: item.id, item, delivery, isDelivered }),
    );
  };
  for (let index = settledPrefix.itemCount; index < output.length; index += 1) {
    for (const input of inputsByPosition.get(index) ?? []) pushInput(input);
    const item = output[index];
    if (item?.type === "tool_call") {
      const view = buildOrReuseCall(timelineInput, item, results.get(item.call_id), reusable);
      openCalls.push(view);
      isSettled &&= settledResults.has(view);
      continue;
    }
    if (item === undefined || item.type === "retracted") continue;
    closeCalls();
    if (item.type === "reasoning") {
      const isLast = isRunning && item.status === "in_progress" && index === output.length - 1;
      const startedAt = isLast ? timelineInput.lastItemStartedAt : undefined;
      steps.push(reuseEqualStep(reusable, { type: "reasoning", key: item.id, item, startedAt }));
    }
    if (item.type === "message")
      steps.push(reuseEqualStep(reusable, { type: "message", key: item.id, item }));
    isSettled &&= !isRunning || item.status !== "in_progress";
    settle(index + 1);
  }
  closeCalls();
  if (!isRunning) settle(output.length);
  // Undelivered inputs come after all items, so they are never settled.
  for (const input of timelineInput.inputs)
    if ((input.taken_at ?? output.length) >= output.length) pushInput(input);
  return { steps, settled };
}

interface ReusableViews extends PreviousBuild {
  readonly steps: ReadonlyMap<string, StepViewModel>;
  readonly calls: ReadonlyMap<string, CallViewModel>;
}

function indexReusableViews(previous: PreviousBuild): ReusableViews {
  const { previousSteps } = previous;
  return {
    ...previous,
    steps: new Map(previousSteps.map((step) => [step.key, step])),
    calls: new Map(collectCalls(previousSteps).map((view) => [view.call.call_id, view])),
  };
}

function indexResults(
  { output }: TimelineInput,
  start: number,
): ReadonlyMap<string, ToolResultItem> {
  const results = new Map<string, ToolResultItem>();
  for (let index = start; index < output.length; index += 1) {
    const item = output[index];
    if (item?.type === "tool_result") results.set(item.call_id, item);
  }
  return results;
}

const groupInputsByPosition = memoizeByObject((inputs: readonly TaskInput[]) =>
  Map.groupBy(inputs, ({ taken_at }) => taken_at),
);

/** Calls that can no longer change, with their result. */
const settledResults = new WeakMap<CallViewModel, ToolResultItem | undefined>();

function buildOrReuseCall(
  timelineInput: TimelineInput,
  call: ToolCallItem,
  result: ToolResultItem | undefined,
  reusable: ReusableViews,
): CallViewModel {
  const previous = reusable.calls.get(call.call_id);
  if (
    reusable.isContextUnchanged &&
    previous?.call === call &&
    settledResults.has(previous) &&
    settledResults.get(previous) === result
  )
    return previous;
  const execution = timelineInput.getExecution(call.call_id);
  const view = reuseEqualCall(
    previous,
    buildCall(timelineInput, call, result, execution, reusable),
  );
  const isFinished =
    !timelineInput.isRunning ||
    (result !== undefined && result.status !== "in_progress" && !isCallUnfinished(view.state));
  const isChildFinal = view.child === undefined || isFinal(view.child.timeline);
  const isPending = view.pendingApprovals.length > 0 || execution?.isExecuting === true;
  if (isFinished && isChildFinal && !isPending) settledResults.set(view, result);
  return view;
}

function buildCall(
  timelineInput: TimelineInput,
  call: ToolCallItem,
  result: ToolResultItem | undefined,
  execution: CallExecutionSummary | undefined,
  { calls }: ReusableViews,
): CallViewModel {
  const previous = calls.get(call.call_id);
  const child = timelineInput.getChild(call.call_id);
  const pendingApprovals = timelineInput.pendingApprovals.filter(
    ({ call_id }) => call_id === call.call_id,
  );
  return {
    call,
    state: toCallState(timelineInput, call, result, execution, pendingApprovals.length > 0),
    resultId: result?.id,
    blocks: reuseEqualList(previous?.blocks, (result?.block_list ?? []) as readonly Block[]),
    startedAt: execution?.startedAt,
    durationMs: execution?.durationMs,
    decisions: reuseEqualList(previous?.decisions, execution?.decisions ?? noDecisions),
    editedArguments: detectEditedArguments(call.arguments, execution?.editedArguments),
    isHeldFailure:
      pendingApprovals.some(({ kind }) => kind === "result") && isFailedOutcome(execution?.outcome),
    pendingApprovals: reuseEqualList(previous?.pendingApprovals, pendingApprovals),
    child: child && {
      agent: child.agent,
      usage: child.usage,
      error: child.error,
      timeline: buildTimeline(child.input, previous?.child?.timeline),
    },
  };
}

const noDecisions: readonly string[] = [];

/** Returns the executed arguments if they differ from those of the model in more than formatting. */
function detectEditedArguments(
  requestedArguments: string,
  executedArguments: string | undefined,
): string | undefined {
  if (
    executedArguments === undefined ||
    formatArguments(executedArguments) === formatArguments(requestedArguments)
  )
    return undefined;
  return executedArguments;
}

function reuseEqualCall(previous: CallViewModel | undefined, view: CallViewModel): CallViewModel {
  if (previous === undefined) return view;
  const stable = shallowEqual(previous.child, view.child)
    ? { ...view, child: previous.child }
    : view;
  return shallowEqual(previous, stable) ? previous : stable;
}

function toCallState(
  { isRunning }: TimelineInput,
  call: ToolCallItem,
  result: ToolResultItem | undefined,
  execution: CallExecutionSummary | undefined,
  hasPendingApproval: boolean,
): CallState {
  const outcome = call.outcome ?? (result?.status === "in_progress" ? undefined : result?.outcome);
  if (outcome !== undefined) return outcome;
  if (!isRunning) return result === undefined ? "incomplete" : "completed";
  if (hasPendingApproval || call.status === "awaiting_approval") return "waiting";
  return call.status === "executing" || execution?.isExecuting === true ? "running" : "preparing";
}

/** Returns the previous step if it is equal, else `step`. */
function reuseEqualStep(reusable: ReusableViews, step: StepViewModel): StepViewModel {
  const previous = reusable.steps.get(step.key);
  if (previous === undefined || previous.type !== step.type) return step;
  if (previous.type === "calls" && step.type === "calls")
    return shallowEqual(previous.calls, step.calls) ? previous : step;
  return shallowEqual(previous, step) ? previous : step;
}

function reuseEqualList<T>(
  previous: readonly T[] | undefined,
  current: readonly T[],
): readonly T[] {
  return previous !== undefined && shallowEqual(previous, current) ? previous : current;
}
