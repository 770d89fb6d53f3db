import { memo } from "react";
import type { MessageItem, TaskApproval } from "@deltawire/tasks";
import { BlockView } from "../blocks/blocks.tsx";
import { LazyMarkdown } from "../markdown/lazy-markdown.tsx";
import { LazyMount } from "../parts/lazy-mount.tsx";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { ApprovalInPlace } from "./approval-in-place.tsx";
import { Awaiting, Caret } from "./awaiting.tsx";
import { CallGroup } from "./call-card.tsx";
import { Citation } from "./citation.tsx";
import { EarlierSourcesContext, noEarlierSources } from "./earlier-sources.ts";
import { useAreStepsWanted } from "./go-to-call.ts";
import { guessedHeight } from "./guessed-height.ts";
import { Reasoning } from "./reasoning.tsx";
import { Said } from "./said.tsx";
import { SourcesContext, useScene } from "./scene.ts";
import type { StepView, TimelineView } from "./timeline-view.ts";
import { answerWords } from "./words.ts";

interface TimelineProps {
  timeline: TimelineView;
  depth: number;
}

/** So many pieces at the end, and the first: all of a short timeline, and what is added to a long one or unfolded. */
const drawnAtOnce = 2;

/** What a task did, step by step; that of a sub-agent stands within the call that asked it. */
export const Timeline = memo(function Timeline({ timeline, depth }: TimelineProps) {
  const { pieces, sources, asked, taskId, isRunning } = timeline;
  const steps = (
    <SourcesContext value={sources}>
      <div className="answer-timeline">
        {pieces.map((steps, at) => (
          <Piece
            key={at}
            steps={steps}
            depth={depth}
            isRunning={isRunning}
            isDrawnAtOnce={at === 0 || at >= pieces.length - drawnAtOnce}
          />
        ))}
        <Asked approvals={asked} />
        {timeline.awaitsModel && <Awaiting taskId={taskId} />}
      </div>
    </SourcesContext>
  );
  // A sub-agent knows nothing of the conversation: its numbers are its own.
  if (depth === 0) return steps;
  return <EarlierSourcesContext value={noEarlierSources}>{steps}</EarlierSourcesContext>;
});

interface PieceProps {
  steps: readonly StepView[];
  depth: number;
  isRunning: boolean;
  isDrawnAtOnce: boolean;
}

const Piece = memo(function Piece({ steps, depth, isRunning, isDrawnAtOnce }: PieceProps) {
  const isWanted = useAreStepsWanted(steps);
  return (
    <LazyMount
      name={`steps from ${steps[0]?.key}`}
      className="answer-piece"
      guess={() => guessedHeight(steps)}
      isWanted={isWanted}
      isDrawnAtOnce={isDrawnAtOnce}
    >
      {() =>
        steps.map((step) => <Step key={step.key} step={step} depth={depth} isRunning={isRunning} />)
      }
    </LazyMount>
  );
});

interface StepProps {
  step: StepView;
  depth: number;
  isRunning: boolean;
}

const Step = memo(function Step({ step, depth, isRunning }: StepProps) {
  switch (step.is) {
    case "reasoning":
      return <Reasoning item={step.item} startedAt={step.startedAt} />;
    case "message":
      return <Message item={step.item} />;
    case "said":
      return <Said said={step} isRunning={isRunning} />;
    case "calls":
      return <CallGroup calls={step.calls} depth={depth} draw={draw} />;
    default:
      return unreachable(step);
  }
});

function Asked({ approvals }: { approvals: readonly TaskApproval[] }) {
  return approvals.map((approval) => (
    <ApprovalInPlace key={approval.approval_id} approval={approval} />
  ));
}

/** Calls draw the timelines of their sub-agents by it. */
function draw(timeline: TimelineView, depth: number) {
  return <Timeline timeline={timeline} depth={depth} />;
}

const Message = memo(function Message({ item }: { item: MessageItem }) {
  const words = useWords(answerWords);
  const { isContinued } = useScene();
  const isGrowing = item.status === "in_progress";
  const blocks = item.block_list;
  const last = blocks.at(-1);
  const isEmpty =
    last === undefined || (blocks.length === 1 && last.type === "text" && last.text === "");
  return (
    <div className="answer-message" data-said={item.id}>
      {blocks.map((block, at) =>
        block.type === "text" ? (
          <LazyMarkdown
            key={at}
            text={block.text}
            annotations={block.annotations}
            growing={isGrowing && block === last}
            cite={cite}
          />
        ) : (
          <BlockView key={at} block={block} number={at + 1} />
        ),
      )}
      {isGrowing && isEmpty && <Caret />}
      {item.status === "incomplete" && !isContinued && <p className="quiet">{words.cutOff}</p>}
    </div>
  );
});

/** The same function always: what has been drawn of a growing text stays. */
function cite(reference: number, resolved: boolean) {
  return <Citation number={reference} resolved={resolved} />;
}
