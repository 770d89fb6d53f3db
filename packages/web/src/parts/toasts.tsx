import { useEffect, useLayoutEffect, useRef, useState, type FocusEvent } from "react";
import { createPortal } from "react-dom";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import type { Toast, Toasts as AllToasts } from "../state/toasts.ts";
import { useWords } from "../words/use-words.ts";
import { Button, IconButton } from "./button.tsx";
import { openDialogs, partsWords } from "./dialog.tsx";

const shortMs = 6000;
/** An error, or what can be undone, is read more slowly. */
const longMs = 14_000;

/**
 * A popover, so that they are above all else, in the topmost dialog: what lies outside of that is seen and cannot be pressed.
 * It is always there: screen readers tell what comes into a region that they know, and may not tell one that comes with its
 * words.
 */
export function Toasts() {
  const { toasts } = usePage();
  const all = useCell(toasts.all);
  const dialog = useCell(openDialogs).at(-1);
  const home = useRef<HTMLDivElement>(null);
  // Not React's, so that it can be moved with all that is in it.
  const [shelf] = useState(createShelf);
  const words = useWords(partsWords);
  useLayoutEffect(() => {
    const place = dialog ?? home.current;
    const { activeElement: focused } = document;
    const isFocusIn = shelf.contains(focused);
    place?.append(shelf);
    shelf.showPopover();
    if (isFocusIn && focused instanceof HTMLElement) focused.focus();
  }, [shelf, dialog]);
  return (
    <div ref={home}>
      {createPortal(
        <div role="region" aria-label={words.messages}>
          <div className="toasts-said" role="status" aria-atomic="false">
            {all.map((toast) => (
              <OneToast key={toast.id} toast={toast} toasts={toasts} />
            ))}
          </div>
        </div>,
        shelf,
      )}
    </div>
  );
}

function createShelf(): HTMLElement {
  const shelf = document.createElement("div");
  shelf.className = "toasts";
  shelf.setAttribute("popover", "manual");
  return shelf;
}

/** It stays for as long as somebody points at it or is in it by keys, and its time begins anew after that. */
function OneToast({ toast, toasts }: { toast: Toast; toasts: AllToasts }) {
  const { id, kind, text, action } = toast;
  const words = useWords(partsWords);
  const [isPointedAt, setPointedAt] = useState(false);
  const { box, isIn, ...focusProps } = useFocusIn();
  const isSlow = kind === "error" || action !== undefined;
  const isHeld = isPointedAt || isIn;
  useEffect(() => {
    if (isHeld) return undefined;
    const timer = setTimeout(() => toasts.dismiss(id), isSlow ? longMs : shortMs);
    return () => clearTimeout(timer);
  }, [id, isSlow, isHeld, toasts]);
  return (
    <div
      ref={box}
      className="toast"
      data-kind={kind}
      onPointerEnter={() => setPointedAt(true)}
      onPointerLeave={() => setPointedAt(false)}
      {...focusProps}
    >
      <span dir="auto">{text}</span>
      {action !== undefined && (
        <Button
          small
          onClick={() => {
            toasts.dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton icon="close" label={words.dismiss} small onClick={() => toasts.dismiss(id)} />
    </div>
  );
}

/** Whether the focus is within; it goes back to where it came from when that goes away. */
function useFocusIn() {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef<EventTarget | null>(null);
  const [isIn, setIn] = useState(false);
  useLayoutEffect(() => {
    const shown = box.current;
    return () => {
      const { current: from } = before;
      if (shown?.contains(document.activeElement) === true && from instanceof HTMLElement)
        from.focus();
    };
  }, []);
  return {
    box,
    isIn,
    onFocus(event: FocusEvent<HTMLElement>) {
      if (!event.currentTarget.contains(event.relatedTarget)) before.current = event.relatedTarget;
      setIn(true);
    },
    onBlur(event: FocusEvent<HTMLElement>) {
      if (!event.currentTarget.contains(event.relatedTarget)) setIn(false);
    },
  };
}
