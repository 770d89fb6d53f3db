import { useMemo, useState, type ReactNode } from "react";
import { assertNever, type MessageItem, type ToolCallItem } from "@deltawire/tasks";
import { ContentBlocks } from "../blocks/content-blocks.tsx";
import { LongText } from "../blocks/long-text.tsx";
import { useMarkdownToTextPieces } from "../markdown/lazy-markdown.tsx";
import type { MarkdownToTextPieces } from "../markdown/markdown.tsx";
import { memoizeByObject } from "../memoize.ts";
import { IconButton } from "../ui/button.tsx";
import { focusOnUnmount } from "../ui/focus.ts";
import { Icon } from "../ui/icon.tsx";
import { useFormatter, type Formatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { summarizeArguments, toSingleLine } from "./summarize-arguments.ts";
import { OriginalArguments, CallStatus, CallDecisions } from "./call-details.tsx";
import { useAnswerContext } from "./answer-context.ts";
import {
  isCallUnfinished,
  getTimelineSteps,
  type CallViewModel,
  type StepViewModel,
  type SubAgentViewModel,
  type TimelineViewModel,
} from "./timeline-view-model.ts";
import { answerMessages, type AnswerMessages } from "./messages.ts";

interface SubAgentProps {
  view: CallViewModel;
  child: SubAgentViewModel;
}

/** Name, current activity and cost of a sub-agent. */
export function SubAgentSummary({ view, child }: SubAgentProps) {
  const t = useMessages(answerMessages);
  const format = useFormatter();
  const toText = useMarkdownToTextPieces();
  return (
    <>
      <Icon name="people" small />
      <span className="answer-call-name">
        <span className="visually-hidden">{t.subAgent} </span>
        {child.agent ?? view.call.name}
      </span>
      <span className="answer-call-summary single-line" dir="auto">
        {formatActivity(getActivity(child, toText), t)}
      </span>
      <span className="answer-facts">{formatFacts(child, t, format).join(" · ")}</span>
      <CallStatus view={view} />
    </>
  );
}

interface SubAgentBodyProps extends SubAgentProps {
  depth: number;
  /** The timeline of the sub-agent. */
  children: ReactNode;
}

export function SubAgentBody({ view, child, depth, children }: SubAgentBodyProps) {
  const t = useMessages(answerMessages);
  const { call, editedArguments } = view;
  const executedArguments = editedArguments ?? call.arguments;
  const prompt = useMemo(() => parsePrompt(executedArguments), [executedArguments]);
  return (
    <>
      {prompt !== "" && (
        <section className="answer-section">
          <p className="answer-label">{t.prompt}</p>
          <LongText text={prompt} />
        </section>
      )}
      {editedArguments !== undefined && <OriginalArguments call={call} />}
      <CallDecisions view={view} />
      <div className="answer-nested" data-depth={Math.min(depth, maxIndentDepth)}>
        {children}
      </div>
      {child.error !== undefined && (
        <p className="answer-problem" dir="auto">
          {child.error.message}
        </p>
      )}
      <ContentBlocks blocks={view.blocks} />
    </>
  );
}

/** Deeper levels are not indented further: on a phone no space would be left. */
const maxIndentDepth = 4;

export function StopSubAgentButton({
  call,
  child,
}: {
  call: ToolCallItem;
  child: SubAgentViewModel;
}) {
  const t = useMessages(answerMessages);
  const { chat } = useAnswerContext();
  const [isStopping, setStopping] = useState(false);
  const stop = async () => {
    if (isStopping) return;
    setStopping(true);
    await chat.cancelTask(call.call_id);
    setStopping(false);
  };
  return (
    <IconButton
      ref={focusTriggerOnUnmount}
      icon="stop"
      small
      label={t.stopSubAgent(child.agent ?? call.name)}
      // Not `disabled`: a disabled button loses the focus before it unmounts.
      aria-disabled={isStopping || undefined}
      onClick={() => void stop()}
    />
  );
}

const focusTriggerOnUnmount = focusOnUnmount((button) =>
  button
    .closest(".answer-disclosure-header")
    ?.querySelector<HTMLElement>(".answer-disclosure-trigger"),
);

function formatActivity(activity: SubAgentActivity, t: AnswerMessages): string {
  switch (activity.type) {
    case "starting":
      return t.starting;
    case "thinking":
      return t.thinkingNow;
    case "writing":
      return t.writingNow;
    case "silent":
      return t.noOutput;
    case "waiting":
      return t.waitingNow(activity.tool);
    case "calling":
      return `${activity.tool} ${activity.line}`.trim();
    case "delegating":
      return `${activity.agent}: ${formatActivity(activity.activity, t)}`;
    case "answered":
      return activity.line;
    default:
      return assertNever(activity);
  }
}

function formatFacts(
  { timeline, usage }: SubAgentViewModel,
  t: AnswerMessages,
  format: Formatter,
): string[] {
  const { total_tokens: tokens = 0, cost } = usage ?? {};
  return [
    t.steps(countSteps(timeline)),
    ...(tokens === 0 ? [] : [t.tokens(format.compactCount(tokens))]),
    ...(cost === undefined ? [] : [t.cost(format.cost(cost))]),
  ];
}

function parsePrompt(json: string): string {
  try {
    const input = JSON.parse(json) as { prompt?: unknown } | null;
    return typeof input?.prompt === "string" ? input.prompt : "";
  } catch {
    return "";
  }
}

/** What a sub-agent is doing; once it has ended, its last message or its error. */
export type SubAgentActivity =
  | { readonly type: "starting" | "thinking" | "writing" | "silent" }
  | { readonly type: "waiting"; readonly tool: string }
  | { readonly type: "calling"; readonly tool: string; readonly line: string }
  /** Waiting for another sub-agent, whose activity is included. */
  | { readonly type: "delegating"; readonly agent: string; readonly activity: SubAgentActivity }
  | { readonly type: "answered"; readonly line: string };

function getActivity(
  { timeline, error }: SubAgentViewModel,
  toText: MarkdownToTextPieces,
): SubAgentActivity {
  const [approval] = timeline.pendingApprovals;
  if (approval !== undefined) return { type: "waiting", tool: approval.tool ?? "" };
  const lastStep = timeline.stepChunks.at(-1)?.at(-1);
  if (!timeline.isRunning) {
    const lastMessage = getTimelineSteps(timeline).findLast((step) => step.type === "message");
    const line = toSingleLine(
      lastMessage?.type === "message"
        ? excerptMessage(lastMessage.item, toText)
        : (error?.message ?? ""),
    );
    return line === "" ? { type: "silent" } : { type: "answered", line };
  }
  if (lastStep === undefined) return { type: "starting" };
  if (lastStep.type === "calls") {
    const openCall = lastStep.calls.findLast(({ state }) => isCallUnfinished(state));
    if (openCall === undefined) return { type: "thinking" };
    const { name, status, arguments: json } = openCall.call;
    if (openCall.child !== undefined)
      return {
        type: "delegating",
        agent: openCall.child.agent ?? name,
        activity: getActivity(openCall.child, toText),
      };
    return {
      type: "calling",
      tool: name,
      line: status === "in_progress" ? "" : summarizeArguments(openCall.editedArguments ?? json),
    };
  }
  return { type: lastStep.type === "message" ? "writing" : "thinking" };
}

/** Counts the steps of a sub-agent, without those of its own sub-agents. */
function countSteps(timeline: TimelineViewModel): number {
  return timeline.stepChunks.reduce((sum, chunk) => sum + countChunkSteps(chunk), 0);
}

const countChunkSteps = memoizeByObject((chunk: readonly StepViewModel[]) =>
  chunk.reduce((sum, step) => sum + (step.type === "calls" ? step.calls.length : 1), 0),
);

/** More characters than fit on one line. */
const excerptLength = 2000;

function excerptMessage({ block_list }: MessageItem, toText: MarkdownToTextPieces): string {
  const texts = block_list.flatMap((block) =>
    block.type === "text"
      ? toText({ ...block, text: block.text.slice(0, excerptLength) }, false)
      : [],
  );
  return texts.join(" ").slice(0, excerptLength);
}
