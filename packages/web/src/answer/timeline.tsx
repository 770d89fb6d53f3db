import { memo } from "react";
import { assertNever, type MessageItem, type TaskApproval } from "@deltawire/tasks";
import { ContentBlockView } from "../blocks/content-blocks.tsx";
import { LazyMarkdown } from "../markdown/lazy-markdown.tsx";
import { LazyMount } from "../ui/lazy-mount.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { InlineApproval } from "./inline-approval.tsx";
import { PendingIndicator, Caret } from "./pending-indicator.tsx";
import { CallGroup } from "./call-card.tsx";
import { Citation } from "./citation.tsx";
import { EarlierSourcesContext, noEarlierSources } from "./earlier-sources.ts";
import { useForceMountSteps } from "./go-to-call.ts";
import { estimateStepsHeight } from "./estimate-height.ts";
import { Reasoning } from "./reasoning.tsx";
import { TaskInputView } from "./task-input-view.tsx";
import { SourcesContext, useAnswerContext } from "./answer-context.ts";
import type { StepViewModel, TimelineViewModel } from "./timeline-view-model.ts";
import { answerMessages } from "./messages.ts";

interface TimelineProps {
  timeline: TimelineViewModel;
  depth: number;
}

/** The first chunk and this many at the end mount immediately, so that a short timeline and new steps of a long one are visible. */
const eagerChunkCount = 2;

/** The steps of a task. The timeline of a sub-agent is inside the call that started it. */
export const Timeline = memo(function Timeline({ timeline, depth }: TimelineProps) {
  const { stepChunks, sources, taskApprovals, taskId, isRunning } = timeline;
  const steps = (
    <SourcesContext value={sources}>
      <div className="answer-timeline">
        {stepChunks.map((steps, index) => (
          <TimelineChunk
            key={index}
            steps={steps}
            depth={depth}
            isRunning={isRunning}
            initiallyMounted={index === 0 || index >= stepChunks.length - eagerChunkCount}
          />
        ))}
        <TaskApprovals approvals={taskApprovals} />
        {timeline.isAwaitingModel && <PendingIndicator taskId={taskId} />}
      </div>
    </SourcesContext>
  );
  // A sub-agent does not see the chat, so its citations cannot refer to earlier answers.
  if (depth === 0) return steps;
  return <EarlierSourcesContext value={noEarlierSources}>{steps}</EarlierSourcesContext>;
});

interface TimelineChunkProps {
  steps: readonly StepViewModel[];
  depth: number;
  isRunning: boolean;
  initiallyMounted: boolean;
}

const TimelineChunk = memo(function TimelineChunk({
  steps,
  depth,
  isRunning,
  initiallyMounted,
}: TimelineChunkProps) {
  const forceMount = useForceMountSteps(steps);
  return (
    <LazyMount
      cacheKey={`steps from ${steps[0]?.key}`}
      className="answer-timeline-chunk"
      estimateHeight={() => estimateStepsHeight(steps)}
      forceMount={forceMount}
      initiallyMounted={initiallyMounted}
    >
      {() =>
        steps.map((step) => (
          <TimelineStep key={step.key} step={step} depth={depth} isRunning={isRunning} />
        ))
      }
    </LazyMount>
  );
});

interface TimelineStepProps {
  step: StepViewModel;
  depth: number;
  isRunning: boolean;
}

const TimelineStep = memo(function TimelineStep({ step, depth, isRunning }: TimelineStepProps) {
  switch (step.type) {
    case "reasoning":
      return <Reasoning item={step.item} startedAt={step.startedAt} />;
    case "message":
      return <MessageStep item={step.item} />;
    case "input":
      return <TaskInputView step={step} isRunning={isRunning} />;
    case "calls":
      return <CallGroup calls={step.calls} depth={depth} renderTimeline={renderTimeline} />;
    default:
      return assertNever(step);
  }
});

function TaskApprovals({ approvals }: { approvals: readonly TaskApproval[] }) {
  return approvals.map((approval) => (
    <InlineApproval key={approval.approval_id} approval={approval} />
  ));
}

/** Passed down to calls, which cannot import `Timeline` without a cycle. */
function renderTimeline(timeline: TimelineViewModel, depth: number) {
  return <Timeline timeline={timeline} depth={depth} />;
}

const MessageStep = memo(function MessageStep({ item }: { item: MessageItem }) {
  const t = useMessages(answerMessages);
  const { isContinued } = useAnswerContext();
  const isStreaming = item.status === "in_progress";
  const blocks = item.block_list;
  const lastBlock = blocks.at(-1);
  const isEmpty =
    lastBlock === undefined ||
    (blocks.length === 1 && lastBlock.type === "text" && lastBlock.text === "");
  return (
    <div className="answer-message" data-part-id={item.id}>
      {blocks.map((block, index) =>
        block.type === "text" ? (
          <LazyMarkdown
            key={index}
            text={block.text}
            annotations={block.annotations}
            isStreaming={isStreaming && block === lastBlock}
            renderCitation={renderCitation}
          />
        ) : (
          <ContentBlockView key={index} block={block} number={index + 1} />
        ),
      )}
      {isStreaming && isEmpty && <Caret />}
      {item.status === "incomplete" && !isContinued && <p className="muted">{t.truncated}</p>}
    </div>
  );
});

/** A stable function, so that rendered parts of streaming text stay memoized. */
function renderCitation(reference: number, resolved: boolean) {
  return <Citation number={reference} resolved={resolved} />;
}
