import { useLayoutEffect, useRef, type Ref } from "react";
import { Button } from "../parts/button.tsx";
import { placeBeside } from "../parts/place-beside.ts";
import { addressOf } from "../texts/address.ts";
import { Blocks } from "../blocks/blocks.tsx";
import { useWords } from "../words/use-words.ts";
import { sourceName } from "./source-name.ts";
import type { Source } from "./sources.ts";
import { answerWords } from "./words.ts";

interface SourceCardProps {
  id: string;
  ref: Ref<HTMLDivElement>;
  name: string;
  /** Absent: the number is nobody's. */
  source: Source | undefined;
  beside: Element;
  onGo: () => void;
}

/** What a number stands for, above everything else on the page. */
export function SourceCard({ id, ref, name, source, beside, onGo }: SourceCardProps) {
  const words = useWords(answerWords);
  const shown = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const card = shown.current;
    if (card === null) return undefined;
    card.showPopover();
    const place = () => placeBeside(card, beside);
    place();
    // Pictures come later, and the text below them moves.
    const sizes = new ResizeObserver(place);
    sizes.observe(card);
    addEventListener("scroll", place, { capture: true, passive: true });
    return () => {
      sizes.disconnect();
      removeEventListener("scroll", place, { capture: true });
    };
  }, [beside]);
  return (
    <div
      ref={(element) => {
        shown.current = element;
        if (typeof ref === "function") ref(element);
        else if (ref !== null) ref.current = element;
      }}
      id={id}
      className="answer-source-card"
      popover="manual"
      role="dialog"
      aria-label={name}
    >
      {source === undefined ? (
        <>
          <strong>{name}</strong>
          <p>{words.unresolvedWhy}</p>
        </>
      ) : (
        <SourceContent source={source} onGo={onGo} />
      )}
    </div>
  );
}

function SourceContent({ source, onGo }: { source: Source; onGo: () => void }) {
  const words = useWords(answerWords);
  const { blocks, tool, url = "" } = source;
  const page = addressOf(url);
  return (
    <>
      <strong dir="auto">{sourceName(source)}</strong>
      {page.is === "elsewhere" && (
        <a href={page.url} target="_blank" rel="noreferrer noopener">
          {page.host}
        </a>
      )}
      {blocks.length === 0 ? (
        <p className="answer-quiet">{words.noBlocks}</p>
      ) : (
        <div className="answer-source-blocks">
          <Blocks blocks={blocks} />
        </div>
      )}
      <div className="answer-source-foot">
        <span className="answer-quiet">{words.foundBy(tool)}</span>
        <Button small icon="go" onClick={onGo}>
          {words.goToCall}
        </Button>
      </div>
    </>
  );
}
