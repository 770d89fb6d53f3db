import { memo } from "react";
import type { ReasoningItem } from "@deltawire/tasks";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { LazyMarkdown } from "../markdown/lazy-markdown.tsx";
import { Icon } from "../parts/icon.tsx";
import { useFormat } from "../words/format.ts";
import { Disclosure } from "./disclosure.tsx";
import { Elapsed } from "./elapsed.tsx";
import { useFold } from "./folds.ts";
import { LongText } from "../blocks/long-text.tsx";
import { useWords } from "../words/use-words.ts";
import { answerWords } from "./words.ts";

interface ReasoningProps {
  item: ReasoningItem;
  startedAt: string | undefined;
}

export const Reasoning = memo(function Reasoning({ item, startedAt }: ReasoningProps) {
  const page = usePage();
  const isGrowing = item.status === "in_progress";
  const isWished = usePicked(page.preferences, ({ reasoning }) => reasoning === "open");
  const [open, setOpen] = useFold(item.id, isWished && isGrowing);
  const summary = joined(item.summary);
  const raw = joined(item.content);
  return (
    <Disclosure
      className="answer-reasoning"
      open={open}
      onToggle={setOpen}
      hasBody={summary !== "" || raw !== ""}
      head={
        <>
          <Icon name="think" small />
          <Heading item={item} startedAt={startedAt} />
        </>
      }
    >
      {summary !== "" && <LazyMarkdown text={summary} growing={isGrowing} />}
      {raw !== "" && <Raw text={raw} isAlone={summary === ""} />}
    </Disclosure>
  );
});

function Heading({ item, startedAt }: ReasoningProps) {
  const words = useWords(answerWords);
  const format = useFormat();
  if (item.status === "in_progress")
    return (
      <span className="answer-breathing">
        {words.thinking} … <Elapsed since={startedAt} />
      </span>
    );
  const { duration_ms: took } = item;
  return (
    <span>{took === undefined ? words.thought : words.thoughtFor(format.duration(took))}</span>
  );
}

function Raw({ text, isAlone }: { text: string; isAlone: boolean }) {
  const words = useWords(answerWords);
  return (
    <>
      {!isAlone && <p className="answer-label">{words.rawReasoning}</p>}
      <LongText text={text} />
    </>
  );
}

function joined(parts: ReasoningItem["summary"] | undefined): string {
  return (parts ?? [])
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n");
}
