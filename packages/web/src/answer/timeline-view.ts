import type {
  Block,
  MessageItem,
  ReasoningItem,
  TaskApproval,
  InputItem,
  ToolCallItem,
  ToolResultItem,
  Usage,
} from "@deltawire/tasks";
import { sourcesOf, type Sources } from "./sources.ts";
import type { CallNotes, Failure, TaskParts } from "./task-parts.ts";

/** What a task did, in order. */
export interface TimelineView {
  readonly taskId: string;
  readonly isRunning: boolean;
  /** Nothing is to be seen at its end, and something will come. */
  readonly awaitsModel: boolean;
  /** In lists of a few: one that is full stays the same object while others grow. */
  readonly pieces: readonly (readonly StepView[])[];
  readonly sources: Sources;
  /** What is asked of people that belongs to no call of it: a limit. */
  readonly asked: readonly TaskApproval[];
  /** All that people are asked, here and below. */
  readonly pending: readonly TaskApproval[];
}

export type StepView =
  | { readonly is: "reasoning"; readonly key: string; readonly item: ReasoningItem }
  | { readonly is: "message"; readonly key: string; readonly item: MessageItem }
  /** What the user said meanwhile. */
  | {
      readonly is: "said";
      readonly key: string;
      readonly item: InputItem;
      readonly delivery: "steer" | "queue";
      readonly isHeard: boolean;
    }
  /** Calls that the model made in one go. */
  | { readonly is: "calls"; readonly key: string; readonly calls: readonly CallView[] };

export interface CallView {
  readonly call: ToolCallItem;
  readonly state: CallState;
  readonly resultId: string | undefined;
  readonly blocks: readonly Block[];
  readonly startedAt: string | undefined;
  readonly durationMs: number | undefined;
  readonly decisions: readonly string[];
  /** What people are asked about it now. */
  readonly asked: readonly TaskApproval[];
  readonly child: SubAgentView | undefined;
}

export type CallState =
  | "preparing"
  | "waiting"
  | "running"
  | "completed"
  | "failed"
  | "timeout"
  | "denied"
  | "canceled"
  | "incomplete"
  | "unknown";

export interface SubAgentView {
  readonly agent: string | undefined;
  readonly usage: Usage | undefined;
  readonly error: Failure | undefined;
  readonly timeline: TimelineView;
}

/** Small enough that drawing one again costs nothing, large enough that a thousand items are few lists. */
const pieceLength = 16;

export function timelineOf(parts: TaskParts, before?: TimelineView): TimelineView {
  const known = knownIn(before);
  const steps = stepsOf(parts, known);
  const calls = steps.flatMap((step) => (step.is === "calls" ? step.calls : []));
  const pieces = piecesOf(steps, before?.pieces ?? []);
  const ofCalls = new Set(calls.flatMap(({ asked }) => asked));
  const below = calls.flatMap(({ child }) => child?.timeline.pending ?? []);
  const view: TimelineView = {
    taskId: parts.taskId,
    isRunning: parts.isRunning,
    awaitsModel: parts.isRunning && parts.pending.length === 0 && isQuiet(steps.at(-1), calls),
    pieces: sameList(before?.pieces, pieces),
    sources: sourcesOf(parts.references, calls, before?.sources),
    asked: sameList(
      before?.asked,
      parts.pending.filter((approval) => !ofCalls.has(approval)),
    ),
    pending: sameList(before?.pending, [...parts.pending, ...below]),
  };
  return before !== undefined && isSame(before, view) ? before : view;
}

export function stepsIn({ pieces }: TimelineView): readonly StepView[] {
  return pieces.flat();
}

export function callsIn(timeline: TimelineView): CallView[] {
  return stepsIn(timeline).flatMap((step) => (step.is === "calls" ? step.calls : []));
}

/** What a view is compared with. */
interface Known {
  readonly steps: ReadonlyMap<string, StepView>;
  readonly calls: ReadonlyMap<string, CallView>;
}

function knownIn(before: TimelineView | undefined): Known {
  const steps = before === undefined ? [] : stepsIn(before);
  return {
    steps: new Map(steps.map((step) => [step.key, step])),
    calls: new Map(
      steps.flatMap((step) =>
        step.is === "calls" ? step.calls.map((view) => [view.call.call_id, view] as const) : [],
      ),
    ),
  };
}

/** Whether more will come of a call. */
export function isOpenState(state: CallState): boolean {
  return state === "preparing" || state === "waiting" || state === "running";
}

