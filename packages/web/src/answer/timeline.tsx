import { memo } from "react";
import type { TaskApproval } from "@deltawire/tasks";
import { unreachable } from "../unreachable.ts";
import { ApprovalInPlace } from "./approval-in-place.tsx";
import { Awaiting } from "./awaiting.tsx";
import { CallGroup } from "./call-group.tsx";
import { Message } from "./message.tsx";
import { Reasoning } from "./reasoning.tsx";
import { Said } from "./said.tsx";
import { SourcesContext } from "./scene.ts";
import type { StepView, TimelineView } from "./timeline-view.ts";

interface TimelineProps {
  timeline: TimelineView;
  depth: number;
}

/** What a task did, step by step; that of a sub-agent stands within the call that asked it. */
export const Timeline = memo(function Timeline({ timeline, depth }: TimelineProps) {
  const { pieces, sources, asked, taskId, isRunning } = timeline;
  return (
    <SourcesContext value={sources}>
      <div className="answer-timeline">
        {pieces.map((steps, at) => (
          <Piece key={at} steps={steps} depth={depth} isRunning={isRunning} />
        ))}
        <Asked approvals={asked} />
        {timeline.awaitsModel && <Awaiting taskId={taskId} />}
      </div>
    </SourcesContext>
  );
});

interface PieceProps {
  steps: readonly StepView[];
  depth: number;
  isRunning: boolean;
}

const Piece = memo(function Piece({ steps, depth, isRunning }: PieceProps) {
  return (
    <div className="answer-piece">
      {steps.map((step) => (
        <Step key={step.key} step={step} depth={depth} isRunning={isRunning} />
      ))}
    </div>
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
