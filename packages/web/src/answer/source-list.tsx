import { memo } from "react";
import { addressOf } from "../texts/address.ts";
import { useWords } from "../words/use-words.ts";
import { Disclosure } from "./disclosure.tsx";
import { useFold } from "./folds.ts";
import { goToCall } from "./go-to-call.ts";
import { sourceName } from "./source-name.ts";
import type { Source, Sources } from "./sources.ts";
import { answerWords } from "./words.ts";

interface SourceListProps {
  sources: Sources;
  cited: readonly number[];
  versionId: string;
}

/** More than these are folded. */
const fewest = 3;

/** What an answer cites, at its end. */
export const SourceList = memo(function SourceList({ sources, cited, versionId }: SourceListProps) {
  const words = useWords(answerWords);
  const [open, setOpen] = useFold(`sources ${versionId}`, cited.length <= fewest);
  if (cited.length === 0) return null;
  return (
    <Disclosure
      className="answer-sources"
      open={open}
      onToggle={setOpen}
      head={<span>{words.sources(cited.length)}</span>}
    >
      <ul>
        {cited.flatMap((number) => {
          const source = sources.get(number);
          return source === undefined ? [] : <SourceLine key={number} source={source} />;
        })}
      </ul>
    </Disclosure>
  );
});

function SourceLine({ source }: { source: Source }) {
  const words = useWords(answerWords);
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
        onClick={(event) => goToCall(event.currentTarget, source.path)}
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
