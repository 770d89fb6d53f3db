/** Whether somebody would lose something if it were not drawn: the focus, selected words, or what is heard. */
export function isInUse(element: Element): boolean {
  return hasFocus(element) || isSelected(element) || isPlaying(element);
}

export function hasFocus(element: Element | null): boolean {
  return element !== null && element.contains(document.activeElement);
}

/** Told when something may not be in use any more. */
export function onUseEnd(listener: () => void): () => void {
  const listening = new AbortController();
  // The events of what plays do not bubble.
  const options = { capture: true, signal: listening.signal };
  for (const name of ["focusout", "selectionchange", "pause", "ended"])
    document.addEventListener(name, listener, options);
  return () => listening.abort();
}

function isSelected(element: Element): boolean {
  const selection = document.getSelection();
  if (selection === null || selection.isCollapsed) return false;
  return Array.from({ length: selection.rangeCount }, (_, nth) => selection.getRangeAt(nth)).some(
    (range) => range.intersectsNode(element),
  );
}

function isPlaying(element: Element): boolean {
  return [...element.querySelectorAll<HTMLMediaElement>("audio, video")].some(
    ({ paused }) => !paused,
  );
}
