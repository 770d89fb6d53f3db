import { useId, useRef } from "react";
import { addUsage } from "@deltawire/tasks";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import { notesOf, type Note } from "../answer/notes-of.ts";
import { UsualNotes } from "../answer/notes.tsx";
import { useRunningTask } from "../hooks/use-running-task.ts";
import { placeBeside } from "../parts/place-beside.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { costOf, type AnswerCost } from "./answer-facts.ts";
import { usedInRows, usedInShort } from "./usage-words.ts";
import { chatWords } from "./words.ts";

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
  return chain.flatMap(({ notices, chain: { warnings = [] } = {} }) => {
    const { told, usual } = notesOf(notices, warnings);
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
