import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { createPortal } from "react-dom";
import { useWords } from "../words/use-words.ts";
import { useGoToSource, useSource } from "./earlier-sources.ts";
import { SourceCard } from "./source-card.tsx";
import { sourceName } from "./source-name.ts";
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
