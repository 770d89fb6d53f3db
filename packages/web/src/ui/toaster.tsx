import { useEffect, useLayoutEffect, useRef, useState, type FocusEvent } from "react";
import { createPortal } from "react-dom";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import type { Toast, ToastStore } from "../state/toast-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { Button, IconButton } from "./button.tsx";
import { openDialogs, uiMessages } from "./dialog.tsx";

const defaultDurationMs = 6000;
/** For errors and toasts with an action. */
const longDurationMs = 14_000;

/**
 * Shows the toasts in a popover above everything else. The popover is inside the topmost dialog, because everything outside of
 * the dialog is inert. The live region is always in the document, because screen readers may not announce the text of a new region.
 */
export function Toaster() {
  const { toasts: toastStore } = useAppStore();
  const toasts = useCell(toastStore.all);
  const dialog = useCell(openDialogs).at(-1);
  const root = useRef<HTMLDivElement>(null);
  // Created outside of React, so that it can be moved with its content.
  const [container] = useState(createToastContainer);
  const t = useMessages(uiMessages);
  useLayoutEffect(() => {
    const parent = dialog ?? root.current;
    const { activeElement: focusedElement } = document;
    const hadFocus = container.contains(focusedElement);
    parent?.append(container);
    container.showPopover();
    if (hadFocus && focusedElement instanceof HTMLElement) focusedElement.focus();
  }, [container, dialog]);
  return (
    <div ref={root}>
      {createPortal(
        <div role="region" aria-label={t.notifications}>
          <div className="toasts-live-region" role="status" aria-atomic="false">
            {toasts.map((toast) => (
              <ToastItem key={toast.id} toast={toast} toastStore={toastStore} />
            ))}
          </div>
        </div>,
        container,
      )}
    </div>
  );
}

function createToastContainer(): HTMLElement {
  const container = document.createElement("div");
  container.className = "toasts";
  container.setAttribute("popover", "manual");
  return container;
}

/** Stays while it is hovered or contains the focus. The timer restarts afterwards. */
function ToastItem({ toast, toastStore }: { toast: Toast; toastStore: ToastStore }) {
  const { id, kind, text, action } = toast;
  const t = useMessages(uiMessages);
  const [isHovered, setHovered] = useState(false);
  const { elementRef, hasFocusWithin, ...focusProps } = useFocusWithin();
  const staysLonger = kind === "error" || action !== undefined;
  const isPaused = isHovered || hasFocusWithin;
  useEffect(() => {
    if (isPaused) return undefined;
    const timer = setTimeout(
      () => toastStore.dismiss(id),
      staysLonger ? longDurationMs : defaultDurationMs,
    );
    return () => clearTimeout(timer);
  }, [id, staysLonger, isPaused, toastStore]);
  return (
    <div
      ref={elementRef}
      className="toast"
      data-kind={kind}
      onPointerEnter={() => setHovered(true)}
      onPointerLeave={() => setHovered(false)}
      {...focusProps}
    >
      <span dir="auto">{text}</span>
      {action !== undefined && (
        <Button
          small
          onClick={() => {
            toastStore.dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton icon="close" label={t.dismiss} small onClick={() => toastStore.dismiss(id)} />
    </div>
  );
}

/** Tracks whether an element contains the focus. If it does when the element unmounts, restores the previous focus. */
function useFocusWithin() {
  const elementRef = useRef<HTMLDivElement>(null);
  const previousFocus = useRef<EventTarget | null>(null);
  const [hasFocusWithin, setFocusWithin] = useState(false);
  useLayoutEffect(() => {
    const element = elementRef.current;
    return () => {
      const { current: previous } = previousFocus;
      if (element?.contains(document.activeElement) === true && previous instanceof HTMLElement)
        previous.focus();
    };
  }, []);
  return {
    elementRef,
    hasFocusWithin,
    onFocus(event: FocusEvent<HTMLElement>) {
      if (!event.currentTarget.contains(event.relatedTarget))
        previousFocus.current = event.relatedTarget;
      setFocusWithin(true);
    },
    onBlur(event: FocusEvent<HTMLElement>) {
      if (!event.currentTarget.contains(event.relatedTarget)) setFocusWithin(false);
    },
  };
}
