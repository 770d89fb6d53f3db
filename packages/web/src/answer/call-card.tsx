import { memo, useMemo, type ReactNode } from "react";
import { callProgressKey, modelProgressKey } from "@deltawire/tasks";
import { ContentBlocks, ContentBlockView } from "../blocks/content-blocks.tsx";
import { StreamingText, LongText } from "../blocks/long-text.tsx";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { chunk } from "../chunk.ts";
import { Icon } from "../ui/icon.tsx";
import { LazyMount } from "../ui/lazy-mount.tsx";
import { shallowEqual } from "../shallow-equal.ts";
import { formatArguments } from "../text/reveal-invisible.ts";
import { useMessages } from "../messages/use-messages.ts";
import { InlineApproval } from "./inline-approval.tsx";
import { summarizeArguments, toSingleLine } from "./summarize-arguments.ts";
import { ProgressLine } from "./pending-indicator.tsx";
import { OriginalArguments, CallStatus, CallDecisions } from "./call-details.tsx";
import { Disclosure } from "./disclosure.tsx";
import { useDisclosureWithApprovals } from "./disclosure-state.ts";
import { useForceMountCalls } from "./go-to-call.ts";
import { estimateCallsHeight } from "./estimate-height.ts";
import { useAnswerContext } from "./answer-context.ts";
import { StopSubAgentButton, SubAgentBody, SubAgentSummary } from "./sub-agent.tsx";
import {
  isCallUnfinished,
  isFailedOutcome,
  type CallViewModel,
  type TimelineViewModel,
} from "./timeline-view-model.ts";
import { answerMessages } from "./messages.ts";

/** Renders the timeline of a sub-agent. Must be a stable function. */
type RenderTimeline = (timeline: TimelineViewModel, depth: number) => ReactNode;

interface CallCardProps {
  view: CallViewModel;
  depth: number;
  renderTimeline: RenderTimeline;
}

/** A tool or sub-agent call: one line with its state, which expands to show all details. */
const CallCard = memo(function CallCard({ view, depth, renderTimeline }: CallCardProps) {
  const { call, state, child, pendingApprovals } = view;
  const [open, setOpen] = useDisclosureWithApprovals(
    call.call_id,
    child?.timeline.pendingApprovals,
  );
  return (
    <Disclosure
      className={child === undefined ? "answer-call" : "answer-call answer-sub-agent"}
      callId={call.call_id}
      state={state}
      open={open}
      onToggle={setOpen}
      summary={
        child === undefined ? (
          <ToolCallSummary view={view} />
        ) : (
          <SubAgentSummary view={view} child={child} />
        )
      }
      actions={
        child?.timeline.isRunning === true && <StopSubAgentButton call={call} child={child} />
      }
      alwaysVisible={
        <>
          {state === "running" && <CallProgress view={view} open={open} />}
          {!open && state === "running" && <StreamingOutput view={view} />}
          {!open && <ResultImages view={view} />}
          {pendingApprovals.map((approval) => (
            <InlineApproval key={approval.approval_id} approval={approval} call={call} />
          ))}
        </>
      }
    >
      {child === undefined ? (
        <ToolCallBody view={view} />
      ) : (
        <SubAgentBody view={view} child={child} depth={depth + 1}>
          {renderTimeline(child.timeline, depth + 1)}
        </SubAgentBody>
      )}
    </Disclosure>
  );
});

function ToolCallSummary({ view }: { view: CallViewModel }) {
  const { call, editedArguments } = view;
  const isStreaming = call.status === "in_progress";
  const line = useMemo(
    () =>
      isStreaming
        ? toSingleLine(call.arguments)
        : summarizeArguments(editedArguments ?? call.arguments),
    [isStreaming, call.arguments, editedArguments],
  );
  return (
    <>
      <Icon name="tool" small />
      <span className="answer-call-name">{call.name}</span>
      <span className="answer-call-summary single-line" dir="auto">
        {line}
      </span>
      <CallStatus view={view} />
    </>
  );
}

function ToolCallBody({ view }: { view: CallViewModel }) {
  const t = useMessages(answerMessages);
  const { state, blocks, resultId } = view;
  const hasFailed = isFailedOutcome(state);
  return (
    <>
      <CallArguments view={view} />
      <CallDecisions view={view} />
      {resultId !== undefined && (blocks.length > 0 || state === "completed") && (
        <section className="answer-section" data-failed={hasFailed || undefined}>
          <p className="answer-label">{hasFailed ? t.error : t.result}</p>
          {blocks.length === 0 ? (
            <p className="muted">{t.noResult}</p>
          ) : (
            <ContentBlocks blocks={blocks} isStreaming={state === "running"} />
          )}
        </section>
      )}
    </>
  );
}

