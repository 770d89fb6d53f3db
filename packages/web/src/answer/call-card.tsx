import { memo, useMemo, type ReactNode } from "react";
import { callProgressKey, modelProgressKey } from "@deltawire/tasks";
import { Blocks, BlockView } from "../blocks/blocks.tsx";
import { GrowingText, LongText } from "../blocks/long-text.tsx";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { partsOf } from "../parts-of.ts";
import { Icon } from "../parts/icon.tsx";
import { LazyMount } from "../parts/lazy-mount.tsx";
import { isSame } from "../same.ts";
import { readableArguments } from "../texts/revealed.ts";
import { useWords } from "../words/use-words.ts";
import { ApprovalInPlace } from "./approval-in-place.tsx";
import { argumentsLine, oneLine } from "./arguments-line.ts";
import { ProgressLine } from "./awaiting.tsx";
import { AskedByModel, CallStatus, Decisions } from "./call-details.tsx";
import { Disclosure } from "./disclosure.tsx";
import { useFoldWithQuestions } from "./folds.ts";
import { useAreCallsWanted } from "./go-to-call.ts";
import { guessedHeightOfCalls } from "./guessed-height.ts";
import { useScene } from "./scene.ts";
import { StopSubAgent, SubAgentBody, SubAgentLine } from "./sub-agent.tsx";
import { isOpenState, wentWrong, type CallView, type TimelineView } from "./timeline-view.ts";
import { answerWords } from "./words.ts";

/** How the timeline of a sub-agent is drawn; always the same function. */
type DrawTimeline = (timeline: TimelineView, depth: number) => ReactNode;

interface CallCardProps {
  view: CallView;
  depth: number;
  draw: DrawTimeline;
}

/** A call of a tool, or of a sub-agent: a line that says how it stands, and all of it when it is unfolded. */
const CallCard = memo(function CallCard({ view, depth, draw }: CallCardProps) {
  const { call, state, child, asked } = view;
  const [open, setOpen] = useFoldWithQuestions(call.call_id, child?.timeline.pending);
  return (
    <Disclosure
      className={child === undefined ? "answer-call" : "answer-call answer-sub-agent"}
      callId={call.call_id}
      state={state}
      open={open}
      onToggle={setOpen}
      head={
        child === undefined ? <ToolLine view={view} /> : <SubAgentLine view={view} child={child} />
      }
      beside={child?.timeline.isRunning === true && <StopSubAgent call={call} child={child} />}
      always={
        <>
          {state === "running" && <CallProgress view={view} open={open} />}
          {!open && state === "running" && <LiveText view={view} />}
          {!open && <Pictures view={view} />}
          {asked.map((approval) => (
            <ApprovalInPlace key={approval.approval_id} approval={approval} call={call} />
          ))}
        </>
      }
    >
      {child === undefined ? (
        <ToolBody view={view} />
      ) : (
        <SubAgentBody view={view} child={child} depth={depth + 1}>
          {draw(child.timeline, depth + 1)}
        </SubAgentBody>
      )}
    </Disclosure>
  );
});

function ToolLine({ view }: { view: CallView }) {
  const { call, changed } = view;
  const isGrowing = call.status === "in_progress";
  const line = useMemo(
    () => (isGrowing ? oneLine(call.arguments) : argumentsLine(changed ?? call.arguments)),
    [isGrowing, call.arguments, changed],
  );
  return (
    <>
      <Icon name="tool" small />
      <span className="answer-call-name">{call.name}</span>
      <span className="answer-call-line one-line" dir="auto">
        {line}
      </span>
      <CallStatus view={view} />
    </>
  );
}

function ToolBody({ view }: { view: CallView }) {
  const words = useWords(answerWords);
  const { state, blocks, resultId } = view;
  const hasFailed = wentWrong(state);
  return (
    <>
      <Arguments view={view} />
      <Decisions view={view} />
      {resultId !== undefined && (blocks.length > 0 || state === "completed") && (
        <section className="answer-part" data-failed={hasFailed || undefined}>
          <p className="answer-label">{hasFailed ? words.problem : words.result}</p>
          {blocks.length === 0 ? (
            <p className="quiet">{words.noResult}</p>
          ) : (
            <Blocks blocks={blocks} isGrowing={state === "running"} />
          )}
        </section>
      )}
    </>
  );
}

