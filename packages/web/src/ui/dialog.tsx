import { useEffect, useId, useRef, type ReactNode } from "react";
import { createCell } from "../cell.ts";
import { useMessages } from "../messages/use-messages.ts";
import { defineMessages } from "../messages/define-messages.ts";
import { IconButton } from "./button.tsx";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
  wide?: boolean | undefined;
  /** Keeps the top edge in place when the height of the content changes. */
  alignTop?: boolean | undefined;
}

/**
 * A modal `<dialog>`: the browser keeps the focus inside, and Escape closes it. The element with `data-autofocus` is focused
 * first. On close the previous focus is restored.
 */
export function Dialog({ title, onClose, children, footer, wide, alignTop }: DialogProps) {
  const t = useMessages(uiMessages);
  const titleId = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    const previousFocus = document.activeElement;
    const close = openModal(element);
    element.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => {
      close();
      if (previousFocus instanceof HTMLElement && previousFocus.isConnected) previousFocus.focus();
    };
  }, []);
  return (
    // Pressing the backdrop closes the dialog; keyboard users have Escape and the close button.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={dialog}
      className="dialog"
      data-wide={wide || undefined}
      data-align-top={alignTop || undefined}
      aria-labelledby={titleId}
      onCancel={(event) => {
        // A nested dialog or menu handles its own Escape.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <header className="dialog-header">
        <h2 id={titleId}>{title}</h2>
        <IconButton icon="close" label={t.close} onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
      {footer !== undefined && <footer className="dialog-footer">{footer}</footer>}
    </dialog>
  );
}

/** The open modal dialogs, topmost last. Everything outside of the topmost one is inert. */
export const openDialogs = createCell<readonly HTMLDialogElement[]>([]);

/** Opens a dialog. Returns a function that closes it. */
function openModal(dialog: HTMLDialogElement): () => void {
  dialog.showModal();
  openDialogs.update((dialogs) => [...dialogs, dialog]);
  return () => {
    dialog.close();
    openDialogs.update((dialogs) => dialogs.filter((other) => other !== dialog));
  };
}

export const uiMessages = defineMessages({
  en: { close: "Close", dismiss: "Dismiss", loading: "Loading", notifications: "Notifications" },
  zh: { close: "关闭", dismiss: "关闭", loading: "加载中", notifications: "通知" },
});
