import type { RefCallback } from "react";

/** The box that messages are written in; null if there is none, or if nothing can be written in it now. */
export function findComposer(): HTMLTextAreaElement | null {
  return document.querySelector("textarea[data-composer]:not(:disabled)");
}

/**
 * Moves the focus to the composer, except on a touch screen (its keyboard would open) and away from somebody who is writing
 * or choosing elsewhere.
 */
export function focusComposer(): void {
  const { activeElement: active } = document;
  if (!hasKeyboard()) return;
  if ((active?.closest(busyPlaces) ?? null) !== null) return;
  findComposer()?.focus({ preventScroll: true });
}

/** False where the keyboard is probably one on the screen, which covers half of it. */
export function hasKeyboard(): boolean {
  return window.matchMedia("(pointer: fine)").matches;
}

const busyPlaces =
  "input:not([type=checkbox], [type=radio]), textarea, select, dialog, [role=menu]";

/** For a button that goes with what it does: whoever is at it by then is taken to what stays, not to the top of the page. */
export function passesFocusTo(
  find: (button: HTMLElement) => HTMLElement | null | undefined,
): RefCallback<HTMLElement> {
  return (button) => () => {
    if (button !== null && document.activeElement === button)
      find(button)?.focus({ preventScroll: true });
  };
}

/** Whoever types or is at a button has it, and keeps it. */
export function nobodyHasFocus(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body;
}
