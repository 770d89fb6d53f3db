import type { Block, TaskInput, ToolCallItem, ToolResultItem } from "@deltawire/tasks";
import { once } from "../once.ts";
import { isSame } from "../same.ts";
import { readableArguments } from "../texts/revealed.ts";
import { sourcesOf, type Sources } from "./sources.ts";
import type { CallNotes, TaskParts } from "./task-parts.ts";
import {
  callsIn,
  callsOf,
  isOpenState,
  wentWrong,
  type CallState,
  type CallView,
  type StepView,
  type TimelineView,
} from "./timeline-view.ts";

/** Small enough that drawing one again costs nothing, large enough that a thousand items are few lists. */
const pieceLength = 16;

type Pieces = TimelineView["pieces"];

/** What a view was made of. */
interface Made {
  readonly parts: TaskParts;
  readonly settled: Settled;
}

const madeOf = new WeakMap<TimelineView, Made>();

/** What is settled stays as it is in `before` and is not looked at: a word more costs what is still open, however long the task is. */
export function timelineOf(parts: TaskParts, before?: TimelineView): TimelineView {
  const made = before && madeOf.get(before);
  const isAsBefore = made !== undefined && hasSameSurroundings(made.parts, parts);
  const from = isAsBefore ? stillSettled(made, parts) : nothingSettled;
  const old = before === undefined ? [] : stepsBehind(before.pieces, from.steps);
  const { steps, settled } = stepsOf(parts, { from, old, isAsBefore, timelineOf, isAtRest });
  const calls = callsOf(steps);
  const pieces = piecesOf(steps, from.steps, before?.pieces ?? []);
  const ofCalls = new Set(calls.flatMap(({ asked }) => asked));
  const below = calls.flatMap(({ child }) => child?.timeline.pending ?? []);
  const hasSameSources =
    before !== undefined &&
    isSame(made?.parts.references, parts.references) &&
    isSame(foundBy(callsOf(old)), foundBy(calls));
  const view: TimelineView = {
    taskId: parts.taskId,
    isRunning: parts.isRunning,
    awaitsModel: parts.isRunning && parts.pending.length === 0 && isQuiet(steps.at(-1), calls),
    pieces: sameList(before?.pieces, pieces),
    sources: hasSameSources ? before.sources : sourcesOf(parts.references, callsIn({ pieces })),
    asked: sameList(
      before?.asked,
      parts.pending.filter((approval) => !ofCalls.has(approval)),
    ),
    pending: sameList(before?.pending, [...parts.pending, ...below]),
  };
  const kept = before !== undefined && isSame(before, view) ? before : view;
  madeOf.set(kept, { parts, settled });
  return kept;
}

/** Whether nothing of it can change any more, nor of any task below it. */
function isAtRest(timeline: TimelineView): boolean {
  const made = madeOf.get(timeline);
  return (
    made !== undefined && !made.parts.isRunning && made.settled.items === made.parts.output.length
  );
}

/** An approval that comes or goes, words of the user, and the end may concern any step. */
function hasSameSurroundings(then: TaskParts, now: TaskParts): boolean {
  return (
    then.isRunning === now.isRunning && then.inputs === now.inputs && then.pending === now.pending
  );
}

function stillSettled({ parts: { output }, settled }: Made, now: TaskParts): Settled {
  if (output === now.output) return settled;
  for (let at = 0; at < settled.items; at += 1)
    if (output[at] !== now.output[at]) return nothingSettled;
  return settled;
}

function stepsBehind(pieces: Pieces, count: number): readonly StepView[] {
  const whole = Math.floor(count / pieceLength);
  return pieces
    .slice(whole)
    .flat()
    .slice(count % pieceLength);
}

function piecesOf(steps: readonly StepView[], settled: number, before: Pieces): Pieces {
  const whole = Math.floor(settled / pieceLength);
  const pieces = before.slice(0, whole);
  const rest = [...(before[whole] ?? []).slice(0, settled % pieceLength), ...steps];
  for (let at = 0; at < rest.length; at += pieceLength)
    pieces.push(sameList(before[pieces.length], rest.slice(at, at + pieceLength)));
  return pieces;
}

/** What can be cited of calls: those that have nothing yet change nothing. */
function foundBy(calls: readonly CallView[]): (CallView["blocks"] | Sources)[] {
  return calls.flatMap(({ blocks, child }) => [
    ...(blocks.length === 0 ? [] : [blocks]),
    ...(child === undefined ? [] : [child.timeline.sources]),
  ]);
}

/** Whether a reader would think that nothing happens. */
function isQuiet(last: StepView | undefined, calls: readonly CallView[]): boolean {
  if (calls.some(({ state }) => isOpenState(state))) return false;
  if (last?.is === "reasoning" || last?.is === "message") return last.item.status !== "in_progress";
  return true;
}

/** How far from its beginning a task can change no more: so many items of its output, and the steps that they make. */
interface Settled {
  readonly items: number;
  readonly steps: number;
}

const nothingSettled: Settled = { items: 0, steps: 0 };

/** What the steps are compared with, and where they begin. */
interface Before {
  readonly from: Settled;
  /** Those behind it. */
  readonly old: readonly StepView[];
  /** Whether all but the items is as it was. */
  readonly isAsBefore: boolean;
  /** Of a task below. */
  readonly timelineOf: (parts: TaskParts, before?: TimelineView) => TimelineView;
  readonly isAtRest: (timeline: TimelineView) => boolean;
}

