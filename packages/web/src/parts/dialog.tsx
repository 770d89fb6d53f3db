import { useEffect, useId, useRef, type ReactNode } from "react";
import { cell } from "../cell.ts";
import { useWords } from "../words/use-words.ts";
import { defineWords } from "../words/words.ts";
import { IconButton } from "./button.tsx";

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

/** The modal dialogs that are open, the topmost last. All that is not in that one cannot be pressed. */
export const openDialogs = cell<readonly HTMLDialogElement[]>([]);

/** Answers with how it is closed. */
function openModal(dialog: HTMLDialogElement): () => void {
  dialog.showModal();
  openDialogs.update((open) => [...open, dialog]);
  return () => {
    dialog.close();
    openDialogs.update((open) => open.filter((each) => each !== dialog));
  };
}

export const partsWords = defineWords({
  en: { close: "Close", dismiss: "Dismiss", loading: "Loading", messages: "Messages" },
  zh: { close: "关闭", dismiss: "知道了", loading: "加载中", messages: "消息" },
});
