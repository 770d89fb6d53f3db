import { useLayoutEffect, useRef } from "react";
import { placeBeside } from "./place-beside.ts";

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
