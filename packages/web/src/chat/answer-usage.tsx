import { useId, useRef } from "react";
import { addUsage, type Usage } from "@deltawire/tasks";
import { answerTree, chainWarnings, type AnswerVersion } from "@deltawire/tasks/chats";
import { notesOf, UsualNotes, type Note } from "../answer/notes.tsx";
import { useRunningTask } from "../hooks/use-page.ts";
import { placeBeside } from "../parts/place-beside.ts";
import { useFormat, type Format } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { costOf, type AnswerCost } from "./answer-facts.ts";
import { chatWords, type ChatWords } from "./words.ts";

/** Tokens, cost and time of an answer in short; pressed, all that is known of them, which stays open when the answer ends. */
export function AnswerUsage({ chain }: { chain: readonly AnswerVersion[] }) {
  const last = chain.at(-1);
  const live = useRunningTask(last, ({ tree_usage: tree, usage }) => tree ?? usage);
  if (last?.status !== "running" || last.task_id === undefined)
    return <Used cost={costOf(chain)} usual={usualIn(chain)} />;
  const before = costOf(chain.slice(0, -1)).usage;
  const usage =
    live === undefined || before === undefined ? (live ?? before) : addUsage(before, live);
  return (
    <Used
      cost={{ usage, ofSubAgents: 0, timeMs: undefined, stats: undefined, toolRounds: 0 }}
      usual={[]}
    />
  );
}

/** What was adapted without a loss, unless it stands among the notes below the answer. */
function usualIn(chain: readonly AnswerVersion[]): readonly Note[] {
  return chain.flatMap((version) => {
    const { told, usual } = notesOf(version.notices, chainWarnings(answerTree(version)));
    return told.length === 0 ? usual : [];
  });
}

function Used({ cost, usual }: { cost: AnswerCost; usual: readonly Note[] }) {
  const format = useFormat();
  const words = useWords(chatWords);
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const { usage, timeMs } = cost;
  const short = usedInShort(usage, format, words);
  if (timeMs !== undefined) short.push(format.duration(timeMs));
  if (short.length === 0) return null;
  return (
    <>
      <button
        ref={button}
        type="button"
        className="chat-usage"
        title={words.usage}
        aria-haspopup="dialog"
        popoverTarget={id}
      >
        {short.join(" · ")}
      </button>
      <div
        id={id}
        className="chat-usage-rows"
        popover="auto"
        role="dialog"
        aria-label={words.usage}
        onToggle={({ currentTarget, newState }) => {
          const isOpen = newState === "open";
          if (isOpen && button.current !== null) placeBeside(currentTarget, button.current);
          currentTarget.toggleAttribute("data-placed", isOpen);
        }}
      >
        <dl>
          {usedInRows(cost, format, words).map(({ name, value, isPart }) => (
            <div key={name} data-part={isPart || undefined}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {usage?.estimated === true && <p>{words.estimated}</p>}
        <UsualNotes usual={usual} />
      </div>
    </>
  );
}

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
