import type { RefCallback } from "react";

/** Returns the text area of the composer, or null if there is none or it is disabled. */
export function findComposer(): HTMLTextAreaElement | null {
  return document.querySelector("textarea[data-composer]:not(:disabled)");
}

/**
 * Moves the focus to the composer, except on a touch screen (its keyboard would open) and while the user is in another field,
 * dialog or menu.
 */
export function focusComposer(): void {
  const { activeElement: active } = document;
  if (!hasPhysicalKeyboard()) return;
  if ((active?.closest(inputSelector) ?? null) !== null) return;
  findComposer()?.focus({ preventScroll: true });
}

/** Returns false if the keyboard is probably on the screen, where it covers half of the page. */
export function hasPhysicalKeyboard(): boolean {
  return window.matchMedia("(pointer: fine)").matches;
}

const inputSelector =
  "input:not([type=checkbox], [type=radio]), textarea, select, dialog, [role=menu]";

/**
 * Returns a ref for a button that is removed by its action. If the button has the focus when it unmounts, moves the focus
 * to the element returned by `findTarget`.
 */
export function focusOnUnmount(
  findTarget: (button: HTMLElement) => HTMLElement | null | undefined,
): RefCallback<HTMLElement> {
  return (button) => () => {
    if (button !== null && document.activeElement === button)
      findTarget(button)?.focus({ preventScroll: true });
  };
}

/** True if no element has the focus. */
export function hasNoFocusedElement(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body;
}
