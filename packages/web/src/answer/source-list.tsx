import { memo } from "react";
import { addressOf } from "../texts/address.ts";
import { useWords } from "../words/use-words.ts";
import { Disclosure } from "./disclosure.tsx";
import { useGoToSource, type EarlierSources } from "./earlier-sources.ts";
import { useFold } from "./folds.ts";
import { sourceName, type Source, type Sources } from "./sources.ts";
import { answerWords } from "./words.ts";

interface SourceListProps {
  sources: Sources;
  earlier: EarlierSources;
  cited: readonly number[];
  versionId: string;
}

/** More than these are folded. */
const fewest = 3;

/** What an answer cites, at its end. */
export const SourceList = memo(function SourceList({
  sources,
  earlier,
  cited,
  versionId,
}: SourceListProps) {
  const words = useWords(answerWords);
  const found = cited.flatMap((number) => sources.get(number) ?? earlier.find(number) ?? []);
  const [open, setOpen] = useFold(`sources ${versionId}`, found.length <= fewest);
  if (found.length === 0) return null;
  return (
    <Disclosure
      className="answer-sources"
      open={open}
      onToggle={setOpen}
      head={<span>{words.sources(found.length)}</span>}
    >
      <ul>
        {found.map((source) => (
          <SourceLine key={source.number} source={source} />
        ))}
      </ul>
    </Disclosure>
  );
});

function SourceLine({ source }: { source: Source }) {
  const words = useWords(answerWords);
  const goTo = useGoToSource();
  const page = addressOf(source.url ?? "");
  return (
    <li>
      <span className="answer-number" aria-hidden="true">
        {source.number}
      </span>
      <button
        type="button"
        className="answer-source-go"
        title={words.goToCall}
        onClick={(event) => goTo(event.currentTarget, source)}
      >
        <span className="for-readers">{words.source(source.number)} </span>
        <span dir="auto">{sourceName(source)}</span>
      </button>
      {page.is === "elsewhere" && (
        <a href={page.url} target="_blank" rel="noreferrer noopener">
          {page.host}
        </a>
      )}
    </li>
  );
}