function stepsOf(parts: TaskParts, known: Known): StepView[] {
  const { output, inputs } = parts;
  const results = new Map<string, ToolResultItem>();
  for (const item of output) if (item.type === "tool_result") results.set(item.call_id, item);
  const steps: StepView[] = [];
  /** Calls without anything between them. */
  let together: CallView[] = [];
  const closeCalls = () => {
    const [first] = together;
    if (first !== undefined)
      steps.push(reused(known, { is: "calls", key: first.call.call_id, calls: together }));
    together = [];
  };
  for (let index = 0; index <= output.length; index += 1) {
    for (const { item, delivery, taken_at } of inputs) {
      if (Math.min(taken_at ?? output.length, output.length) !== index) continue;
      closeCalls();
      const isHeard = taken_at !== undefined;
      steps.push(reused(known, { is: "said", key: item.id, item, delivery, isHeard }));
    }
    const item = output[index];
    if (item === undefined || item.type === "retracted") continue;
    if (item.type === "tool_call") {
      together.push(callOf(parts, item, results.get(item.call_id), known));
      continue;
    }
    closeCalls();
    if (item.type === "reasoning")
      steps.push(reused(known, { is: "reasoning", key: item.id, item }));
    if (item.type === "message") steps.push(reused(known, { is: "message", key: item.id, item }));
  }
  closeCalls();
  return steps;
}

function callOf(
  parts: TaskParts,
  call: ToolCallItem,
  result: ToolResultItem | undefined,
  known: Known,
): CallView {
  const before = known.calls.get(call.call_id);
  const notes = parts.notes(call.call_id);
  const child = parts.child(call, result);
  const asked = parts.pending.filter(({ call_id }) => call_id === call.call_id);
  const view: CallView = {
    call,
    state: stateOf(parts, call, result, notes, asked.length > 0),
    resultId: result?.id,
    blocks: sameList(before?.blocks, result === undefined ? [] : parts.blocks(result)),
    startedAt: notes?.startedAt,
    durationMs: notes?.durationMs,
    decisions: notes?.decisions ?? noDecisions,
    asked: sameList(before?.asked, asked),
    child: child && {
      agent: child.agent,
      usage: child.usage,
      error: child.error,
      timeline: timelineOf(child.parts, before?.child?.timeline),
    },
  };
  if (before === undefined) return view;
  const kept =
    before.child !== undefined && view.child !== undefined && isSame(before.child, view.child)
      ? { ...view, child: before.child }
      : view;
  return isSame(before, kept) ? before : kept;
}

const noDecisions: readonly string[] = [];

function stateOf(
  { isRunning }: TaskParts,
  call: ToolCallItem,
  result: ToolResultItem | undefined,
  notes: CallNotes | undefined,
  isAsked: boolean,
): CallState {
  const outcome = call.outcome ?? (result?.status === "in_progress" ? undefined : result?.outcome);
  if (outcome !== undefined) return outcome;
  if (!isRunning) return result === undefined ? "incomplete" : "completed";
  if (isAsked || call.status === "awaiting_approval") return "waiting";
  return call.status === "executing" || notes?.isExecuting === true ? "running" : "preparing";
}

/** The step as it was, if nothing of it is another. */
function reused(known: Known, step: StepView): StepView {
  const before = known.steps.get(step.key);
  if (before === undefined || before.is !== step.is) return step;
  if (before.is === "calls" && step.is === "calls")
    return isSame(before.calls, step.calls) ? before : step;
  return isSame(before, step) ? before : step;
}

function piecesOf(
  steps: readonly StepView[],
  before: readonly (readonly StepView[])[],
): (readonly StepView[])[] {
  const pieces: (readonly StepView[])[] = [];
  for (let at = 0; at < steps.length; at += pieceLength)
    pieces.push(sameList(before[pieces.length], steps.slice(at, at + pieceLength)));
  return pieces;
}

/** Whether a reader would think that nothing happens. */
function isQuiet(last: StepView | undefined, calls: readonly CallView[]): boolean {
  if (calls.some(({ state }) => isOpenState(state))) return false;
  if (last?.is === "reasoning" || last?.is === "message") return last.item.status !== "in_progress";
  return true;
}

function sameList<One>(before: readonly One[] | undefined, now: readonly One[]): readonly One[] {
  return before !== undefined && isSame(before, now) ? before : now;
}

/** Whether two lists, or two objects, have the same members. */
function isSame(one: object, other: object): boolean {
  if (one === other) return true;
  const [ours, theirs] = [Object.entries(one), new Map(Object.entries(other))];
  return (
    ours.length === theirs.size && ours.every(([name, value]) => Object.is(theirs.get(name), value))
  );
}
