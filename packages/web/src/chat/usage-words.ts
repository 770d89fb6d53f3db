import type { Usage } from "@deltawire/tasks";
import type { Format } from "../words/format.ts";
import type { AnswerCost } from "./answer-facts.ts";
import type { ChatWords } from "./words.ts";

/** What something used, in short: tokens and, where there is a price, what they cost. */
export function usedInShort(
  usage: Usage | undefined,
  format: Format,
  words: Pick<ChatWords, "tokens" | "cost" | "about">,
): string[] {
  if (usage === undefined || usage.total_tokens === 0) return [];
  const { total_tokens, cost, estimated } = usage;
  const tokens = words.tokens(format.tokens(total_tokens));
  return [
    estimated === true ? words.about(tokens) : tokens,
    ...(cost === undefined || cost === 0 ? [] : [words.cost(format.cost(cost))]),
  ];
}

export interface UsedRow {
  readonly name: string;
  readonly value: string;
  /** A part of the row before it. */
  readonly isPart: boolean;
}

/** All that is known of it. What nobody told, and parts of nothing, are left out. */
export function usedInRows(
  { usage, ofSubAgents, timeMs, stats, toolRounds }: AnswerCost,
  format: Format,
  words: ChatWords,
): UsedRow[] {
  const rows: UsedRow[] = [];
  const add = (name: string, value: string) => rows.push({ name, value, isPart: false });
  const addPart = (name: string, count: number | undefined) => {
    if (count !== undefined && count > 0)
      rows.push({ name, value: format.tokens(count), isPart: true });
  };
  if (usage !== undefined) {
    add(words.input, format.tokens(usage.input_tokens));
    addPart(words.cached, usage.cached_tokens);
    add(words.output, format.tokens(usage.output_tokens));
    addPart(words.reasoning, usage.reasoning_tokens);
    add(words.total, format.tokens(usage.total_tokens));
    addPart(words.subAgents, ofSubAgents);
    if (usage.cost !== undefined) add(words.costLabel, format.cost(usage.cost));
  }
  if (timeMs !== undefined) add(words.time, format.duration(timeMs));
  if (stats === undefined) return rows;
  const addTime = (name: string, ms: number) => {
    if (ms > 0) rows.push({ name, value: format.duration(ms), isPart: timeMs !== undefined });
  };
  addTime(words.modelTime, stats.model_ms);
  addTime(words.toolTime, stats.tool_ms);
  addTime(words.waitedTime, stats.waited_ms);
  if (stats.rounds > 0) add(words.modelRequests, String(stats.rounds));
  if (toolRounds > 0) add(words.toolRounds, String(toolRounds));
  if (stats.calls > 0) add(words.toolCalls, String(stats.calls));
  const { completed = 0, ...others } = stats.outcomes;
  if (completed < stats.calls) addPart(words.completedCalls, completed);
  const names: Readonly<Record<string, string>> = {
    failed: words.failedCalls,
    timeout: words.timeoutCalls,
    denied: words.deniedCalls,
    canceled: words.canceledCalls,
    incomplete: words.incompleteCalls,
    unknown: words.unknownCalls,
  };
  for (const [outcome, count] of Object.entries(others)) addPart(names[outcome] ?? outcome, count);
  return rows;
}
