import { useId, useRef } from "react";
import { addUsage, type Usage } from "@deltawire/tasks";
import { toAnswerTree, mergeWarnings, type AnswerVersion } from "@deltawire/tasks/chats";
import { groupNotices, LosslessNotices, type AnswerNotice } from "../answer/answer-notices.tsx";
import { useRunningTask } from "../hooks/use-app-store.ts";
import { positionPopover } from "../ui/anchored-popover.ts";
import { useFormatter, type Formatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { summarizeAnswerUsage, type AnswerUsageSummary } from "./answer-summary.ts";
import { chatViewMessages, type ChatViewMessages } from "./messages.ts";

/**
 * Tokens, cost and time of an answer. A click opens the details. Running and ended answers use the same component, so that
 * an open popover stays open when the answer ends.
 */
export function AnswerUsage({ chain }: { chain: readonly AnswerVersion[] }) {
  const lastVersion = chain.at(-1);
  const runningUsage = useRunningTask(lastVersion, ({ tree_usage, usage }) => tree_usage ?? usage);
  if (lastVersion?.status !== "running" || lastVersion.task_id === undefined)
    return (
      <UsageButton summary={summarizeAnswerUsage(chain)} notices={collectLosslessNotices(chain)} />
    );
  const previousUsage = summarizeAnswerUsage(chain.slice(0, -1)).usage;
  const usage =
    runningUsage === undefined || previousUsage === undefined
      ? (runningUsage ?? previousUsage)
      : addUsage(previousUsage, runningUsage);
  return (
    <UsageButton
      summary={{ usage, subAgentTokens: 0, timeMs: undefined, stats: undefined, toolRounds: 0 }}
      notices={[]}
    />
  );
}

/** Returns the lossless notices that are not already listed below the answer. */
function collectLosslessNotices(chain: readonly AnswerVersion[]): readonly AnswerNotice[] {
  return chain.flatMap((version) => {
    const { important, lossless } = groupNotices(
      version.notices,
      mergeWarnings(toAnswerTree(version)),
    );
    return important.length === 0 ? lossless : [];
  });
}

function UsageButton({
  summary,
  notices,
}: {
  summary: AnswerUsageSummary;
  notices: readonly AnswerNotice[];
}) {
  const format = useFormatter();
  const t = useMessages(chatViewMessages);
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const { usage, timeMs } = summary;
  const parts = formatUsage(usage, format, t);
  if (timeMs !== undefined) parts.push(format.duration(timeMs));
  if (parts.length === 0) return null;
  return (
    <>
      <button
        ref={button}
        type="button"
        className="chat-usage"
        title={t.usage}
        aria-haspopup="dialog"
        popoverTarget={id}
      >
        {parts.join(" · ")}
      </button>
      <div
        id={id}
        className="chat-usage-popover"
        popover="auto"
        role="dialog"
        aria-label={t.usage}
        onToggle={({ currentTarget, newState }) => {
          const isOpen = newState === "open";
          if (isOpen && button.current !== null) positionPopover(currentTarget, button.current);
          currentTarget.toggleAttribute("data-positioned", isOpen);
        }}
      >
        <dl>
          {toUsageRows(summary, format, t).map(({ name, value, isPart }) => (
            <div key={name} data-sub-row={isPart || undefined}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {usage?.estimated === true && <p>{t.estimated}</p>}
        <LosslessNotices notices={notices} />
      </div>
    </>
  );
}

/** Returns the tokens and, if known, the cost. Empty if nothing was used. */
export function formatUsage(
  usage: Usage | undefined,
  format: Formatter,
  t: Pick<ChatViewMessages, "tokens" | "cost" | "about">,
): string[] {
  if (usage === undefined || usage.total_tokens === 0) return [];
  const { total_tokens, cost, estimated } = usage;
  const tokens = t.tokens(format.compactCount(total_tokens));
  return [
    estimated === true ? t.about(tokens) : tokens,
    ...(cost === undefined || cost === 0 ? [] : [t.cost(format.cost(cost))]),
  ];
}

export interface UsageRow {
  readonly name: string;
  readonly value: string;
  /** True if the value is part of the row above. */
  readonly isPart: boolean;
}

/** Returns the details as rows. Unknown values, and parts that are zero, are omitted. */
export function toUsageRows(
  { usage, subAgentTokens, timeMs, stats, toolRounds }: AnswerUsageSummary,
  format: Formatter,
  t: ChatViewMessages,
): UsageRow[] {
  const rows: UsageRow[] = [];
  const add = (name: string, value: string) => rows.push({ name, value, isPart: false });
  const addPart = (name: string, count: number | undefined) => {
    if (count !== undefined && count > 0)
      rows.push({ name, value: format.compactCount(count), isPart: true });
  };
  if (usage !== undefined) {
    add(t.input, format.compactCount(usage.input_tokens));
    addPart(t.cached, usage.cached_tokens);
    add(t.output, format.compactCount(usage.output_tokens));
    addPart(t.reasoning, usage.reasoning_tokens);
    add(t.total, format.compactCount(usage.total_tokens));
    addPart(t.subAgents, subAgentTokens);
    if (usage.cost !== undefined) add(t.costLabel, format.cost(usage.cost));
  }
  if (timeMs !== undefined) add(t.time, format.duration(timeMs));
  if (stats === undefined) return rows;
  const addTime = (name: string, ms: number) => {
    if (ms > 0) rows.push({ name, value: format.duration(ms), isPart: timeMs !== undefined });
  };
  addTime(t.modelTime, stats.model_ms);
  addTime(t.toolTime, stats.tool_ms);
  addTime(t.approvalTime, stats.waited_ms);
  if (stats.rounds > 0) add(t.modelRequests, String(stats.rounds));
  if (toolRounds > 0) add(t.toolRounds, String(toolRounds));
  if (stats.calls > 0) add(t.toolCalls, String(stats.calls));
  const { completed = 0, ...others } = stats.outcomes;
  if (completed < stats.calls) addPart(t.completedCalls, completed);
  const outcomeLabels: Readonly<Record<string, string>> = {
    failed: t.failedCalls,
    timeout: t.timeoutCalls,
    denied: t.deniedCalls,
    canceled: t.canceledCalls,
    incomplete: t.incompleteCalls,
    unknown: t.unknownCalls,
  };
  for (const [outcome, count] of Object.entries(others))
    addPart(outcomeLabels[outcome] ?? outcome, count);
  return rows;
}
