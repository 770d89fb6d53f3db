import {
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type Ref,
} from "react";
import { createPortal } from "react-dom";
import { Blocks } from "../blocks/blocks.tsx";
import { Button } from "../parts/button.tsx";
import { placeBeside } from "../parts/place-beside.ts";
import { addressOf } from "../texts/address.ts";
import { useWords } from "../words/use-words.ts";
import { useGoToSource, useSource } from "./earlier-sources.ts";
import { sourceName, type Source } from "./sources.ts";
import { answerWords } from "./words.ts";

interface CitationProps {
  number: number;
  resolved: boolean;
}

/** Long enough that a pointer on its way elsewhere opens nothing, and can come over to the card. */
const restMs = 180;

/**
 * A marker in the text. It shows what it cites when it is pointed at, has the focus or is touched; pressed, it goes to the
 * call that found it.
 */
export function Citation({ number, resolved }: CitationProps) {
  const words = useWords(answerWords);
  const source = useSource(number);
  const goTo = useGoToSource();
  const [chip, setChip] = useState<HTMLButtonElement | null>(null);
  const card = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [isOpen, setOpen] = useState(false);
  const cardId = useId();
  useEffect(() => () => clearTimeout(timer.current), []);
  const isKnown = resolved && source !== undefined;
  const soon = (open: boolean) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setOpen(open), restMs);
  };
  const close = () => {
    clearTimeout(timer.current);
    setOpen(false);
  };
  const go = () => {
    close();
    if (chip !== null && source !== undefined) goTo(chip, source);
  };
  const name = isKnown ? words.sourceNamed(number, sourceName(source)) : words.unresolved(number);
  return (
    <span
      className="answer-cite"
      role="presentation"
      onPointerEnter={(event) => event.pointerType === "mouse" && soon(true)}
      onPointerLeave={(event) => event.pointerType === "mouse" && soon(false)}
      onFocus={(event) => event.target.matches(":focus-visible") && setOpen(true)}
      onBlur={(event) => {
        const next = event.relatedTarget;
        if (!(next instanceof Node && card.current?.contains(next))) close();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape" && isOpen) {
          event.stopPropagation();
          chip?.focus();
          close();
        }
        if (event.key === "Tab" && isOpen) moveFocus(event, chip, card.current);
      }}
    >
      <button
        ref={setChip}
        type="button"
        className="answer-chip"
        data-unresolved={!isKnown || undefined}
        aria-label={name}
        aria-expanded={isOpen}
        aria-haspopup="dialog"
        aria-controls={isOpen ? cardId : undefined}
        onClick={(event) => {
          const { pointerType } = event.nativeEvent as PointerEvent;
          if (!isKnown || pointerType === "touch") setOpen(!isOpen);
          else go();
        }}
      >
        {number}
        {!isKnown && "?"}
      </button>
      {isOpen &&
        chip !== null &&
        createPortal(
          <SourceCard
            id={cardId}
            ref={card}
            name={name}
            source={isKnown ? source : undefined}
            beside={chip}
            onGo={go}
          />,
          chip.closest("dialog") ?? document.body,
        )}
    </span>
  );
}

/** The card stands elsewhere in the document; by the keyboard it comes right behind its chip. */
function moveFocus(event: KeyboardEvent, chip: HTMLElement | null, card: HTMLElement | null): void {
  const stops = [...(card?.querySelectorAll<HTMLElement>("a[href], button, [tabindex='0']") ?? [])];
  const at = stops.findIndex((stop) => stop === document.activeElement);
  const next = event.shiftKey ? (at === -1 ? undefined : (stops[at - 1] ?? chip)) : stops[at + 1];
  // Past the last one it goes on from the chip.
  if (next === undefined) {
    chip?.focus();
    return;
  }
  event.preventDefault();
  next?.focus();
}

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
function SourceCard({ id, ref, name, source, beside, onGo }: SourceCardProps) {
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
        <p className="quiet">{words.noBlocks}</p>
      ) : (
        <div className="answer-source-blocks">
          <Blocks blocks={blocks} />
        </div>
      )}
      <div className="answer-source-foot">
        <span className="quiet">{words.foundBy(tool)}</span>
        <Button small icon="go" onClick={onGo}>
          {words.goToCall}
        </Button>
      </div>
    </>
  );
}
