import type { ToolCallItem } from "@deltawire/tasks";
import { LongText } from "../blocks/long-text.tsx";
import { Collapsible, StatusBadge, type StatusKind } from "../ui/indicators.tsx";
import { formatDecision, decisionMessages } from "../text/decision-messages.ts";
import { formatArguments } from "../text/reveal-invisible.ts";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { ElapsedTime } from "./elapsed-time.tsx";
import type { CallState, CallViewModel } from "./timeline-view-model.ts";
import { answerMessages } from "./messages.ts";

export function CallStatus({ view }: { view: CallViewModel }) {
  const t = useMessages(answerMessages);
  const format = useFormatter();
  const { durationMs, child } = view;
  const childApprovalCount = child?.timeline.pendingApprovals.length ?? 0;
  // A call also counts as waiting if its sub-agent waits for an approval.
  const state = childApprovalCount > 0 ? "waiting" : view.state;
  const label = view.isHeldFailure ? t.heldFailure : t[state];
  return (
    <span className="answer-call-status">
      <StatusBadge
        kind={statusKindByState[state]}
        label={childApprovalCount > 1 ? t.approvals(childApprovalCount) : label}
      />
      {state === "running" && <ElapsedTime startedAt={view.startedAt} />}
      {durationMs !== undefined && durationMs >= minShownMs && (
        <span className="answer-time">{format.duration(durationMs)}</span>
      )}
    </span>
  );
}

/** Shorter durations are not shown. */
const minShownMs = 50;

const statusKindByState: Readonly<Record<CallState, StatusKind>> = {
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

/** The model's arguments, for a call that ran with edited arguments. */
export function OriginalArguments({ call }: { call: ToolCallItem }) {
  const t = useMessages(answerMessages);
  return (
    <Collapsible className="muted" summary={t.originalArguments}>
      <LongText text={formatArguments(call.arguments)} mono label={t.originalArguments} />
    </Collapsible>
  );
}

/** The approval decisions about a call. */
export function CallDecisions({ view: { decisions, editedArguments } }: { view: CallViewModel }) {
  const t = useMessages(answerMessages);
  const decisionTexts = useMessages(decisionMessages);
  if (decisions.length === 0) return null;
  // The first approval is for the arguments; an approval for the result can only follow it.
  const editIndex = editedArguments === undefined ? -1 : decisions.indexOf("approve");
  const labels = decisions.map((decision, index) =>
    index === editIndex ? decisionTexts.approveChanged : formatDecision(decision, decisionTexts),
  );
  return (
    <p className="muted">
      {t.decision}: {labels.join(", ")}
    </p>
  );
}
