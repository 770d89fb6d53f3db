import { useEffect, useRef } from "react";
import { useCell } from "../state/cell.ts";
import { usePage } from "../state/page.ts";
import type { Toast, Toasts as AllToasts } from "../state/toasts.ts";
import { useWords } from "../words/words.ts";
import { Button, IconButton } from "./button.tsx";
import { partsWords } from "./words.ts";

const shortMs = 6000;
/** An error, or what can be undone, is read more slowly. */
const longMs = 14_000;

/** A popover, so that they are above an open dialog. */
export function Toasts() {
  const { toasts } = usePage();
  const all = useCell(toasts.all);
  const shelf = useRef<HTMLDivElement>(null);
  const words = useWords(partsWords);
  useEffect(() => {
    const shown = shelf.current;
    if (shown === null || all.length === 0) return;
    // Shown anew, it is above whatever was opened since.
    if (shown.matches(":popover-open")) shown.hidePopover();
    shown.showPopover();
  }, [all]);
  return (
    <div ref={shelf} className="toasts" popover="manual" role="region" aria-label={words.messages}>
      {all.map((toast) => (
        <OneToast key={toast.id} toast={toast} toasts={toasts} />
      ))}
    </div>
  );
}

function OneToast({ toast, toasts }: { toast: Toast; toasts: AllToasts }) {
  const { id, kind, text, action } = toast;
  const words = useWords(partsWords);
  const isSlow = kind === "error" || action !== undefined;
  useEffect(() => {
    const timer = setTimeout(() => toasts.dismiss(id), isSlow ? longMs : shortMs);
    return () => clearTimeout(timer);
  }, [id, isSlow, toasts]);
  return (
    <div className="toast" data-kind={kind} role={kind === "error" ? "alert" : "status"}>
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
