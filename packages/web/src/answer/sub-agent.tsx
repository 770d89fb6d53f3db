import { useMemo, useState, type ReactNode } from "react";
import type { MessageItem, ToolCallItem } from "@deltawire/tasks";
import { Blocks } from "../blocks/blocks.tsx";
import { LongText } from "../blocks/long-text.tsx";
import { useReadMarkdown } from "../markdown/lazy-markdown.tsx";
import type { ReadMarkdown } from "../markdown/markdown.tsx";
import { once } from "../once.ts";
import { IconButton } from "../parts/button.tsx";
import { passesFocusTo } from "../parts/focus.ts";
import { Icon } from "../parts/icon.tsx";
import { unreachable } from "../unreachable.ts";
import { useFormat, type Format } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { argumentsLine, oneLine } from "./arguments-line.ts";
import { AskedByModel, CallStatus, Decisions } from "./call-details.tsx";
import { useScene } from "./scene.ts";
import {
  isOpenState,
  stepsIn,
  type CallView,
  type StepView,
  type SubAgentView,
  type TimelineView,
} from "./timeline-view.ts";
import { answerWords, type AnswerWords } from "./words.ts";

interface SubAgentProps {
  view: CallView;
  child: SubAgentView;
}

/** Who it is, what it does now, what it has cost. */
export function SubAgentLine({ view, child }: SubAgentProps) {
  const words = useWords(answerWords);
  const format = useFormat();
  const read = useReadMarkdown();
  return (
    <>
      <Icon name="people" small />
      <span className="answer-call-name">
        <span className="for-readers">{words.subAgent} </span>
        {child.agent ?? view.call.name}
      </span>
      <span className="answer-call-line one-line" dir="auto">
        {inWords(nowOf(child, read), words)}
      </span>
      <span className="answer-facts">{factsOf(child, words, format).join(" · ")}</span>
      <CallStatus view={view} />
    </>
  );
}

interface SubAgentBodyProps extends SubAgentProps {
  depth: number;
  /** Its timeline. */
  children: ReactNode;
}

export function SubAgentBody({ view, child, depth, children }: SubAgentBodyProps) {
  const words = useWords(answerWords);
  const { call, changed } = view;
  const ran = changed ?? call.arguments;
  const prompt = useMemo(() => promptIn(ran), [ran]);
  return (
    <>
      {prompt !== "" && (
        <section className="answer-part">
          <p className="answer-label">{words.askedTo}</p>
          <LongText text={prompt} />
        </section>
      )}
      {changed !== undefined && <AskedByModel call={call} />}
      <Decisions view={view} />
      <div className="answer-nested" data-depth={Math.min(depth, deepestIndent)}>
        {children}
      </div>
      {child.error !== undefined && (
        <p className="answer-problem" dir="auto">
          {child.error.message}
        </p>
      )}
      <Blocks blocks={view.blocks} />
    </>
  );
}

/** Deeper ones are not moved in any further: on a phone nothing would be left of the line. */
const deepestIndent = 4;

export function StopSubAgent({ call, child }: { call: ToolCallItem; child: SubAgentView }) {
  const words = useWords(answerWords);
  const { chat } = useScene();
  const [isStopping, setStopping] = useState(false);
  const stop = async () => {
    if (isStopping) return;
    setStopping(true);
    await chat.cancelTask(call.call_id);
    setStopping(false);
  };
  return (
    <IconButton
      ref={passesToLine}
      icon="stop"
      small
      label={words.stopSubAgent(child.agent ?? call.name)}
      // Disabled, it would lose the focus before it goes.
      aria-disabled={isStopping || undefined}
      onClick={() => void stop()}
    />
  );
}

const passesToLine = passesFocusTo((button) =>
  button.closest(".answer-fold-line")?.querySelector<HTMLElement>(".answer-fold-head"),
);

function inWords(now: SubAgentNow, words: AnswerWords): string {
  switch (now.is) {
    case "starting":
      return words.starting;
    case "thinking":
      return words.nowThinking;
    case "writing":
      return words.nowWriting;
    case "silent":
      return words.saidNothing;
    case "waiting":
      return words.nowWaiting(now.tool);
    case "calling":
      return `${now.tool} ${now.line}`.trim();
    case "asking":
      return `${now.agent}: ${inWords(now.now, words)}`;
    case "said":
      return now.line;
    default:
      return unreachable(now);
  }
}

function factsOf({ timeline, usage }: SubAgentView, words: AnswerWords, format: Format): string[] {
  const { total_tokens: tokens = 0, cost } = usage ?? {};
  return [
    words.steps(stepCount(timeline)),
    ...(tokens === 0 ? [] : [words.tokens(format.tokens(tokens))]),
    ...(cost === undefined ? [] : [words.cost(format.cost(cost))]),
  ];
}

function promptIn(json: string): string {
  try {
    const given = JSON.parse(json) as { prompt?: unknown } | null;
    return typeof given?.prompt === "string" ? given.prompt : "";
  } catch {
    return "";
  }
}

/** What a sub-agent does now, or what it has said last; why it failed, if it has said nothing. */
export type SubAgentNow =
  | { readonly is: "starting" | "thinking" | "writing" | "silent" }
  | { readonly is: "waiting"; readonly tool: string }
  | { readonly is: "calling"; readonly tool: string; readonly line: string }
  /** Another sub-agent, which does something itself. */
  | { readonly is: "asking"; readonly agent: string; readonly now: SubAgentNow }
  | { readonly is: "said"; readonly line: string };

function nowOf({ timeline, error }: SubAgentView, read: ReadMarkdown): SubAgentNow {
  const [first] = timeline.pending;
  if (first !== undefined) return { is: "waiting", tool: first.tool ?? "" };
  const last = timeline.pieces.at(-1)?.at(-1);
  if (!timeline.isRunning) {
    const said = stepsIn(timeline).findLast((step) => step.is === "message");
    const line = oneLine(said?.is === "message" ? textOf(said.item, read) : (error?.message ?? ""));
    return line === "" ? { is: "silent" } : { is: "said", line };
  }
  if (last === undefined) return { is: "starting" };
  if (last.is === "calls") {
    const open = last.calls.findLast(({ state }) => isOpenState(state));
    if (open === undefined) return { is: "thinking" };
    const { name, status, arguments: json } = open.call;
    if (open.child !== undefined)
      return { is: "asking", agent: open.child.agent ?? name, now: nowOf(open.child, read) };
    return {
      is: "calling",
      tool: name,
      line: status === "in_progress" ? "" : argumentsLine(open.changed ?? json),
    };
  }
  return { is: last.is === "message" ? "writing" : "thinking" };
}

/** How many things it has done, those of the agents that it asked not counted. */
function stepCount(timeline: TimelineView): number {
  return timeline.pieces.reduce((sum, piece) => sum + countOf(piece), 0);
}

const countOf = once((piece: readonly StepView[]) =>
  piece.reduce((sum, step) => sum + (step.is === "calls" ? step.calls.length : 1), 0),
);

/** More than one line shows. */
const excerptLength = 2000;

function textOf({ block_list }: MessageItem, read: ReadMarkdown): string {
  const texts = block_list.flatMap((block) =>
    block.type === "text"
      ? read({ ...block, text: block.text.slice(0, excerptLength) }, false)
      : [],
  );
  return texts.join(" ").slice(0, excerptLength);
}
