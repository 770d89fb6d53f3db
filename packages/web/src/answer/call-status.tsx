import { Status, type StatusKind } from "../parts/signs.tsx";
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
