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
import { ContentBlocks } from "../blocks/content-blocks.tsx";
import { Button } from "../ui/button.tsx";
import { positionPopover } from "../ui/anchored-popover.ts";
import { classifyUrl } from "../text/classify-url.ts";
import { useMessages } from "../messages/use-messages.ts";
import { useGoToSource, useSource } from "./earlier-sources.ts";
import { formatSourceName, type Source } from "./sources.ts";
import { answerMessages } from "./messages.ts";

interface CitationProps {
  number: number;
  resolved: boolean;
}

/** Long enough that passing over a chip does not open the card, and that the pointer can move from the chip to the card. */
const hoverDelayMs = 180;

/**
 * A citation chip in the text. Hover, keyboard focus or touch opens a card with the cited source; a click goes to the
 * call that found it.
 */
export function Citation({ number, resolved }: CitationProps) {
  const t = useMessages(answerMessages);
  const source = useSource(number);
  const goToSource = useGoToSource();
  const [chip, setChip] = useState<HTMLButtonElement | null>(null);
  const card = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [isOpen, setOpen] = useState(false);
  const cardId = useId();
  useEffect(() => () => clearTimeout(timer.current), []);
  const isKnown = resolved && source !== undefined;
  const scheduleOpen = (open: boolean) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setOpen(open), hoverDelayMs);
  };
  const close = () => {
    clearTimeout(timer.current);
    setOpen(false);
  };
  const goToCall = () => {
    close();
    if (chip !== null && source !== undefined) goToSource(chip, source);
  };
  const name = isKnown ? t.sourceNamed(number, formatSourceName(source)) : t.unresolved(number);
  return (
    <span
      className="answer-citation"
      role="presentation"
      onPointerEnter={(event) => event.pointerType === "mouse" && scheduleOpen(true)}
      onPointerLeave={(event) => event.pointerType === "mouse" && scheduleOpen(false)}
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
        if (event.key === "Tab" && isOpen) moveFocusIntoCard(event, chip, card.current);
      }}
    >
      <button
        ref={setChip}
        type="button"
        className="answer-citation-chip"
        data-unresolved={!isKnown || undefined}
        aria-label={name}
        aria-expanded={isOpen}
        aria-haspopup="dialog"
        aria-controls={isOpen ? cardId : undefined}
        onClick={(event) => {
          const { pointerType } = event.nativeEvent as PointerEvent;
          if (!isKnown || pointerType === "touch") setOpen(!isOpen);
          else goToCall();
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
            anchor={chip}
            onGoToCall={goToCall}
          />,
          chip.closest("dialog") ?? document.body,
        )}
    </span>
  );
}

/** Makes Tab reach the card right after its chip, although it is rendered elsewhere in the document. */
function moveFocusIntoCard(
  event: KeyboardEvent,
  chip: HTMLElement | null,
  card: HTMLElement | null,
): void {
  const focusable = [
    ...(card?.querySelectorAll<HTMLElement>("a[href], button, [tabindex='0']") ?? []),
  ];
  const index = focusable.findIndex((element) => element === document.activeElement);
  const next = event.shiftKey
    ? index === -1
      ? undefined
      : (focusable[index - 1] ?? chip)
    : focusable[index + 1];
  // Past the last element, Tab continues from the chip.
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
  /** Undefined if the number does not refer to a source. */
  source: Source | undefined;
  anchor: Element;
  onGoToCall: () => void;
}

/** Shows the cited source in the top layer, above everything else on the page. */
function SourceCard({ id, ref, name, source, anchor, onGoToCall }: SourceCardProps) {
  const t = useMessages(answerMessages);
  const cardElement = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const card = cardElement.current;
    if (card === null) return undefined;
    card.showPopover();
    const reposition = () => positionPopover(card, anchor);
    reposition();
    // Images load later and change the height.
    const resizeObserver = new ResizeObserver(reposition);
    resizeObserver.observe(card);
    addEventListener("scroll", reposition, { capture: true, passive: true });
    return () => {
      resizeObserver.disconnect();
      removeEventListener("scroll", reposition, { capture: true });
    };
  }, [anchor]);
  return (
    <div
      ref={(element) => {
        cardElement.current = element;
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
          <p>{t.unresolvedReason}</p>
        </>
      ) : (
        <SourceContent source={source} onGoToCall={onGoToCall} />
      )}
    </div>
  );
}

function SourceContent({ source, onGoToCall }: { source: Source; onGoToCall: () => void }) {
  const t = useMessages(answerMessages);
  const { blocks, tool, url = "" } = source;
  const link = classifyUrl(url);
  return (
    <>
      <strong dir="auto">{formatSourceName(source)}</strong>
      {link.type === "external" && (
        <a href={link.url} target="_blank" rel="noreferrer noopener">
          {link.host}
        </a>
      )}
      {blocks.length === 0 ? (
        <p className="muted">{t.noBlocks}</p>
      ) : (
        <div className="answer-source-blocks">
          <ContentBlocks blocks={blocks} />
        </div>
      )}
      <div className="answer-source-footer">
        <span className="muted">{t.foundBy(tool)}</span>
        <Button small icon="chevron" onClick={onGoToCall}>
          {t.goToCall}
        </Button>
      </div>
    </>
  );
}
