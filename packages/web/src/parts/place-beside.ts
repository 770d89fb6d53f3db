const gap = 4;
const edge = 8;

/** Below what it belongs to, or above where there is no room, and never outside of the window. */
export function placeBeside(shown: HTMLElement, from: Element): void {
  // Where it stood before, in a window that was wider, it has become narrow.
  shown.style.left = "0";
  const place = from.getBoundingClientRect();
  const own = shown.getBoundingClientRect();
  const { innerWidth, innerHeight } = window;
  const below = place.bottom + gap;
  const fitsBelow = below + own.height + edge <= innerHeight;
  const top =
    fitsBelow || place.top < innerHeight - place.bottom ? below : place.top - gap - own.height;
  const isRtl = getComputedStyle(from).direction === "rtl";
  const startsLeft = isRtl ? place.right - own.width : place.left;
  const left = startsLeft + own.width + edge > innerWidth ? place.right - own.width : startsLeft;
  shown.style.left = `${Math.round(between(edge, left, innerWidth - own.width - edge))}px`;
  shown.style.top = `${Math.round(between(edge, top, innerHeight - own.height - edge))}px`;
}

function between(least: number, wanted: number, most: number): number {
  return Math.max(least, Math.min(wanted, most));
}
