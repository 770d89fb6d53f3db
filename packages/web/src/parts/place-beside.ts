import { useLayoutEffect, useRef } from "react";

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

interface Held<Shown> {
  readonly current: Shown | null;
}

/**
 * Shows a popover beside its button for as long as it is drawn. `onElsewhere` is told of a press outside of both. On a
 * phone the window changes when the keyboard comes: then it is placed anew.
 */
export function usePopoverBeside(
  popover: Held<HTMLElement>,
  button: Held<HTMLElement>,
  onElsewhere: () => void,
  place = placeBeside,
): void {
  const last = useRef({ onElsewhere, place });
  useLayoutEffect(() => {
    last.current = { onElsewhere, place };
    // What is in it may have another height than before.
    if (popover.current?.matches(":popover-open") === true && button.current !== null)
      place(popover.current, button.current);
  });
  useLayoutEffect(() => {
    const shown = popover.current;
    const from = button.current;
    if (shown === null || from === null) return undefined;
    shown.showPopover();
    const placeAnew = () => last.current.place(shown, from);
    placeAnew();
    const onPress = ({ target }: Event) => {
      if (target instanceof Node && !shown.contains(target) && !from.contains(target))
        last.current.onElsewhere();
    };
    document.addEventListener("pointerdown", onPress, true);
    window.addEventListener("resize", placeAnew);
    return () => {
      document.removeEventListener("pointerdown", onPress, true);
      window.removeEventListener("resize", placeAnew);
    };
  }, [popover, button]);
}