/** The arguments: raw while they stream, formatted once complete, and as executed if the user edited them. */
function CallArguments({ view: { call, editedArguments } }: { view: CallViewModel }) {
  const t = useMessages(answerMessages);
  const isStreaming = call.status === "in_progress";
  const text = useMemo(
    () => (isStreaming ? call.arguments : formatArguments(editedArguments ?? call.arguments)),
    [isStreaming, call.arguments, editedArguments],
  );
  const isEmpty = !isStreaming && (text === "" || text === "{}");
  return (
    <section className="answer-section">
      <p className="answer-label">{t.arguments}</p>
      {isEmpty ? (
        <p className="muted">{t.noArguments}</p>
      ) : (
        <LongText text={text} mono label={t.arguments} />
      )}
      {editedArguments !== undefined && <OriginalArguments call={call} />}
    </section>
  );
}

function CallProgress({ view: { call, child }, open }: { view: CallViewModel; open: boolean }) {
  const app = useAppStore();
  const t = useMessages(answerMessages);
  const { rootTaskId = "" } = useAnswerContext();
  // An expanded sub-agent shows the progress of its model in its own timeline.
  const isShownInside = open && child?.timeline.isAwaitingModel === true;
  const progress = useCellSelector(
    app.progress(rootTaskId),
    (progressByKey) =>
      progressByKey[callProgressKey(call.call_id)] ??
      (child === undefined || isShownInside
        ? undefined
        : progressByKey[modelProgressKey(call.call_id)]),
  );
  if (progress === undefined) return null;
  return <ProgressLine progress={progress} label={t.progressOf(call.name)} />;
}

/** The latest output of a running tool, visible while the card is collapsed. */
function StreamingOutput({ view: { call, blocks } }: { view: CallViewModel }) {
  const t = useMessages(answerMessages);
  const lastText = blocks.findLast(({ type }) => type === "text");
  if (lastText?.type !== "text" || lastText.text === "") return null;
  return (
    <div className="answer-streaming-output">
      <StreamingText text={lastText.text} label={t.outputOf(call.name)} />
    </div>
  );
}

/** The images in the result, visible while the card is collapsed. */
function ResultImages({ view: { blocks, state } }: { view: CallViewModel }) {
  if (!blocks.some(({ type }) => type === "image")) return null;
  return (
    <div className="answer-images">
      {blocks.map((block, index) =>
        block.type === "image" ? (
          <ContentBlockView
            key={index}
            block={block}
            number={index + 1}
            isStreaming={state === "running" && index === blocks.length - 1}
          />
        ) : null,
      )}
    </div>
  );
}

interface CallGroupProps {
  calls: readonly CallViewModel[];
  depth: number;
  renderTimeline: RenderTimeline;
}

const chunkSize = 16;
/** The first chunk and this many calls at the end are mounted immediately, so that calls added to a large group are visible. */
const eagerCallCount = 2 * chunkSize;

/** Renders parallel calls in one frame. */
export const CallGroup = memo(function CallGroup({ calls, depth, renderTimeline }: CallGroupProps) {
  const t = useMessages(answerMessages);
  const chunks = chunk(calls, chunkSize);
  const isGroup = calls.length > 1;
  const finishedCount = calls.filter(({ state }) => !isCallUnfinished(state)).length;
  return (
    <div
      className="answer-calls"
      data-group={isGroup || undefined}
      role={isGroup ? "group" : undefined}
      aria-label={isGroup ? t.calls(calls.length) : undefined}
    >
      {isGroup && (
        <div className="answer-calls-header">
          <span>{t.calls(calls.length)}</span>
          {finishedCount < calls.length && <span>{t.callsDone(finishedCount, calls.length)}</span>}
        </div>
      )}
      {chunks.map(({ start, items }) => (
        <CallChunk
          key={start}
          calls={items}
          depth={depth}
          renderTimeline={renderTimeline}
          initiallyMounted={start === 0 || start >= calls.length - eagerCallCount}
          isOnlyChunk={chunks.length === 1}
        />
      ))}
    </div>
  );
});

interface CallChunkProps extends CallGroupProps {
  initiallyMounted: boolean;
  /** True if the chunk is the complete group. It is mounted together with the steps around it, so that Tab reaches it. */
  isOnlyChunk: boolean;
}

const CallChunk = memo(
  function CallChunk({
    calls,
    depth,
    renderTimeline,
    initiallyMounted,
    isOnlyChunk,
  }: CallChunkProps) {
    const forceMount = useForceMountCalls(calls);
    return (
      <LazyMount
        cacheKey={`calls from ${calls[0]?.call.call_id}`}
        className="answer-calls-chunk"
        estimateHeight={() => estimateCallsHeight(calls)}
        forceMount={forceMount || isOnlyChunk}
        initiallyMounted={initiallyMounted}
      >
        {() =>
          calls.map((view) => (
            <CallCard
              key={view.call.call_id}
              view={view}
              depth={depth}
              renderTimeline={renderTimeline}
            />
          ))
        }
      </LazyMount>
    );
  },
  ({ calls: previousCalls, ...previousProps }, { calls, ...props }) =>
    shallowEqual(previousCalls, calls) && shallowEqual(previousProps, props),
);