/** The steps behind what is settled. One of which nothing has changed is the same object. */
function stepsOf(parts: TaskParts, before: Before): { steps: StepView[]; settled: Settled } {
  const { output, isRunning } = parts;
  const { from } = before;
  const known = knownIn(before);
  const results = resultsIn(parts, from.items);
  const heard = heardAt(parts.inputs);
  const steps: StepView[] = [];
  let settled = from;
  let isSettled = true;
  /** Calls without anything between them. */
  let together: CallView[] = [];
  const closeCalls = () => {
    const [first] = together;
    if (first !== undefined)
      steps.push(reused(known, { is: "calls", key: first.call.call_id, calls: together }));
    together = [];
  };
  const settle = (items: number) => {
    if (isSettled) settled = { items, steps: from.steps + steps.length };
  };
  const say = ({ item, delivery, taken_at }: TaskInput) => {
    closeCalls();
    const isHeard = taken_at !== undefined;
    steps.push(reused(known, { is: "said", key: item.id, item, delivery, isHeard }));
  };
  for (let index = from.items; index < output.length; index += 1) {
    for (const input of heard.get(index) ?? []) say(input);
    const item = output[index];
    if (item?.type === "tool_call") {
      const view = callOf(parts, item, results.get(item.call_id), known);
      together.push(view);
      isSettled &&= settledWith.has(view);
      continue;
    }
    if (item === undefined || item.type === "retracted") continue;
    closeCalls();
    if (item.type === "reasoning") {
      const isLast = isRunning && item.status === "in_progress" && index === output.length - 1;
      const startedAt = isLast ? parts.lastBeganAt : undefined;
      steps.push(reused(known, { is: "reasoning", key: item.id, item, startedAt }));
    }
    if (item.type === "message") steps.push(reused(known, { is: "message", key: item.id, item }));
    isSettled &&= !isRunning || item.status !== "in_progress";
    settle(index + 1);
  }
  closeCalls();
  if (!isRunning) settle(output.length);
  // Not settled: these steps stand behind the items.
  for (const input of parts.inputs)
    if ((input.taken_at ?? output.length) >= output.length) say(input);
  return { steps, settled };
}

interface Known extends Before {
  readonly steps: ReadonlyMap<string, StepView>;
  readonly calls: ReadonlyMap<string, CallView>;
}

function knownIn(before: Before): Known {
  const { old } = before;
  return {
    ...before,
    steps: new Map(old.map((step) => [step.key, step])),
    calls: new Map(callsOf(old).map((view) => [view.call.call_id, view])),
  };
}

function resultsIn({ output }: TaskParts, from: number): ReadonlyMap<string, ToolResultItem> {
  const results = new Map<string, ToolResultItem>();
  for (let index = from; index < output.length; index += 1) {
    const item = output[index];
    if (item?.type === "tool_result") results.set(item.call_id, item);
  }
  return results;
}

const heardAt = once((inputs: readonly TaskInput[]) =>
  Map.groupBy(inputs, ({ taken_at }) => taken_at),
);

/** Calls of which nothing can change any more, with the result that they have. */
const settledWith = new WeakMap<CallView, ToolResultItem | undefined>();

function callOf(
  parts: TaskParts,
  call: ToolCallItem,
  result: ToolResultItem | undefined,
  known: Known,
): CallView {
  const before = known.calls.get(call.call_id);
  if (
    known.isAsBefore &&
    before?.call === call &&
    settledWith.has(before) &&
    settledWith.get(before) === result
  )
    return before;
  const notes = parts.notes(call.call_id);
  const view = sameCall(before, viewOf(parts, call, result, notes, known));
  const isOver =
    !parts.isRunning ||
    (result !== undefined && result.status !== "in_progress" && !isOpenState(view.state));
  const isAtRest = view.child === undefined || known.isAtRest(view.child.timeline);
  if (isOver && isAtRest && view.asked.length === 0 && notes?.isExecuting !== true)
    settledWith.set(view, result);
  return view;
}

function viewOf(
  parts: TaskParts,
  call: ToolCallItem,
  result: ToolResultItem | undefined,
  notes: CallNotes | undefined,
  { calls, timelineOf }: Known,
): CallView {
  const before = calls.get(call.call_id);
  const child = parts.child(call.call_id);
  const asked = parts.pending.filter(({ call_id }) => call_id === call.call_id);
  return {
    call,
    state: stateOf(parts, call, result, notes, asked.length > 0),
    resultId: result?.id,
    blocks: sameList(before?.blocks, (result?.block_list ?? []) as readonly Block[]),
    startedAt: notes?.startedAt,
    durationMs: notes?.durationMs,
    decisions: sameList(before?.decisions, notes?.decisions ?? noDecisions),
    changed: changedFrom(call.arguments, notes?.changed),
    isHeldFailure: asked.some(({ kind }) => kind === "result") && wentWrong(notes?.outcome),
    asked: sameList(before?.asked, asked),
    child: child && {
      agent: child.agent,
      usage: child.usage,
      error: child.error,
      timeline: timelineOf(child.parts, before?.child?.timeline),
    },
  };
}

const noDecisions: readonly string[] = [];

/** Whoever opens an editor and changes nothing has changed nothing. */
function changedFrom(asked: string, ran: string | undefined): string | undefined {
  if (ran === undefined || readableArguments(ran) === readableArguments(asked)) return undefined;
  return ran;
}

function sameCall(before: CallView | undefined, view: CallView): CallView {
  if (before === undefined) return view;
  const kept = isSame(before.child, view.child) ? { ...view, child: before.child } : view;
  return isSame(before, kept) ? before : kept;
}

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

function sameList<One>(before: readonly One[] | undefined, now: readonly One[]): readonly One[] {
  return before !== undefined && isSame(before, now) ? before : now;
}
