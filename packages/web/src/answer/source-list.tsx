import { memo } from "react";
import { classifyUrl } from "../text/classify-url.ts";
import { useMessages } from "../messages/use-messages.ts";
import { Disclosure } from "./disclosure.tsx";
import { useGoToSource, type EarlierSources } from "./earlier-sources.ts";
import { useDisclosureState } from "./disclosure-state.ts";
import { formatSourceName, type Source, type Sources } from "./sources.ts";
import { answerMessages } from "./messages.ts";

interface SourceListProps {
  sources: Sources;
  earlierSources: EarlierSources;
  citedNumbers: readonly number[];
  versionId: string;
}

/** Longer lists are initially collapsed. */
const maxOpenSources = 3;

/** The sources cited by an answer, listed below the answer. */
export const SourceList = memo(function SourceList({
  sources,
  earlierSources,
  citedNumbers,
  versionId,
}: SourceListProps) {
  const t = useMessages(answerMessages);
  const citedSources = citedNumbers.flatMap(
    (number) => sources.get(number) ?? earlierSources.find(number) ?? [],
  );
  const [open, setOpen] = useDisclosureState(
    `sources ${versionId}`,
    citedSources.length <= maxOpenSources,
  );
  if (citedSources.length === 0) return null;
  return (
    <Disclosure
      className="answer-sources"
      open={open}
      onToggle={setOpen}
      summary={<span>{t.sources(citedSources.length)}</span>}
    >
      <ul>
        {citedSources.map((source) => (
          <SourceListItem key={source.number} source={source} />
        ))}
      </ul>
    </Disclosure>
  );
});

function SourceListItem({ source }: { source: Source }) {
  const t = useMessages(answerMessages);
  const goToSource = useGoToSource();
  const link = classifyUrl(source.url ?? "");
  return (
    <li>
      <span className="answer-number" aria-hidden="true">
        {source.number}
      </span>
      <button
        type="button"
        className="answer-source-link"
        title={t.goToCall}
        onClick={(event) => goToSource(event.currentTarget, source)}
      >
        <span className="visually-hidden">{t.source(source.number)} </span>
        <span dir="auto">{formatSourceName(source)}</span>
      </button>
      {link.type === "external" && (
        <a href={link.url} target="_blank" rel="noreferrer noopener">
          {link.host}
        </a>
      )}
    </li>
  );
}
