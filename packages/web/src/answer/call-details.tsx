import type { ToolCallItem } from "@deltawire/tasks";
import { LongText } from "../blocks/long-text.tsx";
import { Fold, Status, type StatusKind } from "../parts/signs.tsx";
import { decisionInWords, decisionWords } from "../texts/decisions-in-words.ts";
import { readableArguments } from "../texts/revealed.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { Elapsed } from "./elapsed.tsx";
import type { CallState, CallView } from "./timeline-view.ts";
import { answerWords } from "./words.ts";

export function CallStatus({ view }: { view: CallView }) {
  const words = useWords(answerWords);
  const format = useFormat();
  const { durationMs, child } = view;
  const below = child?.timeline.pending.length ?? 0;
  // Who waits for somebody that waits for a person waits for that person.
  const state = below > 0 ? "waiting" : view.state;
  const label = view.isHeldFailure ? words.heldFailure : words[state];
  return (
    <span className="answer-call-status">
      <Status kind={kinds[state]} label={below > 1 ? words.approvals(below) : label} />
      {state === "running" && <Elapsed since={view.startedAt} />}
      {durationMs !== undefined && durationMs >= shortest && (
        <span className="answer-time">{format.duration(durationMs)}</span>
      )}
    </span>
  );
}

/** What took less is told as nothing at all. */
const shortest = 50;

const kinds: Readonly<Record<CallState, StatusKind>> = {
  preparing: "running",
  waiting: "waiting",
  running: "running",
  completed: "ok",
  failed: "failed",
  timeout: "failed",
  denied: "stopped",
  canceled: "stopped",
  incomplete: "stopped",
  unknown: "waiting",
};

/** The arguments of a call that was run with others. */
export function AskedByModel({ call }: { call: ToolCallItem }) {
  const words = useWords(answerWords);
  return (
    <Fold className="quiet" summary={words.askedByModel}>
      <LongText text={readableArguments(call.arguments)} mono label={words.askedByModel} />
    </Fold>
  );
}

/** What people decided about a call. */
export function Decisions({ view: { decisions, changed } }: { view: CallView }) {
  const words = useWords(answerWords);
  const inWords = useWords(decisionWords);
  if (decisions.length === 0) return null;
  // Arguments are approved before a result is.
  const changedAt = changed === undefined ? -1 : decisions.indexOf("approve");
  const told = decisions.map((decision, at) =>
    at === changedAt ? inWords.approveChanged : decisionInWords(decision, inWords),
  );
  return (
    <p className="quiet">
      {words.decided}: {told.join(", ")}
    </p>
  );
}
