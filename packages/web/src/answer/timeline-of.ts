import { isSame } from "../same.ts";
import { sourcesOf, type Sources } from "./sources.ts";
import { nothingSettled, sameList, stepsOf, type Settled } from "./steps-of.ts";
import type { TaskParts } from "./task-parts.ts";
import {
  callsIn,
  callsOf,
  isOpenState,
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
