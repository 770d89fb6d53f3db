import { memo } from "react";
import type { ReasoningItem } from "@deltawire/tasks";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { LazyMarkdown } from "../markdown/lazy-markdown.tsx";
import { Icon } from "../ui/icon.tsx";
import { useFormatter } from "../messages/format.ts";
import { Disclosure } from "./disclosure.tsx";
import { ElapsedTime } from "./elapsed-time.tsx";
import { useDisclosureState } from "./disclosure-state.ts";
import { LongText } from "../blocks/long-text.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { answerMessages } from "./messages.ts";

interface ReasoningProps {
  item: ReasoningItem;
  startedAt: string | undefined;
}

export const Reasoning = memo(function Reasoning({ item, startedAt }: ReasoningProps) {
  const app = useAppStore();
  const isStreaming = item.status === "in_progress";
  const opensByDefault = useCellSelector(app.preferences, ({ reasoning }) => reasoning === "open");
  const [open, setOpen] = useDisclosureState(item.id, opensByDefault && isStreaming);
  const summary = joinTexts(item.summary);
  const raw = joinTexts(item.content);
  return (
    <Disclosure
      className="answer-reasoning"
      open={open}
      onToggle={setOpen}
      hasBody={summary !== "" || raw !== ""}
      summary={
        <>
          <Icon name="reasoning" small />
          <ReasoningHeading item={item} startedAt={startedAt} />
        </>
      }
    >
      {summary !== "" && <LazyMarkdown text={summary} isStreaming={isStreaming} />}
      {raw !== "" && <RawReasoning text={raw} hasLabel={summary !== ""} />}
    </Disclosure>
  );
});

function ReasoningHeading({ item, startedAt }: ReasoningProps) {
  const t = useMessages(answerMessages);
  const format = useFormatter();
  if (item.status === "in_progress")
    return (
      <span className="answer-pulsing">
        {t.thinking} … <ElapsedTime startedAt={startedAt} />
      </span>
    );
  const { duration_ms: durationMs } = item;
  return (
    <span>{durationMs === undefined ? t.thought : t.thoughtFor(format.duration(durationMs))}</span>
  );
}

function RawReasoning({ text, hasLabel }: { text: string; hasLabel: boolean }) {
  const t = useMessages(answerMessages);
  return (
    <>
      {hasLabel && <p className="answer-label">{t.rawReasoning}</p>}
      <LongText text={text} />
    </>
  );
}

function joinTexts(parts: ReasoningItem["summary"] | undefined): string {
  return (parts ?? [])
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n");
}
