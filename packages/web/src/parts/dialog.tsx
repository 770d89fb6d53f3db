import { useEffect, useId, useRef, type ReactNode } from "react";
import { useWords } from "../words/use-words.ts";
import { IconButton } from "./button.tsx";
import { openModal } from "./open-dialogs.ts";
import { partsWords } from "./words.ts";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
  wide?: boolean | undefined;
  /** Its top stays where it is when its content becomes shorter or longer. */
  atTop?: boolean | undefined;
}

/**
 * The browser's own: it keeps the focus inside, closes by Escape, and gives the focus back. What is marked `data-first`
 * has it to begin with.
 */
export function Dialog({ title, onClose, children, footer, wide, atTop }: DialogProps) {
  const words = useWords(partsWords);
  const titleId = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    if (shown === null) return undefined;
    const before = document.activeElement;
    const close = openModal(shown);
    shown.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // A press beside it closes it; the keyboard has Escape and the button.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={dialog}
      className="dialog"
      data-wide={wide || undefined}
      data-at-top={atTop || undefined}
      aria-labelledby={titleId}
      onCancel={(event) => {
        // A dialog or a menu within this one has an Escape of its own.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <header className="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <IconButton icon="close" label={words.close} onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
      {footer !== undefined && <footer className="dialog-foot">{footer}</footer>}
    </dialog>
  );
}
