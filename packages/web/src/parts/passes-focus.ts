import type { RefCallback } from "react";

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
