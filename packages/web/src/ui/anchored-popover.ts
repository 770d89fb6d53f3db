import { useLayoutEffect, useRef } from "react";

/** Distance to the anchor and to the edges of the viewport, in px. */
const gap = 4;
const viewportMargin = 8;

/** Places a popover below its anchor, or above it if there is no room, and within the viewport. */
export function positionPopover(popoverElement: HTMLElement, anchor: Element): void {
  // Reset before measuring: if the window became narrower, the popover may have shrunk at its old position.
  popoverElement.style.left = "0";
  const anchorRect = anchor.getBoundingClientRect();
  const popoverRect = popoverElement.getBoundingClientRect();
  const { innerWidth, innerHeight } = window;
  const below = anchorRect.bottom + gap;
  const fitsBelow = below + popoverRect.height + viewportMargin <= innerHeight;
  const top =
    fitsBelow || anchorRect.top < innerHeight - anchorRect.bottom
      ? below
      : anchorRect.top - gap - popoverRect.height;
  const isRtl = getComputedStyle(anchor).direction === "rtl";
  const preferredLeft = isRtl ? anchorRect.right - popoverRect.width : anchorRect.left;
  const left =
    preferredLeft + popoverRect.width + viewportMargin > innerWidth
      ? anchorRect.right - popoverRect.width
      : preferredLeft;
  popoverElement.style.left = `${Math.round(clamp(viewportMargin, left, innerWidth - popoverRect.width - viewportMargin))}px`;
  popoverElement.style.top = `${Math.round(clamp(viewportMargin, top, innerHeight - popoverRect.height - viewportMargin))}px`;
}

function clamp(min: number, value: number, max: number): number {
  return Math.max(min, Math.min(value, max));
}

interface RefLike<Value> {
  readonly current: Value | null;
}

/**
 * Shows a popover next to its button while the component is mounted. Calls `onPressOutside` when the user presses outside of
 * both. Repositions the popover when the window is resized, for example by a phone's keyboard.
 */
export function useAnchoredPopover(
  popover: RefLike<HTMLElement>,
  button: RefLike<HTMLElement>,
  onPressOutside: () => void,
  position = positionPopover,
): void {
  const latest = useRef({ onPressOutside, position });
  useLayoutEffect(() => {
    latest.current = { onPressOutside, position };
    // The height of the popover may have changed.
    if (popover.current?.matches(":popover-open") === true && button.current !== null)
      position(popover.current, button.current);
  });
  useLayoutEffect(() => {
    const popoverElement = popover.current;
    const anchor = button.current;
    if (popoverElement === null || anchor === null) return undefined;
    popoverElement.showPopover();
    const reposition = () => latest.current.position(popoverElement, anchor);
    reposition();
    const onPress = ({ target }: Event) => {
      if (target instanceof Node && !popoverElement.contains(target) && !anchor.contains(target))
        latest.current.onPressOutside();
    };
    document.addEventListener("pointerdown", onPress, true);
    window.addEventListener("resize", reposition);
    return () => {
      document.removeEventListener("pointerdown", onPress, true);
      window.removeEventListener("resize", reposition);
    };
  }, [popover, button]);
}