/** As they come while they come; laid out once they are whole. Those that were run, where people have changed them. */
function Arguments({ view: { call, changed } }: { view: CallView }) {
  const words = useWords(answerWords);
  const isGrowing = call.status === "in_progress";
  const text = useMemo(
    () => (isGrowing ? call.arguments : readableArguments(changed ?? call.arguments)),
    [isGrowing, call.arguments, changed],
  );
  const isEmpty = !isGrowing && (text === "" || text === "{}");
  return (
    <section className="answer-part">
      <p className="answer-label">{words.arguments}</p>
      {isEmpty ? (
        <p className="quiet">{words.noArguments}</p>
      ) : (
        <LongText text={text} mono label={words.arguments} />
      )}
      {changed !== undefined && <AskedByModel call={call} />}
    </section>
  );
}

function CallProgress({ view: { call, child }, open }: { view: CallView; open: boolean }) {
  const page = usePage();
  const words = useWords(answerWords);
  const { rootTaskId = "" } = useScene();
  // Unfolded, the timeline of a sub-agent says itself what its model tells.
  const isSaidWithin = open && child?.timeline.awaitsModel === true;
  const progress = usePicked(
    page.progress(rootTaskId),
    (all) =>
      all[callProgressKey(call.call_id)] ??
      (child === undefined || isSaidWithin ? undefined : all[modelProgressKey(call.call_id)]),
  );
  if (progress === undefined) return null;
  return <ProgressLine progress={progress} label={words.progressOf(call.name)} />;
}

/** The text that a running tool has streamed last is seen without unfolding anything. */
function LiveText({ view: { call, blocks } }: { view: CallView }) {
  const words = useWords(answerWords);
  const last = blocks.findLast(({ type }) => type === "text");
  if (last?.type !== "text" || last.text === "") return null;
  return (
    <div className="answer-live">
      <GrowingText text={last.text} label={words.outputOf(call.name)} />
    </div>
  );
}

/** Pictures are seen without unfolding anything. */
function Pictures({ view: { blocks, state } }: { view: CallView }) {
  if (!blocks.some(({ type }) => type === "image")) return null;
  return (
    <div className="answer-pictures">
      {blocks.map((block, at) =>
        block.type === "image" ? (
          <BlockView
            key={at}
            block={block}
            number={at + 1}
            isGrowing={state === "running" && at === blocks.length - 1}
          />
        ) : null,
      )}
    </div>
  );
}

interface CallGroupProps {
  calls: readonly CallView[];
  depth: number;
  draw: DrawTimeline;
}

const partLength = 16;
/** So many at the end, and the first part: all of a small group, and what is added to a large one or unfolded. */
const drawnAtOnce = 2 * partLength;

/** Calls that the model made in one go stand in one frame; a single one stands alone. */
export const CallGroup = memo(function CallGroup({ calls, depth, draw }: CallGroupProps) {
  const words = useWords(answerWords);
  const parts = partsOf(calls, partLength);
  const isGroup = calls.length > 1;
  const done = calls.filter(({ state }) => !isOpenState(state)).length;
  return (
    <div
      className="answer-calls"
      data-group={isGroup || undefined}
      role={isGroup ? "group" : undefined}
      aria-label={isGroup ? words.calls(calls.length) : undefined}
    >
      {isGroup && (
        <div className="answer-calls-head">
          <span>{words.calls(calls.length)}</span>
          {done < calls.length && <span>{words.callsDone(done, calls.length)}</span>}
        </div>
      )}
      {parts.map(({ from, part }) => (
        <Calls
          key={from}
          calls={part}
          depth={depth}
          draw={draw}
          isDrawnAtOnce={from === 0 || from >= calls.length - drawnAtOnce}
          isWhole={parts.length === 1}
        />
      ))}
    </div>
  );
});

interface CallsProps extends CallGroupProps {
  isDrawnAtOnce: boolean;
  /** All of the group: drawn with the steps around it, so that whoever presses Tab there finds it. */
  isWhole: boolean;
}

const Calls = memo(
  function Calls({ calls, depth, draw, isDrawnAtOnce, isWhole }: CallsProps) {
    const isWanted = useAreCallsWanted(calls);
    return (
      <LazyMount
        name={`calls from ${calls[0]?.call.call_id}`}
        className="answer-calls-part"
        guess={() => guessedHeightOfCalls(calls)}
        isWanted={isWanted || isWhole}
        isDrawnAtOnce={isDrawnAtOnce}
      >
        {() =>
          calls.map((view) => (
            <CallCard key={view.call.call_id} view={view} depth={depth} draw={draw} />
          ))
        }
      </LazyMount>
    );
  },
  ({ calls: before, ...rest }, { calls, ...others }) =>
    isSame(before, calls) && isSame(rest, others),
);
